"""Where papers come from: files, mock clients, live services. Each is a `PaperSource`."""

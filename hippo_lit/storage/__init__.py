"""The durable truth and the files of snapshots: SQLite, columns, locks, atomic publishing."""

"""Recognition memory: which candidate facts bear on a question."""

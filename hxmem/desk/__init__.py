"""The desk: keeps one conversation within the model's window; what leaves it stands in the archive."""

"""The writers: one file a format."""

"""Answers of a real ResourceManager, compared with those of our server in the same state."""

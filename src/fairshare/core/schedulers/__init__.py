"""Owns the decisions: which container goes to whom. Knows the model; no file, clock or process."""

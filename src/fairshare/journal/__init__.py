"""Owns the record of what happened; knows nothing of why it was decided."""

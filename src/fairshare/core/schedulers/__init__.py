"""The decisions: which container goes to whom."""

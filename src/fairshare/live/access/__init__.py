"""Owns who may talk to a running server, and as whom."""

"""Owns the engines, which run containers. Knows orders and reports; no queue, share or policy."""

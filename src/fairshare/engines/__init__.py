"""Owns what runs containers. Knows orders and reports; knows no queue, share or policy."""

"""Owns simulation: the agenda, workload readers and reports. Knows no real processes."""

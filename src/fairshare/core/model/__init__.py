"""Owns the cluster as data, and the one place that changes it. Knows no scheduler and no I/O."""

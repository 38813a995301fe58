"""Owns the lives of applications: admission, attempts, tasks. Knows no order, share or engine."""

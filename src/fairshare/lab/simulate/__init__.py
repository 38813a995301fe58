"""Simulation: the agenda, workload readers and reports."""

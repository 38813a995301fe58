"""Owns the agenda, the simulated engine, traces and reports; knows nothing of real processes."""

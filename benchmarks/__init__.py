"""Measures the core. Nothing here is a test: figures are printed, never asserted."""

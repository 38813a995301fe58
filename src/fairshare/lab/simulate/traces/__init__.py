"""Traces of real clusters, one reader for each format; `registry.open_trace` finds it."""

"""Projections of the journal: what a server knows beyond the state of the core."""

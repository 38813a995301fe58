"""Lint rules for MapReduce's Fair Scheduler: what is legal in its files, and hardly meant."""

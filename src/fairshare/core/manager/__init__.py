"""Owns the lifecycle of applications: admission, attempts, tasks. Must not know how a scheduler
orders or shares, nor any engine."""

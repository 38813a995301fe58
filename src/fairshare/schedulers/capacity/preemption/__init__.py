"""Owns preemption: what queues and users should have, whose containers go, and when."""

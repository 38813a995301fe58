"""Preemption: the ideal shares of queues and users, the choice of victims, and the timing."""

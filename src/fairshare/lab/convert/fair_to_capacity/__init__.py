"""A Fair Scheduler configuration as a Capacity Scheduler one: what becomes of what."""

"""YARN's Fair Scheduler."""

"""Owns YARN's Fair Scheduler. Knows the model; knows no file, clock or process."""

"""Owns the Capacity Scheduler's queue mappings: rules, how they choose, and what is wrong in them.

`placing.place` is asked at each submission, `checking.faults` when rules are loaded.
"""

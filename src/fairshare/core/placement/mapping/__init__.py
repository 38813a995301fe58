"""Owns the Capacity Scheduler's queue mappings: the rules, their evaluation, and their validation.

`placing.place` is called at each submission, `checking.faults` when rules are loaded.
"""

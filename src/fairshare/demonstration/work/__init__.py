"""Owns the programs that the three teams run in their containers.

Each is one file, run by `python -I -S FILE ...`: it imports nothing but the standard library, and
knows nothing of the scheduler but FAIRSHARE_TASK_INDEX.
"""

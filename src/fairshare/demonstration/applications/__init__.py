"""Owns the demonstration of YARN's schedulers: applications of tasks in containers.

The Fair, the Capacity and the FIFO Scheduler run the same work, so that two runs can be compared.
"""

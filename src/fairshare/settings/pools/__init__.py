"""The Fair Scheduler of MapReduce 1, with pools: its family and the modules that belong to it."""

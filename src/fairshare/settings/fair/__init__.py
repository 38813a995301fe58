"""The Fair Scheduler of Hadoop YARN: its family and the modules that belong to it."""

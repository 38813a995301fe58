"""The original Fair Scheduler of MapReduce: pools of jobs over map slots and reduce slots."""

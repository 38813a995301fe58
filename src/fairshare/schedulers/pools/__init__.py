"""The original scheduler of MapReduce: pools of jobs over map slots and reduce slots."""

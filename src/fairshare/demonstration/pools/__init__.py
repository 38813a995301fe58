"""Owns the demonstration of MapReduce: jobs of three pools on the slots of this machine."""

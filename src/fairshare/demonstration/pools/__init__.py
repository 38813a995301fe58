"""Owns the demonstration of MapReduce: jobs of three pools on the slots of this machine.

As the demonstration around it, it stands outside of the scheduler, and believes nothing that it has
not checked.
"""

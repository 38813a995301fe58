"""Heartbeats and allocations over Hadoop's RPC, with the scheduler deciding, beside the real
ResourceManager: `python -m benchmarks.hadoop` (the rival needs Java 17 and Maven).

`nodes` pretends NodeManagers, `masters` unmanaged application masters, `servers` starts ours and
Hadoop's. The pretenders run in a process of their own; what is reported is the server's.
"""

"""Owns the demonstration: three teams do real work on this machine, and their waits are measured.

It uses the scheduler as users do: it starts `fairshare serve` as a process of its own, talks to it
through the client, and checks each result. A demonstration is a setting (`teams`) and a workload:
`applications` of tasks, or MapReduce jobs (`pools`); all else is common to them.
"""

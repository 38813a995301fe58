"""Owns the demonstration: three teams do real work on this machine, and it is measured who waits.

It stands outside of the scheduler as a user does: it starts `fairshare serve` as a process of its
own, talks to it through the client, and believes nothing that it has not checked.
"""

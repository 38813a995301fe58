"""Notices: what users want to be informed of when their applications start or end.

A notice is written to a file before it is sent, so that it is sent at least once across restarts,
and it is sent by threads, for which nothing waits.
"""

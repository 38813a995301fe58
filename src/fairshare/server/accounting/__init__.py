"""The accounts of a server: what ended applications and containers asked for and used.

They are kept for months in a file of their own, beside the journal. Nothing here decides anything,
and a server works without them.
"""

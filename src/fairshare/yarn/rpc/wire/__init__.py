"""Hadoop's RPC on the wire: messages, frames, logins, tokens, connections.

It knows nothing of YARN's state; handlers give each method its meaning.
"""

"""The ResourceManager of a Hadoop cluster: Hadoop's RPC in front, NodeManagers behind.

It needs the extra `fairshare[hadoop]` (protobuf); nothing below this room imports it.
"""

"""Hadoop's protobuf descriptors, read out of Hadoop's jars: `make protocols`."""

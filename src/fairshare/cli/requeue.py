"""Owns the verb `requeue`."""

from fairshare.cli.starts import requeue as command

__all__ = ["command"]

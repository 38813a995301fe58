"""Owns the verb `release`."""

from fairshare.cli.starts import release as command

__all__ = ["command"]

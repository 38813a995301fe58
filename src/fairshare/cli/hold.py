"""Owns the verb `hold`."""

from fairshare.cli.starts import hold as command

__all__ = ["command"]

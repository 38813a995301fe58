"""Owns the size of this machine's memory. Knows no engine and no limit."""

import os


def physical_memory_mb() -> int:
    """The memory of this machine, in MB."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)

"""Owns the FIFO scheduler's settings as frozen data. Knows no file."""

from fairshare.core.schedulers.base import BaseSettings


class FifoSettings(BaseSettings, frozen=True):
    """All settings of the FIFO scheduler, which has one queue, `root.default`.

    As in Hadoop, the increment is the minimum allocation: sizes are multiples of it.
    """

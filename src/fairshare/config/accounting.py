"""Owns the section [accounting] of fairshare.toml. Knows nothing of the accounts themselves."""

from typing import Final

import msgspec


class AccountingSettings(msgspec.Struct, frozen=True):
    """How long the accounts of ended applications are kept (`keep_days`), and how much of the disk
    they may take (`size_mb`); where that is not enough, the oldest go early."""

    keep_days: int = 400
    size_mb: int = 1024


RANGES: Final = {"keep_days": (1, 36_500), "size_mb": (1, 2**30)}
"""The smallest and the largest value of each key."""

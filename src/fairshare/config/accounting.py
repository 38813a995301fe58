"""Owns the section [accounting] of fairshare.toml. Knows nothing of the accounts themselves."""

from typing import Annotated

import msgspec
from msgspec import Meta


class AccountingSettings(msgspec.Struct, frozen=True):
    """How long the accounts of ended applications are kept (`keep_days`), and how much of the disk
    they may take (`size_mb`); where that is not enough, the oldest go early."""

    keep_days: Annotated[int, Meta(ge=1, le=36_500)] = 400
    size_mb: Annotated[int, Meta(ge=1, le=2**30)] = 1024

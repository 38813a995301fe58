"""The names by which files say that they are for MapReduce's Fair Scheduler: the prefix of its
properties, the property of its file, and its section [pools] of fairshare.toml, with what Hadoop
has no name for.
"""

from typing import Annotated, Final, Literal

import msgspec

from fairshare.core.schedulers.pools.settings import FACTORS, PRIORITIES, Generation, Priority

PREFIX: Final = "mapred.fairscheduler."
ALLOCATION_FILE: Final = PREFIX + "allocation.file"
SECTION: Final = "pools"


class PoolSwitches(msgspec.Struct, frozen=True):
    """Which release decides, and what goes beyond it.

    `priority_factors` are by the name of the priority; what is not named keeps Hadoop's.
    """

    generation: Generation = "0.19"
    strict: bool = False
    wait_for_maps: bool = True
    fifo: bool = False
    hierarchical: bool = False
    scale_min_shares: bool = False
    boost_from: Literal["submission", "first-task"] = "submission"
    priority_factors: dict[Priority, Annotated[float, msgspec.Meta(ge=0)]] = {}

    @property
    def factors(self) -> tuple[float, ...]:
        """The weight factors of all priorities, the least urgent first."""
        named = zip(PRIORITIES, FACTORS, strict=True)
        return tuple(float(self.priority_factors.get(name, factor)) for name, factor in named)

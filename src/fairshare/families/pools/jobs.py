"""Owns the words of MapReduce jobs: slots, priorities, pools."""

from collections.abc import Mapping
from typing import Any, get_args

from fairshare.families.jobs import Jobs
from fairshare.families.pools.job_files import PoolFiles
from fairshare.families.pools.switches import PoolSwitches
from fairshare.schedulers.pools import tree
from fairshare.schedulers.pools.naming import POOL, POOL_PROPERTIES
from fairshare.schedulers.pools.settings import PRIORITIES, SLOTS, Generation, PoolsSettings


class PoolJobs(Jobs):
    """Jobs in pools."""

    priorities = PRIORITIES
    slots = SLOTS
    generations = get_args(Generation)

    def pool_of(self, queue: str) -> str:
        """As `Jobs.pool_of`."""
        return tree.pool_of(queue)

    def property_of_pool(self, settings: PoolsSettings) -> str:
        """As `Jobs.property_of_pool`."""
        if settings.deficits:
            return settings.pool_property or POOL_PROPERTIES[settings.generation]
        return POOL

    def files(
        self,
        texts: Mapping[str, str],
        properties: Mapping[str, str | None],
        switches: Mapping[str, Any],
        now_ms: int,
    ) -> PoolFiles:
        """As `Jobs.files`."""
        return PoolFiles(texts, properties, PoolSwitches(**switches), now_ms)

"""Owns the words of MapReduce jobs, for tools that describe jobs: slots, priorities, pools."""

from fairshare.schedulers.pools.naming import POOL, POOL_PROPERTIES
from fairshare.schedulers.pools.settings import PRIORITIES, SLOTS, Generation, PoolsSettings
from fairshare.schedulers.pools.tree import pool_of

__all__ = ["PRIORITIES", "SLOTS", "Generation", "PoolsSettings", "pool_of", "property_of_pool"]


def property_of_pool(settings: PoolsSettings) -> str:
    """The property in which a job names its pool."""
    if settings.deficits:
        return settings.pool_property or POOL_PROPERTIES[settings.generation]
    return POOL

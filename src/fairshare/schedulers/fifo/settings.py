"""Owns the FIFO scheduler's settings as frozen data. Knows no file: `config` reads them from XML.

Vectors are in the order of `FifoSettings.types`.
"""

import msgspec

from fairshare.model.resources import Resource, ResourceTypes


class FifoSettings(msgspec.Struct, frozen=True):
    """All settings of the FIFO scheduler, which has one queue, `root.default`.

    As in Hadoop, the increment is the minimum allocation: sizes are multiples of it.
    """

    types: ResourceTypes = ResourceTypes()
    minimum_allocation: Resource = (1024, 1)
    maximum_allocation: Resource = (8192, 4)
    increment_allocation: Resource = (1024, 1)  # 0: no increment
    maximum_override_delay_ms: int = 10_000  # until the largest node limits containers
    acl_enabled: bool = False
    administrators: str = "*"  # yarn.admin.acl; counts only with acl_enabled
    master_max_attempts: int = 2  # yarn.resourcemanager.am.max-attempts

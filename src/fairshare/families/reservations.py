"""Owns whether a cluster reserves nodes: Hadoop's rule, and the exception for one node.

A reservation keeps a whole node free for one large container. On a cluster the others go on
elsewhere; on one node a single task that waits for a GPU would stop everybody
(docs/decisions/0007). Knows no engine.
"""

from typing import Final

import msgspec

from fairshare.families.configuration import Configuration
from fairshare.schedulers.capacity.settings import CapacitySettings

RESERVABLE_NODES: Final = "yarn.scheduler.fair.reservable-nodes"


def unreserving(capacity: CapacitySettings) -> CapacitySettings:
    """The same without reservations.

    `reservations-continue-look-all-nodes` goes with them: where a container would need another
    reservation given up first, it takes the room that it waits for away from its siblings.
    """
    return msgspec.structs.replace(capacity, reservations=False, continue_looking=False)


def with_reservations(configuration: Configuration, nodes: int) -> Configuration:
    """The configuration as a cluster of so many nodes follows it.

    Without reservations the Fair Scheduler may reserve none of its nodes, and the Capacity
    Scheduler, for which Hadoop has no such property, is told the same. A file that sets
    `yarn.scheduler.fair.reservable-nodes` has decided it for the Fair Scheduler, unless
    fairshare.toml says `reservations = "off"`.
    """
    chosen = configuration.shell.engine.reservations
    if chosen == "on" or (chosen == "auto" and nodes > 1):
        return configuration
    replace = msgspec.structs.replace
    fair, capacity = configuration.fair, configuration.capacity
    if fair is not None and (chosen == "off" or RESERVABLE_NODES not in configuration.site):
        return replace(configuration, fair=replace(fair, reservable_nodes=0.0))
    if capacity is not None:
        return replace(configuration, capacity=unreserving(capacity))
    return configuration

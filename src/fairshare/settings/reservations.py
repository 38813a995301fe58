"""Whether a cluster reserves nodes: Hadoop's rule, and the exception for one node.

A reservation keeps a whole node free for one large container. On a cluster the others go on
elsewhere; on one node a single task that waits for a GPU would stop all others
(docs/decisions/0007).
"""

import msgspec

from fairshare.settings.configuration import Configuration
from fairshare.settings.registry import family_of


def with_reservations(configuration: Configuration, nodes: int) -> Configuration:
    """The configuration as a cluster with this number of nodes follows it.

    Without reservations the Fair Scheduler may reserve none of its nodes, and the Capacity
    Scheduler, for which Hadoop has no such property, is treated alike. A file that sets
    `yarn.scheduler.fair.reservable-nodes` has decided it for the Fair Scheduler, unless
    fairshare.toml says `reservations = "off"`.
    """
    chosen = configuration.shell.engine.reservations
    if chosen == "on" or (chosen == "auto" and nodes > 1):
        return configuration
    family = family_of(configuration.scheduler)
    settings = family.without_reservations(configuration, forced=chosen == "off")
    return msgspec.structs.replace(configuration, settings=settings)

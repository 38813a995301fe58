"""Whether a cluster reserves nodes: Hadoop's rule, and the exception for one node.

A reservation keeps a whole node free for one large container. On a cluster the others go on
elsewhere; on one node a single task that waits for a GPU would stop all others. There only what a
queue is entitled to is kept (docs/decisions/0007, 0023).
"""

import msgspec

from fairshare.errors import ConfigurationError
from fairshare.settings.configuration import Configuration
from fairshare.settings.registry import family_of
from fairshare.settings.shell import FILE as SHELL_FILE


def refusal(configuration: Configuration) -> str:
    """Why the scheduler cannot reserve as fairshare.toml says; empty if it can."""
    chosen, family = configuration.shell.engine.reservations, family_of(configuration.scheduler)
    if chosen != "entitled" or family.reserves_in_part:
        return ""
    return (
        'reservations = "entitled" needs the Fair Scheduler, which alone reserves a part of a node:'
        ' use "auto"'
    )


def with_reservations(configuration: Configuration, nodes: int) -> Configuration:
    """The configuration as a cluster with this number of nodes follows it.

    Without whole reservations the Fair Scheduler may reserve none of its nodes, and the Capacity
    Scheduler, for which Hadoop has no such property, is treated alike. A file that sets
    `yarn.scheduler.fair.reservable-nodes` has decided it for the Fair Scheduler, unless
    fairshare.toml says `reservations = "off"` or `"entitled"`. Raises ConfigurationError for
    `"entitled"` under a scheduler that cannot.
    """
    engine = configuration.shell.engine
    chosen = engine.reservations
    if chosen == "on" or (chosen == "auto" and nodes > 1):
        return configuration
    family = family_of(configuration.scheduler)
    if message := refusal(configuration):
        raise ConfigurationError([f"{configuration.directory / SHELL_FILE}: {message}"])
    settings = family.without_whole_reservations(
        configuration,
        None if chosen == "off" else engine.reserve_after_s * 1_000,
        forced=chosen != "auto",
    )
    return msgspec.structs.replace(configuration, settings=settings)

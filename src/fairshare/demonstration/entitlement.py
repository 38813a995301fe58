"""Owns what a configuration promises to each team, whatever scheduler it is for. Asks no server.

A server with shares reports them itself; with these promises FIFO can be compared, which has none.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.teams import MEMORY
from fairshare.families.directory import read_directory
from fairshare.families.registry import family_of
from fairshare.manager.resource_manager import ResourceManager
from fairshare.model.inputs import LoadConfiguration, NodeJoined
from fairshare.schedulers.views import QueueView


def configured_queues(configuration: Path, memory_mb: int) -> dict[str, QueueView]:
    """The queues of an idle cluster of one node with this configuration, by name.

    Raises ConfigurationError for a directory that cannot be used.
    """
    found = read_directory(configuration)
    manager = ResourceManager(family_of(found.scheduler).create(found.types))
    manager.handle(0, LoadConfiguration(msgspec.json.encode(found.settings)))
    manager.handle(0, NodeJoined("node", found.types.vector({MEMORY: memory_mb})))
    return {queue.name: queue for queue in manager.scheduler.queue_views(0)}


def read_entitlements(
    configuration: Path, teams: Iterable[str], memory_mb: int
) -> dict[str, float]:
    """The parts of the memory that teams are owed while all of them are active.

    Weights 3, 2 and 1 of 3072 MB are 1536, 1024 and 512 MB: 1/2, 1/3 and 1/6. Raises
    DemonstrationFailed if a team has no queue, and as `configured_queues`.
    """
    queues = configured_queues(configuration, memory_mb)
    promised = {}
    for team in teams:
        queue = queues.get(f"root.{team}")
        if queue is None:
            raise DemonstrationFailed(
                f"{configuration} has no queue {team}, or is not for the Fair Scheduler or the"
                " Capacity Scheduler: the demonstration needs its share"
            )
        promised[team] = queue.steady_fair_share[0] / memory_mb
    return promised

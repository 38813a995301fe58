"""Owns what the example's configuration promises to each team. Asks no server.

With the Fair and the Capacity Scheduler the server itself says what it owes; this is what one can
compare a scheduler with that owes nobody anything.
"""

from collections.abc import Iterable
from pathlib import Path

from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.families.directory import read_directory
from fairshare.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.shares import Claim, fair_shares


def read_entitlements(
    configuration: Path, teams: Iterable[str], memory_mb: int
) -> dict[str, float]:
    """The parts of the memory that teams are owed while all of them are active.

    Raises ConfigurationError for a directory that cannot be used, and DemonstrationFailed if a team
    has no queue.
    """
    settings = read_directory(configuration).settings
    if isinstance(settings, CapacitySettings):
        return guarantees(settings, teams)
    if not isinstance(settings, FairSettings):
        raise DemonstrationFailed(
            f"{configuration} is not for the Fair Scheduler: the demonstration needs its shares"
        )
    return entitlements(settings, teams, memory_mb)


def guarantees(settings: CapacitySettings, teams: Iterable[str]) -> dict[str, float]:
    """The parts of the machine that capacity-scheduler.xml guarantees: 50 are 1/2."""
    promised = {}
    for team in teams:
        queue = settings.queues.get(f"root.{team}")
        if queue is None or not isinstance(queue.capacity, Percentage):
            raise DemonstrationFailed(
                f"capacity-scheduler.xml has no percentage for a queue {team}: write it again"
            )
        promised[team] = queue.capacity.percent / 100
    return promised


def entitlements(settings: FairSettings, teams: Iterable[str], memory_mb: int) -> dict[str, float]:
    """As above, of settings that are read.

    Weights 3, 2 and 1 of 3072 MB are 1536, 1024 and 512 MB: 1/2, 1/3 and 1/6.
    """
    wanted = list(teams)
    claims = []
    for team in wanted:
        queue = settings.allocations.queues.get(f"root.{team}")
        if queue is None:
            raise DemonstrationFailed(f"fair-scheduler.xml has no queue {team}: add it again")
        minimum_mb = queue.min_share[0] if queue.min_share else 0
        claims.append(Claim(queue.weight, minimum_mb, memory_mb))
    shares_mb = fair_shares(memory_mb, claims)
    return {team: share / memory_mb for team, share in zip(wanted, shares_mb, strict=True)}

"""Owns the comparison of a converted configuration with a server's history, as `plan` makes it.

Knows no table.
"""

from pathlib import Path

from fairshare.cli.verbs import Failure
from fairshare.lab.convert.fair_to_capacity.converting import Conversion
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.plan.planning import Plan, Proposal, plan
from fairshare.lab.simulate.world import World
from fairshare.lab.verbs.histories import read_world
from fairshare.runtime.journal.sqlite import JOURNAL_FILE


def read_recorded(source: Source, path: Path) -> World | None:
    """The history of a state directory; None if it is none. Raises Failure."""
    if path.name != JOURNAL_FILE and not (path / JOURNAL_FILE).exists():
        return None
    world = read_world(path)
    types = source.settings.types.names
    if world.types.names != types:
        raise Failure(
            f"--compare: the history of {path} has the resource types"
            f" {', '.join(world.types.names)}, and the configuration {', '.join(types)}"
        )
    return world


def compare_on(world: World, conversion: Conversion) -> Plan:
    """What the converted configuration would have done to a history."""
    settings = conversion.settings
    names = {old: new for old, new in conversion.names.items() if old != new}
    return plan(world, Proposal("capacity", settings, settings.heartbeat_interval_ms, names))

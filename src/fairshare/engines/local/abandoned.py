"""Owns the removal of containers of an earlier journal, which was lost or replaced by a backup.

Their ids can be reused for other tenants and other work. So their running processes are killed, and
their files are moved to a folder that is not searched for logs and results.
"""

import logging

from fairshare.engines.local import adoption, processes
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.ending import end_all
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.state import StateDirectory
from fairshare.engines.protocol import LONG_AGO, Launched
from fairshare.errors import EngineError

_NAMED = 10

_log = logging.getLogger("fairshare.engine")


def is_of_this_life(directory: ContainerDirectory, launch: Launch | None, launched_ms: int) -> bool:
    """Whether the files of a container are those of the one that was launched at that time."""
    if launch is None:  # it may never have started
        return not (directory.pid.exists() or directory.exit.exists())
    return launched_ms in (LONG_AGO, launch.launched_ms)


def put_unknown_aside(state: StateDirectory, launched: Launched) -> None:
    """Move away every container that the state did not launch, before any adoption.

    Raises OSError if that is not possible: they must not stay in their old place.
    """
    moved: list[str] = []
    supervised: frozenset[str] | None = None
    for directory in state.all_containers():
        launched_ms = launched(directory.path.parent.name, directory.path.name)
        if launched_ms is not None:
            if directory.settled.exists():
                continue
            if is_of_this_life(directory, adoption.read_launch(directory), launched_ms):
                continue
        if supervised is None:
            supervised = processes.supervised()
        runs = str(directory.path) in supervised or not directory.exit.exists()
        place = put_aside(state, directory, runs=runs)
        moved.append(place)
    if moved:
        more = f" and {len(moved) - _NAMED} more" if len(moved) > _NAMED else ""
        _log.warning(
            "containers that this journal does not know, so of another one, were ended and put"
            " aside (%d): %s%s",
            len(moved), ", ".join(moved[:_NAMED]), more,
        )  # fmt: skip


def put_aside(state: StateDirectory, directory: ContainerDirectory, *, runs: bool = True) -> str:
    """Kill the processes of a container, and move its files; returns their new location."""
    if runs:
        try:
            end_all(directory, adoption.read_launch(directory))
        except EngineError as error:
            _log.error("%s", error)
    return str(state.put_aside(directory))

"""Owns what a server is told when it starts: the configuration, and what overrides it.

`config` reads the files, the command line its options; here both are put together.
"""

from pathlib import Path

import msgspec

from fairshare.config.directory import read_directory
from fairshare.config.fair import ALLOCATION_FILE, DEFAULT_ALLOCATION_FILE, read_fair
from fairshare.config.fifo import read_fifo
from fairshare.config.problems import Problem, Problems
from fairshare.config.site import Site
from fairshare.live.state_directory import DEFAULT_STATE_DIRECTORY
from fairshare.model.resources import ResourceTypes
from fairshare.schedulers.fair.settings import FairSettings


class Overrides(msgspec.Struct, frozen=True, kw_only=True):
    """What stands before the configuration; None leaves what that says."""

    host: str | None = None
    port: int | None = None
    state_directory: Path | None = None
    nodes: int | None = None
    memory_mb: int | None = None
    vcores: int | None = None
    scheduler: str | None = None
    keep_containers: bool = False


class LiveSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a server must know to start. `scheduler_settings` is JSON of the scheduler's own.

    `memory_mb` and `vcores` are those of one node; None: its part of what the machine has.
    """

    scheduler: str
    types: ResourceTypes
    scheduler_settings: bytes
    heartbeat_interval_ms: int
    host: str
    port: int
    state_directory: Path
    nodes: int
    memory_mb: int | None
    vcores: int | None
    stop_containers: bool
    warnings: tuple[Problem, ...]


def read_settings(directory: Path, overrides: Overrides) -> LiveSettings:
    """Read a configuration directory, and put both together.

    Raises ConfigurationError with all problems of all files.
    """
    configuration = read_directory(directory)
    server, engine = configuration.shell.server, configuration.shell.engine
    scheduler = overrides.scheduler or configuration.scheduler
    fair, fifo = configuration.fair, configuration.fifo
    warnings = configuration.problems
    more: tuple[Problem, ...] = ()
    if scheduler == "fair" and fair is None:
        fair, more = _read_fair(configuration.site, directory)
    elif scheduler == "fifo" and fifo is None:
        fifo, more = read_fifo(configuration.site)
    warnings = (*warnings, *(problem for problem in more if problem not in warnings))
    chosen = fair if scheduler == "fair" else fifo
    assert chosen is not None, f"no settings for {scheduler}"
    return LiveSettings(
        scheduler=scheduler,
        types=chosen.types,
        scheduler_settings=msgspec.json.encode(chosen),
        heartbeat_interval_ms=fair.heartbeat_interval_ms if fair is not None else 1_000,
        host=overrides.host or server.host,
        port=server.port if overrides.port is None else overrides.port,
        state_directory=(
            overrides.state_directory or Path(server.state_directory or DEFAULT_STATE_DIRECTORY)
        ),
        nodes=overrides.nodes or engine.nodes,
        memory_mb=overrides.memory_mb or engine.memory_mb,
        vcores=overrides.vcores or engine.vcores,
        stop_containers=not overrides.keep_containers,
        warnings=warnings,
    )


def _read_fair(site: Site, directory: Path) -> tuple[FairSettings, tuple[Problem, ...]]:
    """The Fair Scheduler's settings where the configuration itself names another scheduler."""
    name = site.string(ALLOCATION_FILE, DEFAULT_ALLOCATION_FILE, Problems())
    path = directory / name.removeprefix("file://")
    return read_fair(site, path.read_bytes() if path.is_file() else None, str(path))

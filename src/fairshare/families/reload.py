"""Owns what of a configuration may change while a server runs, and what needs a restart.

The allocation file may, at any time; on a refresh also the maximum allocations of yarn-site.xml
(spec/fair.md 4.4, 5.6), and capacity-scheduler.xml (spec/capacity.md 25). Knows neither when this
is done nor what becomes of the result.
"""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from fairshare.config.problems import Place, Problem, Problems
from fairshare.config.resource_types import RESOURCE_TYPES, limit_key
from fairshare.config.shell import FILE as SHELL_FILE
from fairshare.config.shell import ShellSettings
from fairshare.config.site import Site
from fairshare.config.site_files import FileReader
from fairshare.errors import ConfigurationError
from fairshare.families.capacity.reading import read_capacity
from fairshare.families.capacity.reload import is_refreshed, refreshed_capacity
from fairshare.families.capacity.site_file import MISSING_FILE
from fairshare.families.configuration import Configuration
from fairshare.families.directory import read_directory
from fairshare.families.fair.allocation_file import read_allocation_file
from fairshare.families.pools.file import read_pools_file
from fairshare.families.store import STORED, ConfigurationStore
from fairshare.model.resources import MEMORY, VCORES
from fairshare.schedulers.capacity.settings import CapacitySettings
from fairshare.schedulers.fair.settings import FairSettings
from fairshare.schedulers.fifo.settings import FifoSettings
from fairshare.schedulers.pools.settings import PoolsSettings

SchedulerSettings = FairSettings | FifoSettings | CapacitySettings | PoolsSettings
_Settings = TypeVar("_Settings", FairSettings, FifoSettings, CapacitySettings, PoolsSettings)
_WithFile = TypeVar("_WithFile", bound=FairSettings | PoolsSettings)


class Refreshed(msgspec.Struct, frozen=True):
    """What a refresh found.

    `settings` are those to load. `needs_restart` names what has another value in the files than
    the one in force, and keeps it until the server is started again.
    """

    settings: SchedulerSettings
    needs_restart: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    store: ConfigurationStore = ConfigurationStore()


def mutated(
    store: ConfigurationStore,
    in_force: CapacitySettings,
    properties: Mapping[str, str],
    read_file: FileReader,
) -> Refreshed:
    """What comes of other properties in the place of those of capacity-scheduler.xml.

    No file is read but the one that mapping-rule-json-file names. Raises ConfigurationError with
    all problems.
    """
    site = store.with_properties(properties)
    now, found = read_capacity(site, STORED, read_file)
    problems = Problems()
    settings = _with_maximum(refreshed_capacity(in_force, now), now, site, problems)
    problems.raise_errors()
    return Refreshed(settings, (), found, store)


def reread_allocations(
    path: Path, in_force: _WithFile, policies: Collection[str] | None = None
) -> tuple[_WithFile, tuple[Problem, ...]]:
    """The settings in force with the allocation file as it is now, and what there is to say.

    Raises ConfigurationError with all problems if the file is bad or cannot be read.
    """
    try:
        document = path.read_bytes()
    except OSError as error:
        problems = Problems()
        problems.error(Place(str(path)), "file", f"cannot be read: {error.strerror}")
        raise ConfigurationError(problems.all) from error
    if isinstance(in_force, PoolsSettings):
        pools, found = read_pools_file(
            document, str(path), in_force.generation, hierarchical=in_force.hierarchical
        )
        return msgspec.structs.replace(in_force, allocations=pools), found
    allocations, found = read_allocation_file(document, str(path), in_force.types, policies)
    return msgspec.structs.replace(in_force, allocations=allocations), found


def refresh(
    started: Configuration,
    in_force: SchedulerSettings,
    policies: Collection[str] | None = None,
    stored: Mapping[str, str] | None = None,
) -> Refreshed:
    """Read the whole directory again, and take over what may change.

    `started` is what the server was started with; `stored` holds instead of what
    capacity-scheduler.xml says. Raises ConfigurationError with all problems.
    """
    now = read_directory(started.directory, policies, started.scheduler, stored)
    problems = Problems()
    missing = [one for one in now.problems if one.rule == MISSING_FILE]
    if missing and not any(one.rule == MISSING_FILE for one in started.problems):
        problems.error(
            Place(missing[0].file),
            "file",
            "there is no such file any more: put it back. What was loaded from it stays in force",
            "loads the file that it ships, or refuses",
        )
        raise ConfigurationError(problems.all)
    if now.types != started.types:
        problems.error(
            now.site.place(RESOURCE_TYPES),
            "resource-type",
            f"the resource types cannot change while the server runs (they are"
            f" {', '.join(started.types.names)}): start it again, with a new state directory",
            "takes them at its start alone",
        )
        raise ConfigurationError(problems.all)
    settings: SchedulerSettings
    if isinstance(in_force, FairSettings):
        assert now.fair is not None
        settings = _with_maximum(in_force, now.fair, now.site, problems)
        settings = _with_allocations(settings, started, now.fair, now, policies)
    elif isinstance(in_force, PoolsSettings):
        assert now.pools is not None
        settings = _with_maximum(in_force, now.pools, now.site, problems)
        settings = _with_allocations(settings, started, now.pools, now, policies)
    elif isinstance(in_force, CapacitySettings):
        assert now.capacity is not None
        new = refreshed_capacity(in_force, now.capacity)
        settings = _with_maximum(new, now.capacity, now.site, problems)
    else:
        assert now.fifo is not None
        settings = _with_maximum(in_force, now.fifo, now.site, problems)
    problems.raise_errors()
    restart = tuple(_needs_restart(started, now))
    return Refreshed(settings, restart, now.problems, now.store)


def _with_maximum(in_force: _Settings, now: _Settings, site: Site, problems: Problems) -> _Settings:
    """The new maximum; it must not be below the minimum in force, whatever the file's minimum."""
    rows = zip(
        in_force.types.names, in_force.minimum_allocation, now.maximum_allocation, strict=True
    )
    for name, least, most in rows:
        if least > most:
            key = _maximum_key(site, name)
            problems.error(
                site.place(key),
                "allocation-limits",
                f"{key} is {most}, below the minimum allocation {least} in force,"
                " which only a restart changes",
                "refuses the maximum",
            )
    return msgspec.structs.replace(in_force, maximum_allocation=now.maximum_allocation)


def _with_allocations(
    settings: _WithFile,
    started: Configuration,
    new: _WithFile,
    now: Configuration,
    policies: Collection[str] | None,
) -> _WithFile:
    """The allocation file of the start, as it is now: another name for it needs a restart."""
    path = started.allocation_path or now.allocation_path
    if path is None:
        return settings
    if path == now.allocation_path:
        return msgspec.structs.replace(settings, allocations=new.allocations)
    return reread_allocations(path, settings, policies)[0]


def _maximum_key(site: Site, name: str) -> str:
    """The property that sets the maximum of a type."""
    general = f"{RESOURCE_TYPES}.{name}.maximum-allocation"
    if name in (MEMORY, VCORES) and general not in site:
        return limit_key(name, "maximum")
    return general


def _needs_restart(started: Configuration, now: Configuration) -> Iterator[str]:
    refreshed = {
        key
        for name in started.types.names
        for key in (_maximum_key(started.site, name), _maximum_key(now.site, name))
    }
    before = {found.name: found.value for found in started.site}
    after = {found.name: found.value for found in now.site}
    capacity = started.capacity is not None
    for name in sorted((_honoured(started.site) | _honoured(now.site)) - refreshed):
        if before.get(name) != after.get(name) and not (capacity and is_refreshed(name)):
            yield name
    yield from _changed_keys(started.shell, now.shell)


def _honoured(site: Site) -> set[str]:
    """The names of the properties that some reader asked for."""
    return {found.name for found in site} - {found.name for found in site.unread("")}


def _changed_keys(before: ShellSettings, now: ShellSettings) -> Iterator[str]:
    old: dict[str, dict[str, Any]] = msgspec.to_builtins(before)
    new: dict[str, dict[str, Any]] = msgspec.to_builtins(now)
    for section, keys in new.items():
        for key, value in keys.items():
            if old[section][key] != value:
                yield f"{SHELL_FILE}: {key} below [{section}]"

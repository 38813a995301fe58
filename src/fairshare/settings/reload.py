"""What of a configuration may change while a server runs, and what needs a restart."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError
from fairshare.settings.configuration import Configuration, Refreshed
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of
from fairshare.settings.resource_types import RESOURCE_TYPES, maximum_key
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.shell import RELOADED, ShellSettings
from fairshare.settings.site import Site


def refresh(
    started: Configuration, in_force: object, stored: Mapping[str, str] | None = None
) -> Refreshed:
    """Read the whole directory again, and take over what may change.

    `started` is what the server was started with, `in_force` the scheduler's settings now;
    `stored` holds instead of what the scheduler's own file says. Raises ConfigurationError with all
    problems.
    """
    chosen = started.gpus, started.counted
    now = read_directory(started.directory, started.scheduler, stored, *chosen)
    problems = Problems()
    if now.types != started.types:
        problems.error(
            now.site.place(RESOURCE_TYPES),
            "resource-type",
            f"the resource types cannot change while the server runs (they are"
            f" {', '.join(started.types.names)}): start it again",
            "takes them at its start alone",
        )
        raise ConfigurationError(problems.all)
    family = family_of(started.scheduler)
    settings = family.refreshed(started, in_force, now, problems)
    problems.raise_errors()
    followed = [name for name in RELOADED if name in now.settings.__struct_fields__]
    settings = msgspec.structs.replace(
        settings, **{name: getattr(now.settings, name) for name in followed}
    )
    restart = tuple(_needs_restart(started, now))
    return Refreshed(settings, restart, now.problems, now.store)


def _needs_restart(started: Configuration, now: Configuration) -> Iterator[str]:
    refreshed = {
        key
        for name in started.types.names
        for key in (maximum_key(started.site, name), maximum_key(now.site, name))
    }
    before = {found.name: found.value for found in started.site}
    after = {found.name: found.value for found in now.site}
    family = family_of(started.scheduler)
    for name in sorted((_honoured(started.site) | _honoured(now.site)) - refreshed):
        if before.get(name) != after.get(name) and not family.is_refreshed(name):
            yield name
    yield from _changed_keys(started.shell, now.shell)


def _honoured(site: Site) -> set[str]:
    """The names of the properties that some reader asked for."""
    return {found.name for found in site} - {found.name for found in site.unread("")}


def _changed_keys(before: ShellSettings, now: ShellSettings) -> Iterator[str]:
    old: dict[str, dict[str, Any]] = msgspec.to_builtins(before)
    new: dict[str, dict[str, Any]] = msgspec.to_builtins(now)
    old |= old.pop("sections")
    new |= new.pop("sections")
    for section, keys in new.items():
        if section in RELOADED:
            continue
        for key, value in keys.items():
            if old[section][key] != value:
                yield f"{SHELL_FILE}: {key} below [{section}]"

"""Owns a scenario's configuration files: their texts, when they were written, what they say.

Stands for the directory that a server reads. Knows which file each scheduler has, and nothing of
what the settings do.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from fairshare.config.fair import read_fair
from fairshare.config.fifo import read_fifo
from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.config.site_files import read_site
from fairshare.errors import FairshareError
from fairshare.model.resources import ResourceTypes
from fairshare.scenarios.document import not_supported
from fairshare.scenarios.steps import Scenario

RELOAD_WAIT_MS: Final = 5000
"""A file that was written is read by the periodic check when it is older (spec/fair.md 5.6.2)."""

FAIR_FILE: Final = "fair-scheduler.xml"
SITE_FILES: Final = ("resource-types.xml", "yarn-site.xml", "mapred-site.xml")


class LoadedSettings(msgspec.Struct, frozen=True):
    """A scheduler's settings as the manager takes them; `update_interval_ms` 0: no updates."""

    types: ResourceTypes
    encoded: bytes
    update_interval_ms: int = 0


class NotReloadable(FairshareError):
    """The step replaces a file that this scheduler does not read again while it runs."""


def _read_fair(site: Site, files: dict[str, str]) -> LoadedSettings:
    settings, _ = read_fair(site, files.get(FAIR_FILE), FAIR_FILE)
    encoded = msgspec.json.encode(settings)
    return LoadedSettings(settings.types, encoded, settings.update_interval_ms)


def _read_fifo(site: Site, files: dict[str, str]) -> LoadedSettings:
    settings, _ = read_fifo(site)
    return LoadedSettings(settings.types, msgspec.json.encode(settings))


_READERS: Final[dict[str, Callable[[Site, dict[str, str]], LoadedSettings]]] = {
    "fair": _read_fair,
    "fifo": _read_fifo,
}
_RELOADED: Final[dict[str, tuple[str, ...]]] = {"fair": (FAIR_FILE,), "fifo": ()}
"""Which files the scheduler reads again while it runs; all else needs a restart (4.4)."""


class ConfigurationFiles:
    """The files of one scenario. Raises Unsupported for a scheduler that there is not yet."""

    def __init__(self, scenario: Scenario) -> None:
        if scenario.scheduler not in _READERS:
            raise not_supported(scenario.scheduler)
        self._scheduler = scenario.scheduler
        self._texts = dict(scenario.config)
        self._properties = dict(scenario.properties)
        self._written_ms: int | None = None  # of the youngest file that was not read yet

    def read(self) -> LoadedSettings:
        """What the files say now. Raises ConfigurationError with all problems of all files."""
        problems = Problems()
        documents = [(name, self._texts[name]) for name in SITE_FILES if name in self._texts]
        site = read_site(documents, problems).with_values(self._properties)
        problems.raise_errors()
        loaded = _READERS[self._scheduler](site, self._texts)
        self._written_ms = None
        return loaded

    def write(self, files: dict[str, str], now_ms: int) -> None:
        """Replace files; nothing is read. Raises NotReloadable for files of another kind."""
        wrong = [name for name in files if name not in _RELOADED[self._scheduler]]
        if wrong:
            raise self._not_reloadable(wrong[0])
        self._texts.update(files)
        self._written_ms = now_ms

    def change_properties(self, properties: dict[str, str | None]) -> None:
        """Change single properties (only the capacity scheduler takes them while it runs)."""
        if properties:
            raise self._not_reloadable("properties")

    def is_due(self, now_ms: int) -> bool:
        """Whether the periodic check reads the files: one is unread and older than 5 s."""
        return self._written_ms is not None and now_ms > self._written_ms + RELOAD_WAIT_MS

    def _not_reloadable(self, what: str) -> NotReloadable:
        files = ", ".join(_RELOADED[self._scheduler]) or "nothing"
        return NotReloadable(
            f"the {self._scheduler} scheduler reads {files} again while it runs, not {what}"
        )

"""Owns a scenario's configuration files: their texts, when they were written, what they say.

Represents the directory that a server reads. Knows which file each scheduler has, and nothing of
what the settings do.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.config.site_files import read_site
from fairshare.errors import FairshareError
from fairshare.families.capacity.names import PREFIX as CAPACITY_PREFIX
from fairshare.families.capacity.reading import CAPACITY_FILE, read_capacity
from fairshare.families.fair.reading import read_fair
from fairshare.families.fifo.reading import read_fifo
from fairshare.families.registry import FAMILIES
from fairshare.model.resources import ResourceTypes
from fairshare.scenarios.document import not_supported
from fairshare.scenarios.steps import Scenario
from fairshare.schedulers.capacity.settings import CapacitySettings

RELOAD_WAIT_MS: Final = 5000
"""A file that was written is read by the periodic check when it is older (spec/fair.md 5.6.2)."""

FAIR_FILE: Final = "fair-scheduler.xml"
YARN_FILE: Final = "yarn-site.xml"
SITE_FILES: Final = ("resource-types.xml", YARN_FILE, "mapred-site.xml")


class LoadedSettings(msgspec.Struct, frozen=True):
    """A scheduler's settings as the manager takes them.

    `update_interval_ms` 0: no updates. `preemption_interval_ms` is that of the monitors, 0: there
    is none; None: the scheduler has no monitor, and kills what it marked when that is due.
    """

    types: ResourceTypes
    encoded: bytes
    update_interval_ms: int = 0
    preemption_interval_ms: int | None = None


class NotReloadable(FairshareError):
    """The step replaces a file that this scheduler does not read again while it runs."""


def _read_fair(site: Site, files: dict[str, str]) -> LoadedSettings:
    settings, _ = read_fair(site, files.get(FAIR_FILE), FAIR_FILE)
    encoded = msgspec.json.encode(settings)
    return LoadedSettings(settings.types, encoded, settings.update_interval_ms)


def _read_fifo(site: Site, files: dict[str, str]) -> LoadedSettings:
    settings, _ = read_fifo(site)
    return LoadedSettings(settings.types, msgspec.json.encode(settings))


def _read_capacity(site: Site, files: dict[str, str]) -> LoadedSettings:
    settings, _ = read_capacity(site)
    return LoadedSettings(
        settings.types,
        msgspec.json.encode(settings),
        preemption_interval_ms=_rounds_ms(settings),
    )


def _rounds_ms(settings: CapacitySettings) -> int:
    """How far apart the rounds of the monitors are: those of preemption, if there are such."""
    monitor = settings.monitor
    if monitor.enabled:
        return monitor.interval_ms
    if monitor.legacy_queue_management:
        return monitor.legacy_interval_ms
    return settings.queue_expiration_ms if monitor.auto_removal else 0


_READERS: Final[dict[str, Callable[[Site, dict[str, str]], LoadedSettings]]] = {
    "fair": _read_fair,
    "fifo": _read_fifo,
    "capacity": _read_capacity,
}
_RELOADED: Final[dict[str, tuple[str, ...]]] = {
    "fair": (FAIR_FILE,),
    "fifo": (),
    "capacity": (CAPACITY_FILE, YARN_FILE),
}
"""Which files the scheduler reads again while it runs; all else needs a restart (4.4)."""

_ON_COMMAND: Final = frozenset({"capacity"})
"""The schedulers that read their files on a command, whether these were written or not."""


class ConfigurationFiles:
    """The files of one scenario. Raises Unsupported for a scheduler that there is not yet."""

    def __init__(self, scenario: Scenario) -> None:
        if scenario.scheduler not in _READERS or scenario.scheduler not in FAMILIES:
            raise not_supported(scenario.scheduler)
        self._scheduler = scenario.scheduler
        self._texts = dict(scenario.config)
        self._properties = dict(scenario.properties)
        self._written_ms: int | None = None  # of the youngest file that was not read yet

    @property
    def on_command(self) -> bool:
        """Whether a reload is a command, which always reads (`refreshQueues`)."""
        return self._scheduler in _ON_COMMAND

    def read(self) -> LoadedSettings:
        """What the files say now. Raises ConfigurationError with all problems of all files."""
        problems = Problems()
        names: tuple[str, ...] = SITE_FILES
        if self._scheduler == "capacity":  # no other scheduler's properties stand in that file
            names += (CAPACITY_FILE,)
        documents = [(name, self._texts[name]) for name in names if name in self._texts]
        site = read_site(documents, problems)
        for file in (YARN_FILE, CAPACITY_FILE):
            site = site.with_values(self._of_file(file), file)
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
        for name, text in files.items():
            self._replace_shorthand(name, text)
        self._written_ms = now_ms

    def change_properties(self, properties: dict[str, str | None]) -> None:
        """Change single properties (only the capacity scheduler takes them while it runs)."""
        if properties and not self.on_command:
            raise self._not_reloadable("properties")
        self._properties.update(properties)

    @contextmanager
    def unless_refused(self) -> Iterator[None]:
        """Take back what was written inside when it ends with an error."""
        texts, properties = dict(self._texts), dict(self._properties)
        try:
            yield
        except FairshareError:
            self._texts, self._properties = texts, properties
            raise

    def is_due(self, now_ms: int) -> bool:
        """Whether the periodic check reads the files: one is unread and older than 5 s."""
        return self._written_ms is not None and now_ms > self._written_ms + RELOAD_WAIT_MS

    def _of_file(self, file: str) -> dict[str, str | None]:
        """The properties of the shorthand that belong to a file; None: not even if it has them."""
        capacity = file == CAPACITY_FILE
        return {
            name: value
            for name, value in self._properties.items()
            if (self._scheduler == "capacity" and name.startswith(CAPACITY_PREFIX)) == capacity
        }

    def _replace_shorthand(self, file: str, text: str) -> None:
        """A new capacity-scheduler.xml leaves nothing of the shorthand that belongs to it; a new
        yarn-site.xml only wins over what it names."""
        if file == CAPACITY_FILE:
            gone = set(self._of_file(file))
        else:
            gone = {found.name for found in read_site([(file, text)], Problems())}
        self._properties = {n: value for n, value in self._properties.items() if n not in gone}

    def _not_reloadable(self, what: str) -> NotReloadable:
        files = ", ".join(_RELOADED[self._scheduler]) or "nothing"
        return NotReloadable(
            f"the {self._scheduler} scheduler reads {files} again while it runs, not {what}"
        )

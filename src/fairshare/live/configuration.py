"""Owns the configuration of a running server: when it is read again, and how that went.

The allocation file is looked at in an interval; a broken one leaves in force what was loaded before
and is told once. A refresh reads everything at once (spec/fair.md 5.6). What may change is said in
`config.reload`; the core decides on it as on any other input. Knows nothing of HTTP.
"""

import asyncio
import logging
from pathlib import Path

import msgspec

from fairshare.config.directory import Configuration
from fairshare.config.fair import DEFAULT_ALLOCATION_FILE
from fairshare.config.problems import Problem
from fairshare.config.reload import Refreshed, SchedulerSettings, refresh, reread_allocations
from fairshare.errors import ConfigurationError, InputError
from fairshare.live.file_watch import FileWatch, Finding, Stamp, stamp_of
from fairshare.live.service import Service
from fairshare.model.events import ConfigurationLoaded, Record
from fairshare.model.inputs import LoadConfiguration, TidyQueues
from fairshare.schedulers.fair.settings import FairSettings

_PASSING = frozenset({"busy", "stopping"})
"""Codes of refusals that say nothing about the configuration."""

_log = logging.getLogger("fairshare.configuration")


class ConfigurationFailure(msgspec.Struct, frozen=True):
    """Why the files are not in force. `problems` is empty if the scheduler refused them."""

    since_ms: int
    message: str
    problems: tuple[Problem, ...] = ()


class ConfigurationView(msgspec.Struct, frozen=True):
    """What is in force, and how it stands to the files.

    `file` is the allocation file, None if the scheduler has none. `changed`: the one on disk is
    another than the one that was loaded. `version` is the number of the journal's record that
    loaded what is in force. `problems` are the warnings of that load.
    """

    directory: str | None
    file: str | None
    loaded_ms: int
    version: int
    changed: bool
    check_interval_ms: int | None
    settle_ms: int | None
    problems: tuple[Problem, ...]
    error: ConfigurationFailure | None


class LoadedSettings:
    """What the journal says of settings: the last ones, and the number of their record."""

    def __init__(self) -> None:
        self.settings: bytes | None = None
        self.version = 0

    def observe(self, record: Record) -> None:
        """Take notice of a record."""
        for event in record.events:
            if type(event) is ConfigurationLoaded:
                self.settings, self.version = event.settings, record.sequence


class LiveConfiguration:
    """The configuration that a server was started with, and what has become of it since.

    `started` is None for a server whose settings came from no directory: nothing is read again.
    Of `service` only inputs are asked. Used in the service's loop.
    """

    def __init__(
        self,
        started: Configuration | None,
        loaded: LoadedSettings,
        service: Service,
        *,
        epoch_ms: int,
        loaded_ms: int,
    ) -> None:
        self.error: ConfigurationFailure | None = None
        self._started = started
        self._loaded = loaded
        self._service = service
        self._epoch_ms = epoch_ms
        self._loaded_ms = loaded_ms
        self._gone_told = False
        self._loading = asyncio.Lock()
        self._problems: tuple[Problem, ...] = ()
        self._in_force: SchedulerSettings | None = None
        self._watch: FileWatch | None = None
        if started is not None:
            self._problems = started.problems
            self._in_force = started.settings
        if started is not None and started.fair is not None:
            path = started.allocation_path or started.directory / DEFAULT_ALLOCATION_FILE
            settle_ms = started.shell.configuration.settle_ms
            self._watch = FileWatch(path, settle_ms, loaded_ms)

    @property
    def file(self) -> Path | None:
        """The allocation file that is watched."""
        return self._watch.path if self._watch is not None else None

    def view(self) -> ConfigurationView:
        """How it stands."""
        started, watch = self._started, self._watch
        pace = started.shell.configuration if started is not None and watch is not None else None
        finding = watch.look(self._service.now_ms()) if watch is not None else Finding.SAME
        return ConfigurationView(
            directory=str(started.directory.absolute()) if started is not None else None,
            file=str(watch.path.absolute()) if watch is not None else None,
            loaded_ms=self._loaded_ms,
            version=self._loaded.version,
            changed=finding is not Finding.SAME,
            check_interval_ms=pace.check_interval_ms if pace is not None else None,
            settle_ms=pace.settle_ms if pace is not None else None,
            problems=self._problems,
            error=self.error,
        )

    async def watch(self) -> None:
        """Look at the allocation file in its interval, for ever; returns at once without one."""
        if self._watch is None or self._started is None:
            return
        interval_s = self._started.shell.configuration.check_interval_ms / 1_000
        while True:
            await asyncio.sleep(interval_s)
            try:
                await self.look()
            except Exception:  # a defect of ours, or a thread that cannot be had
                _log.exception("the allocation file could not be looked at; it is tried again")

    async def look(self) -> None:
        """Look at the allocation file once, and load it if it has changed.

        A file that is broken or refused is no exception here: it is told once.
        """
        watch = self._watch
        if watch is None:
            return
        async with self._loading:
            finding = await asyncio.to_thread(watch.look, self._service.now_ms())
            if finding is Finding.GONE and not self._gone_told:
                _log.warning(
                    "there is no allocation file %s any more: what it said stays in force",
                    watch.path,
                )
            self._gone_told = finding is Finding.GONE
            if finding is not Finding.CHANGED:
                return
            began_ms = self._service.now_ms()
            try:
                stamp, settings, problems = await asyncio.to_thread(self._reread)
                await self._load(settings)
            except ConfigurationError as error:
                self._failed(error)
            except InputError as error:
                if error.code not in _PASSING:
                    self._failed(error)
            else:
                others = tuple(p for p in self._problems if p.file != str(watch.path))
                self._succeeded(settings, stamp, began_ms, (*others, *problems))

    async def refresh(self) -> Refreshed:
        """Read the whole directory now, whatever has changed; what was found and loaded.

        Raises ConfigurationError with all problems, or InputError if the scheduler refuses the
        settings. Then nothing has changed.
        """
        if self._started is None or self._in_force is None:
            raise InputError(
                "no-configuration", "this server was started without a configuration directory"
            )
        async with self._loading:
            began_ms = self._service.now_ms()
            stamp = stamp_of(self._watch.path) if self._watch is not None else None
            try:
                found = await asyncio.to_thread(refresh, self._started, self._in_force)
                await self._load(found.settings)
            except ConfigurationError as error:
                self._failed(error)
                raise
            except InputError as error:
                if error.code not in _PASSING:
                    self._failed(error)
                raise
            self._succeeded(found.settings, stamp, began_ms, found.problems)
            if found.needs_restart:
                names = ", ".join(found.needs_restart)
                _log.warning("these have changed, and need a restart of the server: %s", names)
            return found

    def _reread(self) -> tuple[Stamp | None, FairSettings, tuple[Problem, ...]]:
        """What stands in the allocation file; its stamp from before, so that no change is lost."""
        assert self._watch is not None
        assert isinstance(self._in_force, FairSettings)
        stamp = stamp_of(self._watch.path)
        return stamp, *reread_allocations(self._watch.path, self._in_force)

    async def _load(self, settings: SchedulerSettings) -> None:
        """Feed it, behind the periodic check that Hadoop's loader begins with."""
        await self._service.ask(TidyQueues())
        await self._service.ask(LoadConfiguration(msgspec.json.encode(settings), self._epoch_ms))

    def _succeeded(
        self,
        settings: SchedulerSettings,
        stamp: Stamp | None,
        began_ms: int,
        problems: tuple[Problem, ...],
    ) -> None:
        if self._watch is not None:
            self._watch.loaded(stamp, began_ms)
        told = frozenset(self._problems)
        self._in_force, self._problems, self._loaded_ms = settings, problems, began_ms
        self.error = None
        _log.info("the configuration was read again: %s", self.file or "its properties")
        for problem in problems:
            if problem not in told:
                _log.warning("%s", problem)

    def _failed(self, error: ConfigurationError | InputError) -> None:
        """Remember it; tell it once until a load succeeds."""
        problems: tuple[Problem, ...] = ()
        message = str(error)
        if isinstance(error, ConfigurationError):
            problems = tuple(p for p in error.problems if isinstance(p, Problem))
            wrong: list[object] = [p for p in problems if p.severity == "error"]
            wrong = wrong or list(error.problems)
            message = str(wrong[0])
            if len(wrong) > 1:
                message += f" (and {len(wrong) - 1} more)"
        since_ms = self._service.now_ms() if self.error is None else self.error.since_ms
        if self.error is None:
            _log.error(
                "the configuration cannot be loaded, what was loaded before stays in force: %s",
                message,
            )
        self.error = ConfigurationFailure(since_ms, message, problems)

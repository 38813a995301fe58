"""The configuration of a running server: its reloads, and their results.

The server polls the allocation file, and capacity-scheduler.xml only where a policy requires that;
if the file is broken, the settings in force stay, and the error is logged once. A refresh reads
everything at once (Hadoop: AllocationFileLoaderService, CapacityScheduler.reinitialize).
`settings.directory` defines what may change; the core decides on it as on any other input.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from fairshare.api.configuration import Configuration as ConfigurationView
from fairshare.api.configuration import ConfigurationFailure
from fairshare.core.model.inputs import LoadConfiguration, ReloadRefused, TidyQueues
from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError, InputError
from fairshare.runtime.projections.scheduler_history import LoadedSettings
from fairshare.server.file_watch import FileWatch, Finding, Stamp, stamp_of
from fairshare.server.service import Service
from fairshare.server.stored_configuration import StoredConfiguration
from fairshare.settings.configuration import Configuration, ConfigurationStore, Refreshed
from fairshare.settings.directory import refresh
from fairshare.settings.family import AnyFamily, Watched
from fairshare.settings.registry import family_of
from fairshare.settings.site_files import file_reader

_PASSING = frozenset({"busy", "stopping"})
"""Codes of refusals that are unrelated to the configuration."""

_log = logging.getLogger("fairshare.configuration")


class LiveConfiguration:
    """The configuration with which a server was started, and its changes since.

    `started` is None for a server whose settings came from no directory: nothing is read again.
    `service` is only asked to process inputs. Used in the service's loop.
    """

    def __init__(
        self,
        started: Configuration | None,
        loaded: LoadedSettings,
        service: Service,
        *,
        epoch_ms: int,
        loaded_ms: int,
        kept: Path | None = None,
    ) -> None:
        self.error: ConfigurationFailure | None = None
        self.on_loaded: Callable[[], None] = lambda: None  # called after each load
        self.started = started
        self._loaded = loaded
        self._service = service
        self._epoch_ms = epoch_ms
        self._loaded_ms = loaded_ms
        self._gone_reported = False
        self.loading = asyncio.Lock()
        self._problems: tuple[Problem, ...] = ()
        self._in_force: Any = None
        self._watched: Watched | None = None
        self._watch: FileWatch | None = None
        if started is not None:
            self._problems = started.problems
            self._in_force = started.settings
            self._watched = family_of(started.scheduler).watched(started)
            if self._watched is not None:
                settle_ms = started.shell.configuration.settle_ms
                self._watch = FileWatch(self._watched.path, settle_ms, loaded_ms)
        self._store = started.store if started is not None else ConfigurationStore()
        self._kept: StoredConfiguration | None = None
        if self._store.mutable:
            path = kept if self._store.kind == "persistent" else None
            self._kept = StoredConfiguration(dict(self._store.written), path)

    @property
    def file(self) -> Path | None:
        """The file that is watched; None if there is none."""
        return self._watch.path if self._watch is not None else None

    def view(self) -> ConfigurationView:
        """Its present state."""
        started, watch = self.started, self._watch
        pace = started.shell.configuration if started is not None and watch is not None else None
        finding = watch.look(self._service.now_ms()) if watch is not None else Finding.SAME
        interval_ms = started.auto_refresh_ms if started is not None else None
        if interval_ms is None and pace is not None:
            interval_ms = pace.check_interval_ms
        return ConfigurationView(
            directory=str(started.directory.absolute()) if started is not None else None,
            file=str(watch.path.absolute()) if watch is not None else None,
            loaded_ms=self._loaded_ms,
            version=self._loaded.version,
            changed=finding is not Finding.SAME,
            check_interval_ms=interval_ms if pace is not None else None,
            settle_ms=pace.settle_ms if pace is not None else None,
            problems=self._problems,
            error=self.error,
        )

    async def watch(self) -> None:
        """Poll the watched file forever; returns at once without one."""
        if self._watch is None or self.started is None:
            return
        pace = self.started.shell.configuration.check_interval_ms
        interval_s = (self.started.auto_refresh_ms or pace) / 1_000
        while True:
            await asyncio.sleep(interval_s)
            try:
                await self.look()
            except Exception:  # a bug, or no thread available
                what = self._watched.what if self._watched is not None else "file"
                _log.exception("the %s could not be looked at; it is tried again", what)

    async def look(self) -> None:
        """Check the watched file once, and load it if it has changed.

        A broken or refused file raises no exception: it is logged once.
        """
        watch, watched = self._watch, self._watched
        if watch is None or watched is None:
            return
        async with self.loading:
            finding = await asyncio.to_thread(watch.look, self._service.now_ms())
            if finding is Finding.GONE and not self._gone_reported:
                _log.warning(
                    "there is no %s %s any more: what it said stays in force",
                    watched.what,
                    watch.path,
                )
            self._gone_reported = finding is Finding.GONE
            if finding is not Finding.CHANGED:
                return
            try:
                if watched.alone:
                    await self._load_file(watch)
                else:
                    await self.reread()
            except ConfigurationError as error:
                self._failed(error)
            except InputError as error:
                if error.code not in _PASSING:
                    self._failed(error)

    async def refresh(self) -> Refreshed:
        """Read the whole directory now, changed or not; what was found and loaded.

        Raises ConfigurationError with all problems, or InputError if the scheduler refuses the
        settings. Then nothing has changed.
        """
        if self.started is None or self._in_force is None:
            raise InputError(
                "no-configuration", "this server was started without a configuration directory"
            )
        async with self.loading:
            try:
                return await self.reread()
            except ConfigurationError as error:
                self._failed(error)
                with suppress(InputError):  # the server is busy or stopping
                    await self._service.ask(ReloadRefused())
                raise
            except InputError as error:
                if error.code not in _PASSING:
                    self._failed(error)
                raise

    async def roll_back(self, settings: bytes) -> None:
        """Restore earlier settings, until the files are read again.

        Raises InputError where there are no earlier settings, where documents change them, or if
        the scheduler refuses them. Then nothing has changed.
        """
        if self._in_force is None:
            raise InputError(
                "no-configuration", "this server was started without a configuration directory"
            )
        if self.mutable:
            raise InputError(
                "mutable-configuration",
                "this scheduler's properties are changed by documents: send one that says what"
                " they were (POST /admin/configuration)",
            )
        async with self.loading:
            began_ms = self._service.now_ms()
            stamp = stamp_of(self._watch.path) if self._watch is not None else None
            found = msgspec.json.decode(settings, type=type(self._in_force))
            await self._load(found)
            self._succeeded(found, stamp, began_ms, ())

    async def reread(self) -> Refreshed:
        """As `refresh`, for callers that hold `loading` and report the failure themselves."""
        assert self.started is not None
        assert self._in_force is not None
        began_ms = self._service.now_ms()
        stamp = stamp_of(self._watch.path) if self._watch is not None else None
        stored = self._kept.properties if self._kept is not None else None
        refreshed = await asyncio.to_thread(refresh, self.started, self._in_force, stored)
        await self._load(refreshed.settings)
        # Only a restart changes the kind of store, and the permission to change it.
        self._store = msgspec.structs.replace(self._store, base=refreshed.store.base)
        self._succeeded(refreshed.settings, stamp, began_ms, refreshed.problems)
        if refreshed.needs_restart:
            names = ", ".join(refreshed.needs_restart)
            _log.warning("these have changed, and need a restart of the server: %s", names)
        return refreshed

    async def _load_file(self, watch: FileWatch) -> None:
        """Only the watched file: the rest of the directory waits for a refresh."""
        began_ms = self._service.now_ms()
        stamp, settings, problems = await asyncio.to_thread(self._reread)
        await self._load(settings)
        others = tuple(p for p in self._problems if p.file != str(watch.path))
        self._succeeded(settings, stamp, began_ms, (*others, *problems))

    @property
    def _family(self) -> AnyFamily:
        assert self.started is not None
        return family_of(self.started.scheduler)

    # Changes by document; `live.mutation` defines their meaning.

    @property
    def mutable(self) -> bool:
        """Whether documents may change the scheduler's properties."""
        return self._kept is not None

    @property
    def store(self) -> ConfigurationStore:
        """The scheduler's properties compared with those of all other files."""
        return self._store

    @property
    def queue_administrators(self) -> bool:
        """Whether administrators of a queue may change its properties."""
        return self._store.queue_administrators

    def properties(self) -> Mapping[str, str]:
        """The scheduler's properties in force; only where they are mutable."""
        assert self._kept is not None
        return self._kept.properties

    def properties_version(self) -> int:
        """The version of `properties`."""
        assert self._kept is not None
        return self._kept.version

    async def check(self, properties: Mapping[str, str]) -> Refreshed:
        """The settings that other properties would give; raises ConfigurationError, and changes
        nothing."""
        refreshed = await asyncio.to_thread(self._mutated, properties)
        faults = self._family.refusals(refreshed.settings, self._service.state)
        if faults:
            raise ConfigurationError(faults)
        return refreshed

    async def mutate(
        self, change: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> tuple[int, tuple[Problem, ...]]:
        """Put changed properties in force and keep them; their version, and the warnings.

        Raises ConfigurationError, or InputError, or FairshareError if they cannot be kept. Then
        nothing has changed.
        """
        assert self._kept is not None
        async with self.loading:
            began_ms = self._service.now_ms()
            properties = change(self._kept.properties)
            refreshed = await self.check(properties)
            # It is written first: once the scheduler has applied it there may be no way back.
            await asyncio.to_thread(self._kept.stage, properties)
            try:
                await self._load(refreshed.settings)
            except BaseException:
                self._kept.discard()
                raise
            version = self._kept.confirm()
            self._succeeded(refreshed.settings, None, began_ms, refreshed.problems)
            return version, refreshed.problems

    async def format_store(self) -> tuple[int, tuple[Problem, ...]]:
        """Return to the present content of the scheduler's file; raises as `mutate`."""
        assert self.started is not None
        written = await asyncio.to_thread(self._family.written_properties, self.started.directory)
        return await self.mutate(lambda _: dict(written))

    def _mutated(self, properties: Mapping[str, str]) -> Refreshed:
        assert self.started is not None
        read_file = file_reader(self.started.directory)
        return self._family.with_properties(self._store, self._in_force, properties, read_file)

    def _reread(
        self,
    ) -> tuple[Stamp | None, Any, tuple[Problem, ...]]:
        """The content of the watched file, with its stamp from before the read, so that no
        change is lost."""
        assert self._watch is not None
        stamp = stamp_of(self._watch.path)
        return stamp, *self._family.reread_file(self._watch.path, self._in_force)

    async def _load(self, settings: object) -> None:
        """Load the settings; before that, what the scheduler's loader does in Hadoop."""
        if self._family.tidies_before_load:
            await self._service.ask(TidyQueues())
        await self._service.ask(LoadConfiguration(msgspec.json.encode(settings), self._epoch_ms))

    def _succeeded(
        self,
        settings: object,
        stamp: Stamp | None,
        began_ms: int,
        problems: tuple[Problem, ...],
    ) -> None:
        if self._watch is not None:
            self._watch.loaded(stamp, began_ms)
        known = frozenset(self._problems)
        self._in_force, self._problems, self._loaded_ms = settings, problems, began_ms
        self.error = None
        self.on_loaded()
        _log.info("the configuration was read again: %s", self.file or "its properties")
        for problem in problems:
            if problem not in known:
                _log.warning("%s", problem)

    def _failed(self, error: ConfigurationError | InputError) -> None:
        """Remember the failure; log it once until a load succeeds."""
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

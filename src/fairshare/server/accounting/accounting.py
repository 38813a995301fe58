"""How the accounts follow a server's records: what has ended is written soon after, in a thread.

The journal is the source: at a start the ends that its state still knows, and the file may not, are
written again. So a crash between an end and its row costs nothing, and no end counts twice.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, TypeVar

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationEnded, ApplicationRejected, ContainerCompleted
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.schedulers.protocol import State
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projections import Projections
from fairshare.server.accounting.ledger import (
    ApplicationRow,
    ContainerRow,
    Ledger,
    LedgerError,
    application_row,
    container_row,
)
from fairshare.server.side_file import to_the_end
from fairshare.settings.shell import AccountingSettings

INTERVAL_S: Final = 1.0
TRIM_S: Final = 3_600.0
RETRY_S: Final = 30.0
MAX_PENDING: Final = 200_000
"""Ends that may wait to be written while the file cannot be; the oldest are then left out."""
MAX_ROWS: Final = 2_000
"""Rows of one transaction."""
AGAIN_MS: Final = 600_000
"""At a start, ends within this time before the last one in the file are written again."""
_DAY_MS: Final = 86_400_000

_log = logging.getLogger("fairshare.accounting")

Key = TypeVar("Key")
Value = TypeVar("Value")

_Row = tuple[ApplicationRow, tuple[str, ...]]
"""Of an application, with its tags."""


class Accounting:
    """The accounts of one server. `problem` says why they cannot be written; empty: all is well."""

    def __init__(
        self,
        directory: Path,
        settings: AccountingSettings,
        state: State,
        projections: Projections,
        now_ms: Callable[[], int],
    ) -> None:
        self.directory = directory
        self.problem = ""
        self._settings = settings
        self._state = state
        self._projections = projections
        self._now_ms = now_ms
        self._containers: dict[ContainerId, ContainerRow] = {}
        self._applications: dict[ApplicationId, Application | _Row] = {}
        self._ledger: Ledger | None = None
        self._left_out = 0
        self._writing = asyncio.Lock()

    def subscribe(self, observers: Observers) -> None:
        """Follow the records, behind the projections."""
        observers.events(
            lambda _, event: self._container_ended(event.container), ContainerCompleted
        )
        observers.events(
            lambda _, event: self._application_changed(event.application),
            ApplicationEnded,
            ApplicationRejected,
        )

    def _container_ended(self, container: ContainerId) -> None:
        record = self._projections.history.container(container)
        application = self._state.applications.get(application_of(container))
        if record is not None and application is not None:
            epoch_ms, types = self._state.epoch_ms, self._state.types
            self._containers[container] = container_row(epoch_ms, types, application, record)
            self._application_changed(application.id)

    def _application_changed(self, number: ApplicationId) -> None:
        application = self._state.applications.get(number)
        if application is not None:
            # One that is over may be forgotten before it is written. Only its row is kept then,
            # which is small: its submission may have megabytes.
            self._applications[number] = self._row(application) if application.over else application

    def _row(self, application: Application) -> _Row:
        return application_row(self._state.epoch_ms, application), application.submission.tags

    async def watch(self) -> None:
        """Write what has ended, periodically until cancelled."""
        await self._begin()
        loop = asyncio.get_running_loop()
        trimmed_s = -TRIM_S
        while True:
            await self.write()
            if not self.problem and loop.time() - trimmed_s >= TRIM_S:
                trimmed_s = loop.time()
                await self._trim()
            await asyncio.sleep(RETRY_S if self.problem else INTERVAL_S)

    async def _begin(self) -> None:
        """Open the file, and look for ends that it does not have."""
        while True:
            try:
                ledger, last_ms = await to_the_end(self._open)
                since_ms = last_ms - AGAIN_MS
                break
            except LedgerError as error:
                self._report(error)
                await asyncio.sleep(RETRY_S)
        if ledger.moved_aside is not None:
            _log.error(
                "%s was damaged: it is now %s, and the accounts begin again with what the journal"
                " still has",
                ledger.path,
                ledger.moved_aside.name,
            )
        for application in self._state.applications.values():
            history = self._projections.history.application(application.id)
            for record in history.containers.values():
                if record.finished_ms is not None and record.finished_ms >= since_ms:
                    self._container_ended(record.container)
            if application.finished_ms is not None and application.finished_ms >= since_ms:
                self._application_changed(application.id)

    def _open(self) -> tuple[Ledger, int]:
        """Open the file, in a thread; with the instant of the last end that it has."""
        ledger = Ledger(self.directory)
        last_ms = ledger.last_end_ms()
        self._ledger = ledger
        return ledger, last_ms

    async def catch_up(self) -> None:
        """Write what has ended, before a question about it; not while that fails."""
        if not self.problem:
            await self.write()

    async def write(self) -> None:
        """Write what has ended; what cannot be written waits."""
        async with self._writing:
            await self._write_pending()

    async def _write_pending(self) -> None:
        ledger = self._ledger
        while ledger is not None and (self._containers or self._applications):
            containers = _taken(self._containers, MAX_ROWS)
            # An application's sums are those of the containers that are written: it comes last.
            applications = {} if self._containers else _taken(self._applications, MAX_ROWS)
            try:
                await to_the_end(self._write, ledger, containers.values(), applications.values())
            except BaseException as error:  # also where the server stops meanwhile
                self._containers = containers | self._containers
                self._applications = applications | self._applications
                if not isinstance(error, LedgerError):
                    raise
                for pending in (self._containers, self._applications):
                    while len(pending) > MAX_PENDING:
                        pending.pop(next(iter(pending)))
                        self._left_out += 1
                self._report(error)
                return
            if self.problem:
                self.problem = ""
                _log.info("the accounts are written again; %d ends are missing", self._left_out)

    def _write(
        self,
        ledger: Ledger,
        containers: Iterable[ContainerRow],
        applications: Iterable[Application | _Row],
    ) -> None:
        """Write rows, in a thread. What is read of an application that goes on may change
        meanwhile: its row is written again at its end."""
        rows = [self._row(one) if isinstance(one, Application) else one for one in applications]
        ledger.write(list(containers), rows)

    async def _trim(self) -> None:
        settings = self._settings
        oldest_ms = self._now_ms() - settings.keep_days * _DAY_MS
        if self._ledger is not None:
            try:
                await to_the_end(self._ledger.trim, oldest_ms, settings.size_mb * 1024**2)
            except LedgerError as error:
                self._report(error)

    def _report(self, error: LedgerError) -> None:
        if not self.problem:
            _log.error("the accounts are not written for now: %s", error)
        self.problem = str(error)

    async def close(self) -> None:
        """Write what is left, and close the file. Idempotent."""
        await self.write()
        ledger, self._ledger = self._ledger, None
        if ledger is not None:
            await asyncio.to_thread(ledger.close)


def _taken(pending: dict[Key, Value], count: int) -> dict[Key, Value]:
    """The first entries of a dictionary, which loses them."""
    if len(pending) <= count:
        taken = dict(pending)
        pending.clear()
        return taken
    return {key: pending.pop(key) for key in list(pending)[:count]}

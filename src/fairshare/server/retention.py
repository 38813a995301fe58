"""The retention of a server: snapshots, the length of the journal, finished applications.

Nothing grows without bound: finished applications leave the state (by an ordinary input, so that a
replay forgets them at the same place), and records leave the journal once a snapshot covers them.
What plans need of those goes to the long history.

The snapshot of a large state is taken while the server goes on: a copy of the process (fork) has
the state as it is now, writes it into a pipe, and ends. The copy runs nothing but `freeze`: it
closes all other descriptors (the lock on the state directory among them), starts no thread and no
callback, and leaves with `os._exit`. If memory runs out, the kernel ends the copy first. Only on
Linux.
"""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import traceback
import warnings
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.ended import pack
from fairshare.core.model.events import ApplicationEnded, ApplicationRejected
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import ForgetApplications
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError, JournalError
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projections import Projections
from fairshare.runtime.recovery import Position
from fairshare.runtime.snapshot import STORED, freeze
from fairshare.server.long_history import Bounds, LongHistory, remove_long_history
from fairshare.server.service import Service
from fairshare.server.side_file import to_the_end
from fairshare.server.slices import sliced
from fairshare.settings.shell import RetentionSettings

DEFAULT_FINISHED = 1_000
"""yarn.resourcemanager.max-completed-applications, by default."""

FORGOTTEN_AT_ONCE = 500
INTERVAL_S = 1.0

LARGE = 1_000
"""The number of applications and containers from which on a copy of the process takes snapshots:
each of them takes 0.1 to 0.3 ms, in which a server that takes the snapshot itself does nothing
else."""

_HOUR_MS = 3_600_000

POSSIBLE: Final = sys.platform == "linux"
"""Whether a copy can be made."""

_LATER: Final = 5
"""How much nicer the copy is to others than the server, which decides meanwhile."""

_DESCRIPTORS: Final = 2**20
_FIRST_VICTIM: Final = "1000"

_log = logging.getLogger("fairshare.retention")


class FinishedApplications:
    """Finished applications, in the order of their ends."""

    def __init__(self, state: State) -> None:
        self._applications = state.applications
        ended = [one for one in state.applications.values() if one.over]
        ended.sort(key=lambda one: (one.finished_ms, one.id))
        self._in_order = deque(one.id for one in ended)
        self._latest: list[ApplicationId] = []
        self._settled = list(self._in_order)

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._ended, ApplicationEnded, ApplicationRejected)

    def _ended(self, record: Record, event: ApplicationEnded | ApplicationRejected) -> None:
        self._in_order.append(event.application)
        self._latest.append(event.application)

    def take_settled(self) -> list[Application]:
        """Those that had ended before the previous call, each once: clients that ask for an
        application as soon as it has ended have asked by then."""
        settled, self._settled, self._latest = self._settled, self._latest, []
        return [self._applications[one] for one in settled if one in self._applications]

    def take_old(self, now_ms: int, count: int, age_ms: int) -> list[ApplicationId]:
        """Those beyond the last `count`, or older than `age_ms`; at most FORGOTTEN_AT_ONCE."""
        old: list[ApplicationId] = []
        while self._in_order and len(old) < FORGOTTEN_AT_ONCE:
            oldest = self._applications.get(self._in_order[0])
            ended_ms = 0 if oldest is None else oldest.finished_ms or 0
            if len(self._in_order) <= count and now_ms - ended_ms < age_ms:
                break
            old.append(self._in_order.popleft())
        return old

    def put_back(self, applications: list[ApplicationId]) -> None:
        """Put back applications that could not be forgotten yet, as the latest ones."""
        self._in_order += applications


class Retention:
    """Applies the retention to a running server periodically; all in the service's event loop.

    `parts` are the objects of a snapshot, by name: what `restore` gives back.
    """

    def __init__(
        self,
        settings: RetentionSettings,
        journal: SqliteJournal,
        service: Service,
        projections: Projections,
        parts: Callable[[], dict[str, Any]],
        since: Position,
    ) -> None:
        self._settings = settings
        self._journal = journal
        self._service = service
        self._projections = projections
        self._parts = parts
        self._saved = since.sequence
        self._saved_bytes = journal.appended
        self.on_snapshot: Callable[[], None] = lambda: None
        self.may_write: Callable[[], bool] = lambda: True
        self._finished = FinishedApplications(service.state)
        if not settings.history_days:
            remove_long_history(journal.path.parent)

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        self._finished.subscribe(observers)

    async def watch(self) -> None:
        """Apply the retention periodically until cancelled. A full disk does not end it."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            await self.pack()
            try:
                await self.forget()
                await self.shorten()
            except JournalError as error:
                _log.error("no snapshot could be taken: %s", error)
                await asyncio.sleep(60 * INTERVAL_S)

    async def pack(self) -> None:
        """Keep what is known of applications that have ended in few bytes."""
        async for application in sliced(self._finished.take_settled()):
            pack(application)
            self._projections.pack(application.id)

    async def forget(self) -> None:
        """Let the state forget applications that ended long ago."""
        settings = self._settings
        count = settings.finished_applications
        now_ms = self._service.now_ms()
        while old := self._finished.take_old(
            now_ms,
            DEFAULT_FINISHED if count is None else count,
            settings.finished_hours * _HOUR_MS,
        ):
            try:
                await self._service.ask(ForgetApplications(tuple(old)))
            except InputError:  # the server is busy or stopping
                self._finished.put_back(old)
                return
            kept = [number for number in old if number in self._service.state.applications]
            self._finished.put_back(kept)
            if kept:
                return

    async def shorten(self) -> None:
        """Take a snapshot if one is due, and drop a part of the journal's excess records, of which
        the long history keeps what plans need.

        Raises JournalError.
        """
        settings = self._settings
        if self._much_since_the_last_snapshot():
            await self.save_soon()
        spare = self._journal.spare(settings.records, settings.journal_mb * 1024**2)
        if spare is None:
            return
        _, end = spare
        if settings.history_days:
            try:
                await to_the_end(self._keep_for_plans, end)
            except JournalError as error:
                # The journal must not grow for it: plans then begin later.
                _log.error("plans will not reach back before this record: %s", error)
        self._journal.delete_up_to(end)

    def _keep_for_plans(self, end: int) -> None:
        """Add the records up to a number to the long history; in a thread."""
        settings = self._settings
        directory = self._journal.path.parent
        bounds = Bounds(settings.history_days, settings.history_mb * 1024**2)
        with (
            contextlib.closing(LongHistory.open_for_writing(directory)) as history,
            contextlib.closing(SqliteJournal(directory, read_only=True)) as journal,
        ):
            history.take(journal, end, bounds)

    def _much_since_the_last_snapshot(self) -> bool:
        """Many records, or large ones where the journal has reached its size: it becomes shorter
        only up to a snapshot."""
        if self._service.version - self._saved >= self._settings.snapshot_records:
            return True
        size = self._settings.journal_mb * 1024**2
        recent = self._journal.appended - self._saved_bytes
        return recent >= size // 4 and self._journal.size() > size // 2

    def save_at_the_end(self) -> None:
        """Take a last snapshot; without room for it the next start reads more records."""
        try:
            self.save()
        except JournalError as error:
            _log.warning("no snapshot could be taken at the end: %s", error)

    def save(self) -> None:
        """Take a snapshot of the present. Raises JournalError."""
        position = self._service.position
        if position.sequence > self._saved:
            appended = self._journal.appended
            self._store(freeze(position.sequence, position.now_ms, self._parts()), appended)

    async def save_soon(self) -> None:
        """The same, at a moment from which plans go on as the server did. A copy of the process
        takes a large one, while the server goes on. If it cannot, the server does: without
        snapshots the journal would grow without bound. None is taken where it may not be written,
        and at the end of the server, which has its own."""
        await self._service.idle()
        if self._service.stopping or not self.may_write():
            return
        position, appended = self._service.position, self._journal.appended
        if not (POSSIBLE and position.sequence > self._saved and self._is_large()):
            self.save()
            return
        try:
            snapshot = await copied_snapshot(position.sequence, position.now_ms, self._parts)
        except JournalError as error:
            _log.warning("%s: the server itself takes the snapshot", error)
            self.save()
        else:
            self._store(snapshot, appended)

    def _is_large(self) -> bool:
        cluster = self._service.views.cluster
        return len(self._service.state.applications) + cluster.containers >= LARGE

    def _store(self, snapshot: Snapshot, appended: int) -> None:
        """Add a snapshot to the journal, to which `appended` bytes had been written by then."""
        self._journal.save(snapshot)
        self._saved = snapshot.sequence
        self._saved_bytes = appended
        self.on_snapshot()


async def copied_snapshot(
    sequence: int, now_ms: int, parts: Callable[[], dict[str, Any]]
) -> Snapshot:
    """What `freeze(sequence, now_ms, parts())` returns now, though it is ready later.

    Raises JournalError if no copy can be made, or if it did not end well.
    """
    reading, writing = os.pipe()
    try:
        with warnings.catch_warnings():
            # Later releases of Python warn of locks that other threads hold: the copy takes none.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        raise JournalError(f"the server cannot be copied: {error.strerror}") from error
    if pid == 0:
        _write_and_exit(writing, lambda: freeze(sequence, now_ms, parts()))
    os.close(writing)
    return await to_the_end(_written_by, pid, reading)


def _write_and_exit(writing: int, make: Callable[[], Snapshot]) -> None:
    status = 1
    try:
        signal.set_wakeup_fd(-1)  # it is the server's
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        STORED.add_missing = lambda looked_for: ()  # a thread that is not here may be importing
        os.closerange(3, writing)
        os.closerange(writing + 1, _DESCRIPTORS)
        os.nice(_LATER)
        Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM)
        content = memoryview(msgspec.msgpack.encode(make()))
        while content:
            content = content[os.write(writing, content) :]
        status = 0
    except BrokenPipeError:  # the server was killed, and does not need it any more
        pass
    except BaseException:
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _written_by(pid: int, reading: int) -> Snapshot:
    with open(reading, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(pid, 0)
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise JournalError(f"the copy of the server that was to write it ended with {code}")
    return msgspec.msgpack.decode(content, type=Snapshot)

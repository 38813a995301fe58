"""What a server that leads writes into the database: the `SharedState` of its directory.

Four connections: one for the commits of the journal, one for changes of side files and for files,
one for what may be late (snapshots, deletions), and one for beats. After each error, and each
answer that came too late, it is not known what was recorded; so the next write asks first.
"""

import contextlib
import logging
import queue
import sqlite3
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from fairshare.errors import FairshareError, JournalError
from fairshare.runtime.shared import Row, Statement, UnavailableError, attach, detach
from fairshare.server.recovered import Recovered
from fairshare.server.shared import tables
from fairshare.server.shared.database import Connection, Link, shown
from fairshare.server.shared.leadership import BEAT_S, Holder
from fairshare.server.side_file import applied_change, copy_side_file
from fairshare.server.state_directory import pieces_of

COMMIT_S: Final = 2.0
"""How long a commit may hold up everything else; after that the server waits for it, and answers
meanwhile."""
CHANGE_S: Final = 10.0
KEEP_S: Final = 60.0
END_S: Final = 10.0
_PAUSE_S: Final = 1.0
_LEAST_IMAGE_BYTES: Final = 8 * 1024**2

_log = logging.getLogger("fairshare.server")


class LeadingState:
    """The shared state of one directory, in one epoch, from its creation to `close`.

    `last` is the number of the last record in the database, `number` that of the last change.
    `on_lost` is called once, from some thread, when another server leads.
    """

    def __init__(
        self, url: str, directory: Path, epoch: int, holder: Holder, *, last: int, number: int
    ) -> None:
        self.directory = directory
        self.epoch = epoch
        self.set_back = False
        self.warm: Recovered | None = None
        self.on_lost: Callable[[FairshareError], None] = lambda error: None
        self._holder = holder
        self._last = last
        self._number = number
        self._place = shown(url)
        self._commits, self._side = Link(url, "commits"), Link(url, "changes")
        self._late, self._beats = Link(url, "late"), Link(url, "beats")
        self._pending: Future[None] | None = None
        self._unknown = False  # whether the last rows were recorded
        self._problems: dict[str, str] = {}
        self._unannounced = ""
        self._changing = threading.Lock()
        self._doubtful: set[str] = set()
        self._grown: dict[str, int] = {}  # bytes of changes since the last image
        self._later: queue.SimpleQueue[Callable[[Connection], None] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        attach(directory, self)
        self._threads = [
            threading.Thread(target=target, name=name, daemon=True)
            for target, name in ((self._beat, "beats"), (self._do_later, "late writes"))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def problem(self) -> str:
        """Why nothing can be recorded now."""
        return next(iter([*self._problems.values()]), "")

    def take_warm(self) -> Recovered | None:
        """What was recovered while this server was a standby."""
        warm, self.warm = self.warm, None
        return warm

    def announce(self, address: str) -> None:
        """Let other servers know where this one listens."""
        holder = msgspec.structs.replace(self._holder, address=address)
        self._unannounced = msgspec.json.encode(holder).decode()

    # The journal.

    def record(self, rows: Sequence[Row]) -> None:
        """Add records."""
        wait_s = 0.0 if self._pending else COMMIT_S
        if self._pending is None:
            self._pending = self._commits.start(partial(self._record, rows))
        try:
            self._pending.result(wait_s)
        except TimeoutError:
            error = self._commits.unanswered(COMMIT_S)
            self._problems["commit"] = str(error)
            raise error from None
        except UnavailableError as error:
            self._pending, self._unknown = None, True
            self._problems["commit"] = str(error)
            raise
        except JournalError as error:
            self._lose(error)
            raise
        self._pending = None
        self._last = rows[-1][0]
        self._problems.pop("commit", None)

    def _record(self, rows: Sequence[Row], connection: Connection) -> None:
        if self._unknown and self._is_recorded(rows, connection):
            self._unknown = False
            return
        tables.record(connection, self.epoch, rows)
        self._unknown = False

    def _is_recorded(self, rows: Sequence[Row], connection: Connection) -> bool:
        """Whether rows were recorded after all; raises JournalError if another server leads, or if
        records are missing: another database is in the place of this one."""
        if tables.beat(connection).epoch != self.epoch:
            raise tables.lost(self.epoch, connection)
        _, last = tables.bounds(connection)
        if last < self._last:
            raise JournalError(
                f"the database {self._place} ends with record {last}, and had confirmed record"
                f" {self._last}: another one has taken its place, to which not everything had been"
                " copied. Bring the former one back, or read the page on two hosts about accepting"
                " the loss"
            )
        tables.confirm_life(connection)
        row = rows[-1]
        return bool(last == row[0] and tables.row_checksum(connection, last) == row[-1])

    def save(self, row: Row) -> None:
        """Add a snapshot, soon."""
        self._soon(lambda connection: tables.put_snapshot(connection, row))

    def delete_up_to(self, end: int) -> None:
        """Delete records, soon."""
        self._soon(lambda connection: tables.delete_up_to(connection, end))

    def confirm(self) -> None:
        """This database is the one whose history counts."""
        if self.set_back:
            self._side.run(tables.confirm_life, CHANGE_S)
            self.set_back = False

    # Side files and other files.

    def change(self, part: str, statements: Sequence[Statement]) -> int:
        """Add what changed in a side file."""
        body = zlib.compress(msgspec.msgpack.encode(statements), 1)
        with self._changing:
            if part in self._doubtful:
                self._number += 1
                self._written(self._side, partial(self._put_image, part, self._number))
                self._doubtful.discard(part)
                self._grown[part] = 0
            self._number += 1
            number = self._number
            add = partial(tables.change, epoch=self.epoch, number=number, part=part, body=body)
            try:
                self._written(self._side, add, CHANGE_S)
            except BaseException:
                self._doubtful.add(part)  # it may happen nevertheless
                raise
            self._grown[part] = self._grown.get(part, 0) + len(body)
            if self._grown[part] > max(_LEAST_IMAGE_BYTES, (self.directory / part).stat().st_size):
                self._grown[part] = 0
                self._later.put(partial(self._put_image, part, None))
        return number

    def doubt(self, part: str) -> None:
        """The content of a side file counts, and not its changes."""
        with self._changing:
            self._doubtful.add(part)

    def _put_image(self, part: str, number: int | None, connection: Connection) -> None:
        """Keep the whole of a side file, and delete the changes that it has: up to `number`, or to
        the last one in there."""
        with tempfile.TemporaryDirectory(prefix=".image.", dir=self.directory) as folder:
            copy = Path(folder, part)
            copy_side_file(self.directory / part, copy)
            if not copy.exists():
                return
            if number is None:
                with contextlib.closing(sqlite3.connect(copy)) as opened:
                    number = applied_change(opened)
            with tables.leading(connection, self.epoch):
                tables.put_file(connection, part, number, pieces_of(copy))
                tables.delete_changes(connection, part, number)

    def keep(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file."""
        with self._changing:
            self._number += 1
            put = partial(tables.put_file, name=name, number=self._number, pieces=pieces)
            self._written(self._side, self._in_epoch(put))

    def drop(self, name: str) -> None:
        """Delete a file, soon."""
        with self._changing:
            number = self._number  # what is kept under this name later stays

        def drop(connection: Connection) -> None:
            tables.drop_file(connection, name, number)
            tables.delete_changes(connection, name, number)

        self._soon(drop)

    def _in_epoch(self, work: Callable[[Connection], object]) -> Callable[[Connection], None]:
        def checked(connection: Connection) -> None:
            with tables.leading(connection, self.epoch):
                work(connection)

        return checked

    def _written(
        self, link: Link, work: Callable[[Connection], None], timeout_s: float = KEEP_S
    ) -> None:
        try:
            link.run(work, timeout_s)
        except tables.LeadershipLost as error:
            self._lose(error)
            raise

    # What its threads do.

    def _soon(self, work: Callable[[Connection], None]) -> None:
        self._later.put(self._in_epoch(work))

    def _do_later(self) -> None:
        while (work := self._later.get()) is not None:
            while True:
                try:
                    self._written(self._late, work)
                    break
                except UnavailableError:
                    if self._ended.wait(_PAUSE_S):
                        return
                except FairshareError as error:
                    _log.error("what is not needed any more stays in the database: %s", error)
                    break

    def _beat(self) -> None:
        def beat(connection: Connection) -> None:
            tables.count_beat(connection, self.epoch)
            if self._unannounced:
                tables.announce(connection, self.epoch, self._unannounced)
                self._unannounced = ""

        while not self._ended.wait(BEAT_S):
            try:
                self._beats.run(beat, COMMIT_S)
                self._problems.pop("beat", None)
            except UnavailableError as error:
                if "beat" not in self._problems:
                    _log.error("%s; what runs goes on, and nothing is decided meanwhile", error)
                self._problems["beat"] = str(error)
            except FairshareError as error:
                self._lose(error)
                return

    def _lose(self, error: FairshareError) -> None:
        on_lost, self.on_lost = self.on_lost, lambda error: None
        on_lost(error)

    def close(self) -> None:
        """Write what is left, lead no longer, and close the connections. Idempotent."""
        if self._ended.is_set():
            return
        detach(self.directory)
        self._later.put(None)
        self._threads[1].join(END_S)
        self._ended.set()
        self._threads[0].join(END_S)
        with contextlib.suppress(FairshareError):
            self._beats.run(lambda connection: tables.release(connection, self.epoch), COMMIT_S)
        for link in (self._commits, self._side, self._late, self._beats):
            link.close(COMMIT_S)

"""How a server comes to lead: it opens the database, keeps its copy up to date while another server
leads, and claims the next epoch when that one is gone.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Self, cast

import msgspec

from fairshare.errors import FairshareError, JournalError
from fairshare.runtime.clock import WallClock
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.shared import SharedState, UnavailableError, attach, detach
from fairshare.server.recovered import Recovered
from fairshare.server.shared import tables
from fairshare.server.shared.copy import Copy, read_marker
from fairshare.server.shared.database import Connection, DatabaseError, Link, link_to, shown
from fairshare.server.shared.leadership import Beat, Holder, Watch, holder_of, this_server
from fairshare.server.shared.leading import LeadingState
from fairshare.server.shared.migration import Moved, move_back, move_in
from fairshare.server.state_directory import open_state_directory

POLL_S: Final = 0.25
FILES_S: Final = 2.0
CLAIM_S: Final = 2.0
FOLLOW_S: Final = 3_600.0
"""How long a copy may take; the first one has everything to fetch."""

_log = logging.getLogger("fairshare.server")


class Candidate:
    """A server of one state directory, whose lock it holds, that does not lead yet.

    `active` is the address of the server that leads; `leader` what is known of it. Everything here
    blocks. Raises FairshareError; UnavailableError while the database does not answer.
    """

    def __init__(self, url: str, directory: Path, takeover_s: float) -> None:
        self._url = url
        self._directory = open_state_directory(directory).path
        self._link = Link(url, "copy")
        self._copy: Copy | None = None
        self._watch = Watch(takeover_s, this_server(self._directory).place)
        self._whole_s = 0.0
        self.leader: Holder | None = None
        self._warm: Recovered | None = None
        self.warnings: list[str] = []

    @classmethod
    def open(cls, url: str, directory: Path, takeover_s: float, *, back: bool = False) -> Self:
        """Open both, or make them; `back`: to make the copy a state of its own."""
        made = cls(url, directory, takeover_s)
        try:
            made.warnings = tables.check(made._link, WallClock().now_ms())
            cluster = made._link.run(tables.cluster, tables.ANSWER_S)
            made._copy = Copy(directory, url, cluster, back=back)
            if cluster is None:
                move_in(made._link, directory, made._copy.journal)
                made._copy.reload()
        except BaseException:
            made.close()
            raise
        return made

    @property
    def active(self) -> str:
        """The address of the server that leads; empty: none is known."""
        return self.leader.address if self.leader is not None else ""

    def begin_again(self) -> None:
        """The database was away."""
        self._watch.begin_again()

    def keep_warm(self, recovered: Callable[[SqliteJournal], Recovered]) -> None:
        """Have the state in memory follow the copy, so that there is little left to read when this
        server leads; `recovered` makes it. Without it a takeover only takes longer."""
        assert self._copy is not None
        try:
            if self._warm is None:
                self._warm = recovered(self._copy.journal)
            self._warm.follow(self._copy.journal)
        except JournalError as error:
            _log.warning("the state is read again when this server leads: %s", error)
            self._warm = None

    def look(self) -> Beat | None:
        """Bring the copy up to date; what was read if this server may lead now."""
        beat = self._link.run(tables.beat, tables.ANSWER_S)
        may = self._watch.may_claim(time.monotonic(), beat)
        self.leader = holder_of(beat)
        whole = time.monotonic() - self._whole_s > FILES_S
        self._follow(whole=whole)
        if whole:
            self._whole_s = time.monotonic()
        return beat if may else None

    def lead(self, beat: Beat) -> LeadingState | None:
        """Lead, if nothing has changed since a look; None: it has. The candidate is closed then."""
        holder = this_server(self._directory)
        with self._claimed(beat) as epoch:
            if epoch is None:
                return None
            # What the former leader recorded until now; it can record nothing more.
            self._follow(whole=True)
            cluster, life, last, number = self._link.run(_position, tables.ANSWER_S)
        self.close()
        leading = LeadingState(self._url, self._directory, epoch, holder, last=last, number=number)
        leading.set_back, leading.warm = cluster.life != life, self._warm
        _log.info("this server leads in epoch %d", epoch)
        return leading

    def move_back(self, beat: Beat) -> Moved | None:
        """Make the copy a state of its own, if nothing has changed since a look; None: it has."""
        assert self._copy is not None
        with self._claimed(beat) as epoch:
            if epoch is None:
                return None
            self._follow(whole=True)
            return move_back(self._link, self._directory, self._copy)

    @contextlib.contextmanager
    def _claimed(self, beat: Beat) -> Iterator[int | None]:
        """Lead in the epoch that is given, which is given up after an error; None: not possible."""
        text = msgspec.json.encode(this_server(self._directory)).decode()
        claiming = self._link.start(lambda one: tables.claim(one, beat, text))
        try:
            epoch = claiming.result(CLAIM_S)
        except TimeoutError:
            with link_to(self._url, "claim") as other:
                other.run(tables.end_blockers, tables.ANSWER_S)
            try:
                epoch = claiming.result(tables.ANSWER_S)
            except TimeoutError:
                raise self._link.unanswered(tables.ANSWER_S) from None
        try:
            yield epoch
        except BaseException:
            if epoch is not None:
                with contextlib.suppress(FairshareError):
                    self._link.run(lambda one: tables.release(one, epoch), tables.ANSWER_S)
            raise

    def _follow(self, *, whole: bool) -> None:
        copy = self._copy
        assert copy is not None
        self._link.run(lambda connection: copy.follow(connection, whole=whole), FOLLOW_S)

    def close(self) -> None:
        """Release the directory, and close the connection. Idempotent."""
        if self._copy is not None:
            self._copy.close()
        self._link.close()


def _position(connection: Connection) -> tuple[tables.Cluster, str, int, int]:
    cluster = tables.cluster(connection)
    assert cluster is not None
    last = tables.bounds(connection)[1]
    return cluster, tables.life(connection), last, tables.last_change(connection)


async def wait_to_lead(
    url: str,
    directory: Path,
    takeover_s: float,
    *,
    standby: bool,
    serve_as_standby: Callable[[Callable[[], str]], contextlib.AbstractAsyncContextManager[None]],
    give_up: Callable[[], None],
    recovered: Callable[[SqliteJournal], Recovered],
    say: Callable[[str], None],
) -> LeadingState:
    """Return when this server leads.

    A `standby` waits for that as long as it takes, and answers meanwhile (`serve_as_standby`); also
    for a database that is away. Else DatabaseError names the server that leads. `give_up` is called
    first if another server leads: it stops what an earlier server has left on this machine.
    `recovered` makes the state that follows meanwhile.
    """
    candidate = await asyncio.to_thread(Candidate.open, url, directory, takeover_s)
    try:
        for warning in candidate.warnings:
            say(f"warning: {warning}")
        began_s = time.monotonic()
        async with contextlib.AsyncExitStack() as opened:
            waiting = away = False
            while True:
                try:
                    beat = await asyncio.to_thread(candidate.look)
                    if beat is not None:
                        leading = await asyncio.to_thread(candidate.lead, beat)
                        if leading is not None:
                            return leading
                    away = False
                except UnavailableError as error:
                    if not standby:
                        raise
                    candidate.begin_again()
                    if not away:
                        _log.warning("this standby waits for the database: %s", error)
                    away = True
                if standby and not waiting:
                    waiting = True
                    if candidate.leader is not None:
                        await asyncio.to_thread(give_up)
                    await opened.enter_async_context(serve_as_standby(lambda: candidate.active))
                    say(f"standing by for {candidate.leader or 'the database'}")
                elif not standby and time.monotonic() - began_s > 2 * takeover_s + 1:
                    raise DatabaseError(
                        f"the state in the database {shown(url)} is in use by"
                        f" {candidate.leader or 'another server'}; stop that server first, or"
                        " start this one with --standby"
                    )
                if standby and candidate.leader is not None and not away:
                    await asyncio.to_thread(candidate.keep_warm, recovered)
                await asyncio.sleep(POLL_S)
    finally:
        await asyncio.to_thread(candidate.close)


class _Visit:
    """What a verb writes for the server that leads from the same state directory."""

    def __init__(self, link: Link, directory: Path) -> None:
        beat = link.run(tables.beat, tables.ANSWER_S)
        holder = holder_of(beat)
        if holder is None or holder.place != this_server(directory).place:
            raise DatabaseError(
                f"{directory} is a copy of the state in the database {shown(link.url)}, and"
                f" {holder or 'no server'} leads: change tokens on the host of the server that"
                " leads"
            )
        self._link, self._epoch = link, beat.epoch

    def keep(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file."""

        def put(connection: Connection) -> None:
            with tables.leading(connection, self._epoch):
                tables.put_file(connection, name, tables.last_change(connection) + 1, pieces)

        self._link.run(put, tables.ANSWER_S)


@contextlib.contextmanager
def visiting(directory: Path) -> Iterator[None]:
    """Let a verb write small files of a state directory, also where that is shared. Raises
    FairshareError."""
    marker = read_marker(directory)
    if marker is None:
        yield
        return
    with link_to(marker.url, "visit") as link:
        attach(directory, cast(SharedState, _Visit(link, directory)))
        try:
            yield
        finally:
            detach(directory)


def refuse_unshared(directory: Path) -> None:
    """Raise DatabaseError if a directory is a copy of a shared state, which a server must not use
    alone."""
    marker = read_marker(directory)
    if marker is not None:
        raise DatabaseError(
            f"{directory} is a copy of the state in the database {shown(marker.url)}: write that"
            " as url below [state] of fairshare.toml, or have `fairshare migrate-state --back`"
            " make the copy a state of its own"
        )

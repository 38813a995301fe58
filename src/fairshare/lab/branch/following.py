"""The process beside a server that has its state at hand (`server/follower.py`):
`python -m fairshare.lab.branch.following STATE_DIRECTORY DESCRIPTOR`.

It begins with the newest state of the journal, and applies each record that the server adds. For
each question it forks: the copy has the state of that moment, answers, and ends. The descriptor is
a socket, over which the server sends a socket for each question; when it is closed, so that no
server is there any more, the process ends with all copies.
"""

import contextlib
import gc
import os
import random
import select
import signal
import socket
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.ended import pack
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.documents.ready import ready
from fairshare.errors import FairshareError, InputError, JournalError
from fairshare.lab.branch.branch import apart
from fairshare.lab.branch.estimates import Estimates, estimate, has_news, submitted
from fairshare.lab.branch.eta import Submissions
from fairshare.lab.branch.ledger import FollowedLedger
from fairshare.lab.branch.lives import RunTimes
from fairshare.lab.branch.proving import prove
from fairshare.lab.branch.smaller import with_smaller
from fairshare.lab.simulate.world import Origin
from fairshare.runtime.collection import collect_rarely, without_collection
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.projections.projections import MANAGER
from fairshare.runtime.recovery import Position, recover
from fairshare.runtime.snapshot import add_family
from fairshare.server.follower import ANSWER_S, READY, Answered, Asked, Estimate, PastReasons, Prove
from fairshare.server.recovered import restore
from fairshare.server.retention import FinishedApplications
from fairshare.server.side_file import SideFileError
from fairshare.server.state_directory import StateDirectory
from fairshare.settings.registry import family_of
from fairshare.wording import cause

POLL_S: Final = 3.0
RECORDS_AT_ONCE: Final = 500
SAMPLE_S: Final = 600.0
SAMPLE_MOST_S: Final = 5.0
MOST_SAMPLED: Final = 10
"""How often, for how long and of how many applications estimates are made that no caller asks for.
"""

LOWEST_PRIORITY: Final = 19
MOST_ASKED: Final = 2**20
"""The bytes of a question."""


class FollowingObserver(Protocol):
    """What follows the records of a server beside the server, behind the state with which the
    process began, in their order. It must not change the state, nor raise; it may write a file of
    its own beside the journal, and says there how far it has come: after a restart the process
    begins with an older state, and records come again. There is one process for each server: it is
    the only writer."""

    def advance(self, now_ms: int) -> None:
        """The next record, which is of this instant, is about to be applied."""

    def observe(self, record: Record) -> None:
        """A record has been applied."""

    def rest(self, now_ms: int) -> None:
        """All that the journal has by now has been applied; called every few seconds."""


MakeObserver = Callable[[Path, Scheduler, Position], FollowingObserver]
"""Makes an observer of a state directory, from the state with which the process begins."""

OBSERVERS: Final[tuple[MakeObserver, ...]] = (FollowedLedger,)
"""To add one, add it here."""


class Following:
    """The state of a server, from its journal."""

    def __init__(self, directory: Path, observers: tuple[MakeObserver, ...] = OBSERVERS) -> None:
        identity = StateDirectory(directory).identity()
        if identity is None:
            raise JournalError(f"{directory} has no cluster.json, which says whose journal this is")
        self._journal = SqliteJournal(directory, read_only=True)
        self.position, parts = restore(self._journal)
        family = family_of(identity.scheduler)
        add_family(family)
        types = identity.types()
        self.manager: ResourceManager = parts.get(MANAGER) or ResourceManager(family.create(types))
        history = parts.get("history") or ContainerHistory()
        self.run_times = RunTimes(self.manager.state, history)
        state = self.manager.state
        self._finished = FinishedApplications(state)
        self._table = Observers()
        self.run_times.subscribe(self._table)
        self._finished.subscribe(self._table)
        self._directory = directory
        self._submissions = Submissions.before(self._journal, self.position.sequence)
        self._submissions.subscribe(self._table)
        self._open: set[tuple[ApplicationId, str]] | None = None
        """Of which applications what is estimated, and has not come yet; None: the file says it."""
        self._sampled_s = time.monotonic()
        scheduler = self.manager.scheduler
        self._others = [make(directory, scheduler, self.position) for make in observers]

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()

    def follow(self) -> None:
        """Apply all that the journal has by now. Raises JournalError."""
        with without_collection():
            records = self._journal.records(self.position.sequence)
            while some := list(islice(records, RECORDS_AT_ONCE)):
                observed = self._observed(some) if self._others else some
                self.position = recover(observed, self.manager.state, self.position)
                self._table.observe(some)
            gc.freeze()  # of what comes, nothing is garbage in cycles
        for application in self._finished.take_settled():
            pack(application)

    def rest(self, now_ms: int) -> None:
        """Let observers write what they have, and fill in what came of estimates."""
        for other in self._others:
            other.rest(now_ms)
        state = self.manager.state
        try:
            if self._open is None:
                with Estimates.read(self._directory, state.epoch_ms) as read:
                    self._open = set() if read is None else read.open_ones()
            resolved = {one for one in self._open if has_news(*one, state)}
            if resolved:
                with Estimates.open(self._directory, state.epoch_ms) as estimates:
                    estimates.fill_in({number for number, _ in resolved}, state)
                self._open -= resolved
        except (sqlite3.Error, SideFileError) as error:
            print(f"estimates: {cause(error)}", file=sys.stderr)

    def estimated(self) -> None:
        """A copy has ended that may have written estimates."""
        self._open = None

    def wants_sample(self) -> bool:
        """Whether estimates are due that no caller has asked for: so that enough of them have an
        outcome by the time that one asks."""
        due = time.monotonic() - self._sampled_s > SAMPLE_S
        if due:
            self._sampled_s = time.monotonic()
        return due and any(not one.over for one in self.manager.state.applications.values())

    def sample(self, now_ms: int) -> None:
        """Estimate some applications, in a copy of the process."""
        live = [one.id for one in self.manager.state.applications.values() if not one.over]
        some = random.Random(now_ms).sample(live, min(MOST_SAMPLED, len(live)))  # noqa: S311
        origin = Origin(Position(self.position.sequence, now_ms), lambda: self.manager)
        parts = origin, self.run_times, self._submissions, some, SAMPLE_MOST_S, self._directory
        estimate(*parts, remember=True)

    def _observed(self, records: list[Record]) -> Iterator[Record]:
        """Some records, each of which is observed when it has been applied."""
        for record in records:
            for other in self._others:
                other.advance(record.now_ms)
            yield record
            for other in self._others:
                other.observe(record)

    def answer(self, asked: Asked) -> object:
        """The answer to a question, to be asked in a copy of the process. Raises InputError."""
        if self.position.sequence < asked.sequence:
            raise InputError("no-answer-yet", "the server's last records are not read yet")
        position = Position(self.position.sequence, max(self.position.now_ms, asked.now_ms))
        origin = Origin(position, lambda: self.manager)
        question = asked.question
        if isinstance(question, PastReasons):
            from fairshare.lab.branch.past_server import reasons_then  # only this needs a server

            return reasons_then(self._directory, question.application, question.at_ms)
        if isinstance(question, Prove):
            waits, run_times = question.application, self.run_times
            return prove(origin, waits, run_times, ANSWER_S, lambda work: apart(work, int | None))
        known = isinstance(question, Estimate)
        number = (
            question.application
            if isinstance(question, Estimate)
            else submitted(self.manager, position.now_ms, question.submission)
        )
        parts = origin, self.run_times, self._submissions, [number], ANSWER_S, self._directory
        return with_smaller(origin, number, estimate(*parts, remember=known)[0])


def _answer_and_exit(following: Following, asking: socket.socket) -> None:
    """The life of a copy."""
    status = 1
    try:
        signal.alarm(round(ANSWER_S) + 5)
        gc.freeze()  # a collection would write to the pages of all objects
        content = b""
        while not content.endswith(b"\n") and len(content) < MOST_ASKED:
            if not (more := asking.recv(65_536)):
                return
            content += more
        try:
            found = following.answer(msgspec.json.decode(content, type=ready(Asked)))
            answered = Answered(msgspec.Raw(msgspec.json.encode(found)))
        except InputError as error:
            answered = Answered(code=error.code, reason=str(error))
        except MemoryError:
            answered = Answered(code="no-answer", reason="an answer needs more memory than allowed")
        asking.sendall(msgspec.json.encode(answered))
        status = 0
    except OSError:  # the server does not wait any more
        pass
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(status)


def _sample_and_exit(following: Following) -> None:
    """The life of a copy that no caller asks."""
    try:
        signal.alarm(round(SAMPLE_MOST_S) + 5)
        os.nice(LOWEST_PRIORITY)
        gc.freeze()
        following.sample(time.time_ns() // 1_000_000)
    except InputError:  # this cluster is too large for it
        pass
    except BaseException:
        traceback.print_exc(file=sys.stderr)
    finally:
        os._exit(0)


def _serve(following: Following, control: socket.socket) -> None:
    following.follow()
    control.sendall(READY)
    while True:
        readable, _, _ = select.select([control], [], [], POLL_S)
        following.follow()
        following.rest(time.time_ns() // 1_000_000)
        while _reaped():
            following.estimated()
        if following.wants_sample() and os.fork() == 0:
            control.close()
            _sample_and_exit(following)
        if not readable:
            continue
        asked, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not asked:
            return
        for descriptor in descriptors:
            with socket.socket(fileno=descriptor) as asking:
                if os.fork() == 0:
                    control.close()
                    _answer_and_exit(following, asking)


def _reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def main() -> None:
    """Follow until the server ends."""
    directory, descriptor = Path(sys.argv[1]), int(sys.argv[2])
    collect_rarely()
    with socket.socket(fileno=descriptor) as control:
        try:
            with contextlib.closing(Following(directory)) as following:
                _serve(following, control)
        except (FairshareError, OSError) as error:
            sys.exit(cause(error))
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)  # the copies, too


if __name__ == "__main__":
    main()

"""The distinction between successive lives of a cluster in the same state directory.

A journal can be lost, or replaced by a backup. Its numbers then begin again, while folders and
processes of containers with the same numbers still exist, and users know their names. Containers
that the journal does not know must never be mistaken for those that it does; and no name of an
application or a container is given away twice, whatever copy of the journal is put in its place.
"""

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from fairshare.core.model.events import ContainerAllocated, ExitCode, NumbersContinued
from fairshare.core.model.identifiers import (
    NUMBER_MASK,
    NUMBERS_AHEAD,
    ContainerId,
    application_name,
    application_of,
    container_name,
    parse_application,
    parse_container,
)
from fairshare.core.model.inputs import ContainerExited, ContinueNumbers, Input
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.engines.protocol import LONG_AGO, ChangesLimits, HostEngine, Launched
from fairshare.errors import FairshareError
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.orders import limits_in_force
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.recovery import Position, reconcile
from fairshare.runtime.shared import SharedState
from fairshare.server.service import Service
from fairshare.this_machine import boot_id

NUMBERS_FILE: Final = "numbers"
APPLICATIONS_AT_ONCE: Final = 100
CONTAINERS_AT_ONCE: Final = 1_000
"""How many numbers are noted as given away at once, which costs a wait for the disk."""

UNSEEN_CONTAINERS: Final = 1_000_000
"""How many containers of one attempt a lost journal may have had that nothing here says of."""

SET_BACK: Final = (
    "The journal was replaced by a copy, which does not say what became of this container."
)

_SIZE = 512  # one sector: the file is overwritten in place, also when the disk is full
_DIGITS = 20


def is_new(journal: SqliteJournal) -> bool:
    """Whether a journal is empty; raises JournalError."""
    return not journal.snapshots() and next(journal.records(), None) is None


def launches(state: State, history: ContainerHistory, behind: int) -> Launched:
    """When the state launched a container, by its names: None if it never did.

    `behind` is the first number that the journal had not given away when this life began.
    """

    def launched_ms(application: str, container: str) -> int | None:
        identifier = parse_container(container)
        if identifier is None:
            return None
        number = application_of(identifier)
        names = application_name(state.epoch_ms, number), container_name(state.epoch_ms, identifier)
        if names != (application, container) or number >= behind:
            return None
        record = history.container(identifier)
        if record is not None:
            return record.launched_ms
        # Its outcome is forgotten, or its whole application; the files are deleted with it.
        known = number in state.applications or bool(history.application(number).containers)
        return None if known and history.is_complete else LONG_AGO

    return launched_ms


class _Noted(msgspec.Struct):
    """What `GivenNumbers` writes down. `boot` is the boot of the machine in which the position is
    exact; empty: the server closed it in order."""

    epoch_ms: int
    boot: str
    first_container: int = 1
    application: int = APPLICATIONS_AT_ONCE
    container: int = CONTAINERS_AT_ONCE


class GivenNumbers:
    """The numbers that this state directory has given away, in a file beside the journal that no
    copy of it contains.

    The file begins with the number of the last record, which is written without a wait after each
    commit: it is exact unless the machine failed. Behind it are bounds of all numbers of
    applications and containers that were ever given away here, which are on disk before a number
    beyond them is used. A journal was set back if it ends before that record, or if it does not
    know when numbers were continued last. After a failure of the machine this is not known, and
    numbers are continued, too. A journal that is `shared` goes on elsewhere meanwhile: whether it
    was set back its database says.

    Raises FairshareError if the file cannot be written.
    """

    def __init__(self, directory: Path, shared: SharedState | None = None) -> None:
        self._path = directory / NUMBERS_FILE
        self._shared = shared
        self._boot = boot_id()
        self._sequence = 0
        self._noted: _Noted | None = None
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.open(self._path, flags, 0o600)
            content = os.pread(self._file, _SIZE, 0)
            try:
                self._sequence = int(content[:_DIGITS])
                self._noted = msgspec.json.decode(content[_DIGITS:].strip(), type=_Noted)
            except ValueError:  # a new file, or a damaged one
                self._sequence, self._noted = 0, None
        except OSError as error:
            raise self._trouble(error) from error

    def begin(
        self,
        state: State,
        position: Position,
        epoch_ms: int,
        containers: Path,
    ) -> Iterator[Input]:
        """The inputs with which a server begins behind all numbers that were ever given away; none
        if the journal goes on where it ended.

        To be called once, and the inputs to be fed before all others.
        """
        noted = self._noted
        last = max((*_numbers_of_folders(containers, epoch_ms), state.next_application - 1))
        if position.sequence == 0:
            self._noted = noted or _Noted(epoch_ms, "")
            self._noted.epoch_ms, self._noted.first_container = epoch_ms, state.first_container
            self._note(0)
            return
        if noted is None:  # nothing says what this journal gave away after its last record
            set_back = True
            noted = _Noted(
                epoch_ms,
                "",
                state.first_container,
                last + NUMBERS_AHEAD,
                _highest(state) + UNSEEN_CONTAINERS,
            )
        else:
            set_back = (
                noted.boot not in ("", self._boot)
                or noted.epoch_ms != epoch_ms
                or noted.first_container != state.first_container
                or position.sequence < self._sequence
            )
        if self._shared is not None:
            set_back = self._shared.set_back
            noted.application = max(noted.application, state.next_application)
            noted.container = max(noted.container, _highest(state))
            noted.first_container = state.first_container
        self._noted = noted
        noted.epoch_ms = epoch_ms
        if set_back or last >= state.next_application:
            # Written with the record's event: a crash in between must not hide the set-back.
            yield ContinueNumbers(max(last, noted.application), noted.container + 1)
            for application in state.applications.values():
                attempt = application.attempt
                for container in attempt.containers:
                    if container not in attempt.launched and container not in state.running:
                        yield ContainerExited(container, ExitCode.ABORTED, SET_BACK)
            return
        self._note(position.sequence)

    def subscribe(self, observers: Observers, state: State) -> None:
        """Note the numbers that the records of a commit gave away: before any order, and any
        answer."""
        changed = False

        def allocated(record: Record, event: ContainerAllocated) -> None:
            nonlocal changed
            number, noted = event.container & NUMBER_MASK, self._noted
            if noted is not None and number > noted.container:
                noted.container, changed = _beyond(number, CONTAINERS_AT_ONCE), True

        def continued(record: Record, event: NumbersContinued) -> None:
            nonlocal changed
            if self._noted is not None:
                self._noted.first_container, changed = event.first_container, True

        def committed(records: Sequence[Record]) -> None:
            nonlocal changed
            noted, sequence = self._noted, records[-1].sequence
            assert noted is not None
            if state.next_application > noted.application:
                noted.application = _beyond(state.next_application, APPLICATIONS_AT_ONCE)
                changed = True
            if changed:
                changed = False
                self._note(sequence)
                return
            self._sequence = sequence
            with contextlib.suppress(OSError):  # on some disks only if they are full
                os.pwrite(self._file, b"%*d" % (_DIGITS, sequence), 0)

        observers.events(allocated, ContainerAllocated)
        observers.events(continued, NumbersContinued)
        observers.commits(committed)

    def close(self, *, in_order: bool) -> None:
        """Close the file. `in_order`: what is written is what the journal has. Idempotent."""
        if self._file < 0:
            return
        if in_order and self._noted is not None:
            self._boot = ""
            self._note(self._sequence)
        os.close(self._file)
        self._file = -1

    def _note(self, sequence: int) -> None:
        noted = self._noted
        assert noted is not None
        noted.boot, self._sequence = self._boot, sequence
        content = b"%*d " % (_DIGITS, sequence) + msgspec.json.encode(noted)
        try:
            os.pwrite(self._file, content.ljust(_SIZE - 1) + b"\n", 0)
            os.fsync(self._file)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> FairshareError:
        return FairshareError(f"cannot write {self._path}: {error.strerror}")


def _beyond(number: int, at_once: int) -> int:
    return (number // at_once + 1) * at_once


def _numbers_of_folders(containers: Path, epoch_ms: int) -> Iterator[int]:
    if containers.is_dir():
        for folder in containers.iterdir():
            number = parse_application(folder.name)
            if number is not None and folder.name == application_name(epoch_ms, number):
                yield number


def _highest(state: State) -> int:
    """A bound of the numbers of all containers that the state may have named."""
    attempts = (application.attempt for application in state.applications.values())
    return max((attempt.next_container for attempt in attempts), default=1)


def unreported_exits(
    launched: Iterable[ContainerId],
    running: frozenset[ContainerId],
    exit_of: Callable[[ContainerId], ContainerExited | None],
) -> Iterator[Input]:
    """Exits that the engine reported to an earlier server, which died before recording them.

    Raises EngineError if a file cannot be read now.
    """
    for container in launched:
        if container in running:
            continue
        exited = exit_of(container)
        if exited is not None:
            yield exited


async def adopt(
    engine: HostEngine,
    service: Service,
    launched: Launched,
    live: Callable[[], Iterable[ContainerId]],
    exit_of: Callable[[ContainerId], ContainerExited | None],
) -> None:
    """Start an engine, and feed the difference between the state and what it finds.

    Nodes that it does not offer are lost, containers that do not run have ended. Raises
    EngineError.
    """
    engine.start(service.report, launched=launched, failed=service.fail_soon)
    # Running containers are listed before pending reports are processed: a container that ends in
    # between is in both, and one that is in neither never ran.
    running = engine.running()
    await asyncio.sleep(0)
    service.record(unreported_exits(live(), running, exit_of))
    findings = reconcile(service.state, engine.nodes(), running)
    service.record(findings.inputs)
    for container in findings.stops:
        engine.stop(container)
    if isinstance(engine, ChangesLimits):
        for order in limits_in_force(service.state):
            engine.limit(order.container, order.time_limit_ms)


def await_nodes(engine: HostEngine, service: Service) -> None:
    """Start an engine whose nodes register by themselves.

    The state keeps its nodes with all their containers, and nothing is allocated on a node before
    it has returned (`reconcile_node`). The caller that registers nodes lets absent ones expire.
    """
    engine.start(service.report, failed=service.fail_soon)
    for node in service.state.nodes:
        service.set_silent(node)

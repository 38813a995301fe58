"""Owns the distinction between successive lives of a cluster in the same state directory.

A journal can be lost, or replaced by a backup. Its numbers then begin again, while folders and
processes of containers with the same numbers still exist. Containers that the journal does not know
must never be mistaken for those that it does.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from fairshare.engines.protocol import LONG_AGO, Launched
from fairshare.journal.sqlite import SqliteJournal
from fairshare.model.identifiers import (
    ContainerId,
    application_name,
    application_of,
    container_name,
    parse_application,
    parse_container,
)
from fairshare.model.inputs import ContainerExited, Input, ReserveApplication
from fairshare.projections.container_history import ContainerHistory
from fairshare.schedulers.protocol import State


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


def numbers_given_away(containers: Path, state: State) -> Iterator[Input]:
    """The input that makes the next application's number follow all that already have folders.

    So ids that users saw before a backup replaced the journal are not reused.
    """
    highest = 0
    if containers.is_dir():
        for folder in containers.iterdir():
            number = parse_application(folder.name)
            if number is not None and folder.name == application_name(state.epoch_ms, number):
                highest = max(highest, number)
    if highest >= state.next_application:
        yield ReserveApplication(highest)


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

"""State that a directory shares with servers of other hosts: what is written there goes into their
database first (`server/shared`). Which directories do is known here, since many parts write files
there; a directory has one writer, which holds its lock.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from fairshare.errors import FairshareError, JournalError

Row = tuple[Any, ...]
Statement = tuple[str, Sequence[Any]]
"""An SQL statement, and the parameters of each of its executions."""


class UnavailableError(JournalError):
    """Nothing can be recorded now: the disk is full, or the database does not answer. The call can
    be repeated."""


class SharedState(Protocol):
    """What a server that leads writes down for the next one.

    `record`, `change` and `keep` return when it is durable there, and raise UnavailableError if it
    may not be, JournalError if another server leads now. The others return at once and happen in
    this order.
    """

    @property
    def problem(self) -> str:
        """Why nothing can be recorded now; empty: it can."""

    set_back: bool
    """Whether the database may have lost records: it is not the one of the last start."""
    on_lost: Callable[[FairshareError], None]
    """Is called, in some thread, when another server leads."""

    def record(self, rows: Sequence[Row]) -> None:
        """Add rows of records (sequence, now_ms, body, checksum), all or none. After an
        UnavailableError the same rows must be given again."""

    def change(self, part: str, statements: Sequence[Statement]) -> int:
        """Add what changed in a side file; the number of the change."""

    def doubt(self, part: str) -> None:
        """A side file may differ from what its changes say: its content is written down before the
        next change."""

    def keep(self, name: str, pieces: Iterable[bytes]) -> None:
        """Keep a file with this content."""

    def save(self, row: Row) -> None:
        """Add a snapshot (sequence, now_ms, form, body, checksum)."""

    def delete_up_to(self, end: int) -> None:
        """Delete the records up to a number, and the snapshots before it."""

    def drop(self, name: str) -> None:
        """Delete a file."""

    def take_warm(self) -> Any:
        """What was recovered while this server was a standby (`server.recovered.Recovered`); None:
        nothing was, or it was taken."""

    def announce(self, address: str) -> None:
        """Let other servers know where this one listens."""

    def confirm(self) -> None:
        """The state goes on behind all numbers that records which were lost may have had."""


class Shared(NamedTuple):
    """The shared state that a path belongs to, and the path's name there."""

    state: SharedState
    name: str


_attached: dict[Path, SharedState] = {}


def attach(directory: Path, state: SharedState) -> None:
    """From now on this directory is shared."""
    _attached[directory.absolute()] = state


def detach(directory: Path) -> None:
    """It no longer is. Idempotent."""
    _attached.pop(directory.absolute(), None)


def shared_of(path: Path) -> Shared | None:
    """The shared state of a directory that contains a path, or is it; None: there is none."""
    if not _attached:
        return None
    path = path.absolute()
    for directory in (path, *path.parents):
        if (state := _attached.get(directory)) is not None:
            return Shared(state, path.relative_to(directory).as_posix())
    return None

"""Ended applications in few bytes: a server remembers thousands, and reads nearly none of them.

What is rarely read of one (its submission, its tasks, its last attempt) is packed, and opened for
each reader; before it are the few things that lists and metrics read of all. It is the same to
readers; only its memory is another.
"""

from collections.abc import Set
from copy import copy
from functools import lru_cache
from typing import Any

import msgspec

from fairshare.core.model.applications import Application, Attempt, Brief
from fairshare.core.model.events import ContainerAllocated, MasterUnregistered
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.nothing import NOTHING
from fairshare.core.model.packing import Pattern
from fairshare.core.model.tasks import NO_TASKS, GroupProgress, TaskBoard
from fairshare.core.model.work import Command, TaskGroup

OPENED = 4
"""So many stay open: readers look at an application several times in a row."""

MOST_TASKS = 1_000
"""An application with more stays as it is: to open it would take longer than a reader should wait.
"""


class _Group(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The fields of a `GroupProgress` of which nothing runs."""

    waiting: list[int]
    results: dict[int, ContainerId]
    failed: dict[int, int]
    killed: Set[int]
    started: bool
    unstartable: Set[int]
    paused: dict[int, int]
    pauses: dict[int, int]


class _Packed(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What is packed. `added` are the groups of tasks that the submission does not have, `types`
    is the number of resource types, and the rest that of an attempt which holds and asks nothing.
    """

    submission: SubmitApplication
    added: list[TaskGroup]
    groups: list[_Group]
    types: int
    number: int
    started_ms: int
    next_container: int
    master: ContainerId | None
    unregistered: MasterUnregistered | None
    blacklist: list[str]


_MANAGED, _UNMANAGED = 1, 2
"""Flags in the first byte; the length of the brief is in the next four, and the rest follows it."""
_BRIEF = 5

_encode = msgspec.msgpack.Encoder().encode
_decode_brief = msgspec.msgpack.Decoder(Brief).decode
_decode = msgspec.msgpack.Decoder(_Packed).decode
_TYPICAL = _Packed(
    SubmitApplication(
        "",
        queue="default",
        name="task",
        tasks=(TaskGroup("task", 1, (1024, 1), Command(("/bin/sh", "-c", ""), environment={})),),
    ),
    [],
    [_Group([], {0: 1 << 40 | 1 << 24 | 1}, {}, NO_TASKS, True, NO_TASKS, {}, {})],
    types=2,
    number=1,
    started_ms=1 << 40,
    next_container=2,
    master=None,
    unregistered=None,
    blacklist=[],
)
_PATTERN = Pattern(_encode(_TYPICAL))


class EndedApplication(Application):
    """An application whose fields `submission`, `tasks` and `attempt` are packed."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """A field that is packed; not to be changed."""
        if name == "attempt":
            return _attempt(self)
        if name == "submission":
            return _opened(self.packed).submission
        if name == "tasks":
            return _board(self.packed)
        raise AttributeError(name)

    @property
    def active(self) -> bool:
        """It has ended."""
        return False

    @property
    def managed(self) -> bool:
        """Whether its master ran in a container of the cluster."""
        return bool(self.packed[0] & _MANAGED)

    @property
    def unmanaged(self) -> bool:
        """Whether its master ran elsewhere."""
        return bool(self.packed[0] & _UNMANAGED)

    @property
    def brief(self) -> Brief:
        """What was kept beside."""
        return _brief(self.packed)

    @property
    def containers(self) -> dict[ContainerId, ContainerAllocated]:
        """None, which needs no opening."""
        return {}

    def let_go(self) -> None:
        """It leads nowhere."""

    def open(self) -> Application:
        """The application as it was before it was packed; a new one."""
        application = object.__new__(Application)
        for name in Application.__slots__:
            if name != "packed":
                setattr(application, name, getattr(self, name))
        application.attempt = copy(application.attempt)
        application.attempt.application = application
        return application


def pack(application: Application) -> bool:
    """Pack an application, if nothing more can happen to it; returns whether it is packed now."""
    if isinstance(application, EndedApplication):
        return True
    attempt, board = application.attempt, application.tasks
    if not application.over or not _is_idle(attempt) or board.assigned:
        return False
    if sum(progress.spec.count for progress in board.groups) > MOST_TASKS:
        return False
    submission = application.submission
    groups = [_packed_group(progress) for progress in board.groups]
    added = [progress.spec for progress in board.groups[len(submission.tasks) :]]
    packed = _Packed(
        submission,
        added if groups else [],
        groups,
        len(attempt.used),
        attempt.number,
        attempt.started_ms,
        attempt.next_container,
        attempt.master,
        attempt.unregistered,
        list(attempt.blacklist),
    )
    flags = _MANAGED * application.managed | _UNMANAGED * application.unmanaged
    brief = _encode(application.brief)
    head = bytes((flags,)) + len(brief).to_bytes(_BRIEF - 1) + brief
    application.packed = head + _PATTERN.pack(_encode(packed), brief)
    application.__class__ = EndedApplication  # in place, as others refer to it
    del application.attempt, application.tasks, application.submission
    return True


def _is_idle(attempt: Attempt) -> bool:
    """Whether it has left its queue, and has nothing that can change."""
    if attempt.matters_ended or attempt.active or any(attempt.used):
        return False
    tables = attempt.containers, attempt.launched, attempt.to_preempt, attempt.reservations
    return not (any(tables) or attempt.asks.keys)


def _packed_group(progress: GroupProgress) -> _Group:
    return _Group(
        list(progress.waiting),
        progress.results,
        progress.failed,
        progress.killed,
        progress.started,
        progress.unstartable,
        progress.paused,
        progress.pauses,
    )


def _end_of_brief(packed: bytes) -> int:
    return _BRIEF + int.from_bytes(packed[1:_BRIEF])


@lru_cache(OPENED)
def _brief(packed: bytes) -> Brief:
    return _decode_brief(packed[_BRIEF : _end_of_brief(packed)])


@lru_cache(OPENED)
def _opened(packed: bytes) -> _Packed:
    end = _end_of_brief(packed)
    return _decode(_PATTERN.unpack(packed[end:], packed[_BRIEF:end]))


@lru_cache(OPENED)
def _board(packed: bytes) -> TaskBoard:
    found, board = _opened(packed), TaskBoard()
    if found.groups:
        board.add((*found.submission.tasks, *found.added))
    for progress, group in zip(board.groups, found.groups, strict=True):
        progress.waiting = group.waiting
        progress.results = group.results
        progress.failed = group.failed
        progress.killed = group.killed or NO_TASKS
        progress.started = group.started
        progress.unstartable = group.unstartable or NO_TASKS
        progress.paused = group.paused or NOTHING
        progress.pauses = group.pauses or NOTHING
    board.derive()
    return board


@lru_cache(OPENED)
def _attempt(application: EndedApplication) -> Attempt:
    """Its last attempt."""
    packed = _opened(application.packed)
    attempt = Attempt(application, packed.number, packed.types)
    submitted_ms = application.submitted_ms  # nearly always the same; then one object for both
    attempt.started_ms = submitted_ms if packed.started_ms == submitted_ms else packed.started_ms
    attempt.next_container = packed.next_container
    attempt.master = packed.master
    attempt.unregistered = packed.unregistered
    attempt.blacklist = dict.fromkeys(packed.blacklist) or NOTHING
    return attempt

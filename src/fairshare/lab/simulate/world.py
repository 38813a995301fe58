"""Owns a world: what others did, apart from what was decided. A simulation takes it and settings.

A world has inputs with their instants and order, and the life of each piece of work: when it
starts, how long it runs, how it ends. Knows no file and no scheduler.
"""

from collections.abc import Callable
from typing import Final

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import Input
from fairshare.core.model.resources import ResourceTypes
from fairshare.runtime.recovery import Position

Task = tuple[ApplicationId, int, int]
"""A task: its application, the number of its group, and its own in the group."""

Fact = tuple[str, ContainerId | ApplicationId]
"""What an input of a driver follows: `("granted", container)`, `("started", container)`,
`("ended", container)`, or `("registered", application)`."""

GRANTED: Final = "granted"
STARTED: Final = "started"
ENDED: Final = "ended"
REGISTERED: Final = "registered"


class Life(msgspec.Struct, frozen=True, gc=False):
    """The life of one container that was launched: `start_ms` after that it runs (None: it never
    did), and `run_ms` later it exits with `exit_code`.

    With `holds_room` the end of one that is stopped is reported `stop_ms` later. `censored`: it was
    stopped before its own end, so that `run_ms` is an estimate.
    """

    start_ms: int | None
    run_ms: int
    exit_code: int = 0
    diagnostics: str = ""
    peak_memory_mb: int = 0
    cpu_ms: int = 0
    cannot_start: bool = False
    holds_room: bool = False
    stop_ms: int | None = None
    gpus: tuple[str, ...] = ()
    censored: bool = False


class Entry(msgspec.Struct, frozen=True):
    """One input of a world, at an instant, as the `number`-th record of its history.

    Entries of one instant and one `turn` are decided together. An input of a driver comes
    `delay_ms` after all facts in `after`; that is `at_ms` as long as nothing is decided otherwise.
    """

    at_ms: int
    number: int
    turn: int
    input: Input
    after: tuple[Fact, ...] = ()
    delay_ms: int = 0


class Grant(msgspec.Struct, frozen=True, gc=False):
    """A container that was granted."""

    container: ContainerId
    node: str
    at_ms: int


class Origin(msgspec.Struct, frozen=True):
    """The state with which a world begins that has a past, and after which record.

    Each call of `manager` makes a new one in that state.
    """

    position: Position
    manager: Callable[[], ResourceManager]


class Pace(msgspec.Struct, frozen=True):
    """When a server did anything, ascending: each record, and what it did without one.

    In `left` are the turns that ended before all nodes had beaten: by their instant after how many
    beats (0: inputs were only fed), and the last turn of inputs that came before, 0 if none did. At
    the instants of `updates` shares were updated without an effect.
    """

    wakes: tuple[int, ...]
    left: dict[int, tuple[int, int]]
    updates: tuple[int, ...]


class World(msgspec.Struct, frozen=True):
    """A history without its decisions; and its grants, which a simulation can be held against.

    `origin` is None if it begins with nothing. What runs at an origin has what is left of its life
    in `begun`: `start_ms` and `run_ms` count from there. `facts` had happened by then.

    `lives` are those of the tasks, in the order of their launches; `own_lives` those of masters and
    of what masters launched, by container. `censored` counts lives that were estimated, `drivers`
    the applications whose masters are simulated as they behaved.
    """

    scheduler: str
    types: ResourceTypes
    epoch_ms: int
    begin_ms: int
    end_ms: int
    entries: tuple[Entry, ...]
    lives: dict[Task, tuple[Life, ...]]
    own_lives: dict[ContainerId, Life]
    unordered: frozenset[ContainerId]
    """Containers that ran without an order of the server: their masters started them."""
    starts: dict[ContainerId, tuple[int, int]]
    """Of each container that started the number and the turn of the record."""
    ends: dict[ContainerId, tuple[int, int]]
    """Of each container that ended by itself the number and the turn of the record."""
    typical_ms: dict[tuple[ApplicationId, int], int]
    """The median run time of each group of tasks; of those that never ran that of their user, or
    of all."""
    grants: tuple[Grant, ...]
    pauses: tuple[tuple[int, int], ...] = ()
    """Spans of time in which no server ran, and nothing was decided."""
    decided_ms: int | None = None
    """When the runtime first did something by itself; a server takes stock before that."""
    timers: tuple[int, ...] = ()
    """When timers of the scheduler fired: on a real machine a little later than they wanted."""
    pace: Pace | None = None
    """How the machine ran; None in journals of releases that did not record it."""
    censored: int = 0
    drivers: int = 0
    nodes: int = 0
    origin: Origin | None = None
    begun: dict[ContainerId, Life] = {}
    facts: tuple[Fact, ...] = ()

"""A world: what others did, apart from what was decided. A simulation takes it and settings.

A world has inputs with their instants and order, and the life of each piece of work: when it
starts, how long it runs, how it ends. Its engine gives a launch the life of the same launch of the
same task; one more launch than in history gets the last life that ended by itself. What masters
launched, and masters, are found by their container.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerLaunched
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.core.model.resources import ResourceTypes
from fairshare.engines.protocol import LaunchOrder, NodeOffer, TaskLaunch
from fairshare.runtime.recovery import Position
from fairshare.runtime.runtime import RuntimeMemory

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
    timed_out: bool = False
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

    Each call of `manager` makes a new one in that state. `memory` is what the runtime knew there;
    None: it begins as a server does.
    """

    position: Position
    manager: Callable[[], ResourceManager]
    memory: RuntimeMemory | None = None


class Pace(msgspec.Struct, frozen=True):
    """When a server did anything, ascending: each record, and what it did without one.

    In `left` are the turns that ended before all nodes had beaten: by their instant after how many
    beats (0: inputs were only fed), and the last turn of inputs that came before, 0 if none did.
    `bare` are turns without inputs, or with such of which nothing came, where they do not follow
    from the rest: the instant, the number of the first record from then on, that of the turn, and
    whether it began with an update of shares. `ends` are the number and the instant of the last
    record of each server but the last one. `fired` has the instants of each timer of
    `runtime/pace.py`, ascending; of those between two records that had no effect only the last one.
    Records of older releases have none: they are known from `fired_since_ms` on.
    """

    wakes: tuple[int, ...]
    left: dict[int, tuple[int, int]]
    bare: tuple[tuple[int, int, int, bool], ...]
    ends: tuple[tuple[int, int], ...]
    fired: dict[int, tuple[int, ...]]
    fired_since_ms: float


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
    queues: dict[ApplicationId, str] = {}
    """The queue into which each application was taken, or for which it was refused."""


Schedule = Callable[[int, Input], int]
"""Delivers an input after so many milliseconds; returns the number of the timer."""


class WorldEngine:
    """Starts and ends containers of a world by timers of its owner."""

    def __init__(self, world: World, after: Schedule, cancel: Callable[[int], None]) -> None:
        self._world = world
        self._after = after
        self._cancel = cancel
        self._tasks: dict[ContainerId, Task] = {}
        self._launches: Counter[Task] = Counter()
        self._live: dict[ContainerId, tuple[Life, list[int]]] = {}

    def observe_launch(self, event: ContainerLaunched) -> None:
        """Remember the task of a container, before it is launched."""
        if event.group >= 0:
            task = (application_of(event.container), event.group, event.task)
            self._tasks[event.container] = task

    def nodes(self) -> tuple[NodeOffer, ...]:
        """None: they are inputs of the world."""
        return ()

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        """Nothing to start."""

    def launch(self, order: LaunchOrder) -> None:
        """Let a container live."""
        self.begin(order.container)

    def pretend(self, launch: TaskLaunch) -> None:
        """Let a container live."""
        self.begin(launch.container)

    def begin(self, container: ContainerId) -> None:
        """Let a container live, unless it does."""
        life = self._life(container)
        if life is not None and container not in self._live:
            self.resume(container, life)

    def resume(self, container: ContainerId, life: Life) -> None:
        """Let a container live on from now."""
        timers = []
        if life.start_ms is not None:
            started = ContainerStarted(container, life.holds_room, life.gpus)
            timers.append(self._after(life.start_ms, started))
        exited = ContainerExited(
            container,
            life.exit_code,
            life.diagnostics,
            life.peak_memory_mb,
            life.cpu_ms,
            life.cannot_start,
            timed_out=life.timed_out,
        )
        timers.append(self._after((life.start_ms or 0) + life.run_ms, exited))
        self._live[container] = (life, timers)

    def begin_granted(self, container: ContainerId) -> None:
        """Let a container live that its master started by itself."""
        if container in self._world.unordered:
            self.begin(container)

    def stop(self, container: ContainerId) -> None:
        """End a container; one that holds its room reports its end later."""
        found = self._live.pop(container, None)
        if found is None:
            return
        life, timers = found
        for timer in timers:
            self._cancel(timer)
        if life.holds_room and life.stop_ms is not None:
            self._after(life.stop_ms, ContainerExited(container, 143))

    def ended(self, container: ContainerId) -> None:
        """Called when the end of a container is delivered."""
        self._live.pop(container, None)

    def running(self) -> frozenset[ContainerId]:
        """The containers that live."""
        return frozenset(self._live)

    def close(self, *, stop_containers: bool) -> None:
        """Nothing to close."""

    def _life(self, container: ContainerId) -> Life | None:
        task = self._tasks.pop(container, None)
        if task is None:
            return self._world.own_lives.get(container)
        lives = self._world.lives.get(task, ())
        number = self._launches[task]
        self._launches[task] += 1
        if number < len(lives):
            return lives[number]
        natural = [life for life in lives if not life.censored and life.exit_code == 0]
        if natural:
            return natural[-1]
        typical_ms = self._world.typical_ms.get(task[:2], 0)
        return (
            msgspec.structs.replace(lives[-1], run_ms=typical_ms) if lives else Life(0, typical_ms)
        )

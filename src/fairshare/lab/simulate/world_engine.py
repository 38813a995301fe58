"""Owns the engine of a world: containers live as they did, or as it is estimated.

A launch gets the life of the same launch of the same task; one more launch than in history gets the
last life that ended by itself. What masters launched, and masters, are found by their container.
Knows no clock.
"""

from collections import Counter
from collections.abc import Callable

import msgspec

from fairshare.core.model.events import ContainerLaunched
from fairshare.core.model.identifiers import ContainerId, application_of
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.protocol import LaunchOrder, NodeOffer, TaskLaunch
from fairshare.lab.simulate.world import Life, Task, World

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

"""The simulated engine, in which a container "runs" until a timer of the caller expires.

Instead of starting a process, it obtains the container's duration and exit code and sets a timer.
"""

from collections.abc import Callable
from typing import Protocol

import msgspec

from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.engines.protocol import LaunchOrder, NodeOffer, TaskLaunch
from fairshare.wording import ran_too_long

TIME_LIMIT_EXIT = 143
"""128 + SIGTERM: the exit code of a container that exceeded its time limit."""


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """The duration and the exit code of a container."""

    duration_ms: int
    exit_code: int = 0


class Timers(Protocol):
    """Delivers inputs at later instants."""

    def after(self, delay_ms: int, input_: Input) -> int:
        """Deliver an input after `delay_ms`; returns the timer's number."""

    def cancel(self, timer: int) -> None:
        """Cancel a delivery; an expired timer is ignored."""


class SimulatedEngine:
    """Answers each launch with ContainerStarted at once, and ContainerExited after its duration.

    `outcome` is called once per launch. `start_delay_ms` is the duration of a start.
    """

    def __init__(
        self,
        timers: Timers,
        outcome: Callable[[TaskLaunch], Outcome],
        *,
        offers: tuple[NodeOffer, ...] = (),
        start_delay_ms: int = 0,
    ) -> None:
        self._timers = timers
        self._outcome = outcome
        self._offers = offers
        self._start_delay_ms = start_delay_ms
        self._report: Callable[[Input], None] = self._not_started
        self._exits: dict[ContainerId, int] = {}

    def nodes(self) -> tuple[NodeOffer, ...]:
        """The nodes passed to the constructor."""
        return self._offers

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        self._report = report

    def launch(self, order: LaunchOrder) -> None:
        """Run a container that is not known to run a task."""
        self.pretend(TaskLaunch(order.container, time_limit_ms=order.time_limit_ms))

    def pretend(self, launch: TaskLaunch) -> None:
        """Obtain the container's outcome, and set its timers."""
        container = launch.container
        if container in self._exits:
            return
        outcome = self._outcome(launch)
        duration_ms, exited = outcome.duration_ms, ContainerExited(container, outcome.exit_code)
        limit_ms = launch.time_limit_ms
        if limit_ms is not None and duration_ms > limit_ms:
            duration_ms = limit_ms
            exited = ContainerExited(
                container,
                TIME_LIMIT_EXIT,
                ran_too_long(limit_ms),
            )
        delay_ms = self._start_delay_ms
        if delay_ms:
            self._timers.after(delay_ms, ContainerStarted(container))
        else:
            self._report(ContainerStarted(container))
        self._exits[container] = self._timers.after(delay_ms + duration_ms, exited)

    def stop(self, container: ContainerId) -> None:
        """Cancel the timer of a container's end. Unknown ones are ignored."""
        timer = self._exits.pop(container, None)
        if timer is not None:
            self._timers.cancel(timer)

    def ended(self, container: ContainerId) -> None:
        """Called by the owner of the timers when a container's duration is over."""
        self._exits.pop(container, None)

    def running(self) -> frozenset[ContainerId]:
        """The containers whose duration is not over."""
        return frozenset(self._exits)

    def close(self, *, stop_containers: bool) -> None:
        """Stop reporting; with `stop_containers` also cancel all timers."""
        self._report = self._not_started
        if stop_containers:
            for container in tuple(self._exits):
                self.stop(container)

    @staticmethod
    def _not_started(input_: Input) -> None:
        raise RuntimeError("the simulated engine was not started, or is closed")

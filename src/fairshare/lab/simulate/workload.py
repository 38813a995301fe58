"""A workload as data: nodes, and applications with their arrivals and task durations.

Applications arrive at given instants, or in sessions: then users wait for what they submitted.
"""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from fairshare.core.model.events import Locality
from fairshare.core.model.inputs import MakeBooking, NodeJoined, SubmitApplication
from fairshare.core.model.resources import Resource

EPOCH_MS: Final = 1_000_000_000_000
"""The epoch in the names of simulated applications."""


def alike(count: int, total: Resource) -> tuple[NodeJoined, ...]:
    """Nodes of one size, `node-1` and so on."""
    return tuple(NodeJoined(f"node-{number + 1}", total) for number in range(count))


class GroupPlan(msgspec.Struct, frozen=True, gc=False):
    """The durations and failures of the tasks of one group, one value for all or one per task.

    The first `fail_attempts` attempts of a task run for its duration and then exit with 1. The
    durations are those on a host that the group asks for; a container elsewhere on the rack of one
    runs `rack_factor` times as long, and one on another rack `off_switch_factor` times.
    """

    durations_ms: int | tuple[int, ...]
    fail_attempts: int | tuple[int, ...] = 0
    rack_factor: float = 1.0
    off_switch_factor: float = 1.0

    @property
    def by_locality(self) -> bool:
        """Whether durations depend on where a container is."""
        return self.rack_factor != 1.0 or self.off_switch_factor != 1.0

    def duration_ms(self, task: int, locality: Locality = Locality.NODE_LOCAL) -> int:
        """The duration of an attempt of a task, to the nearest millisecond.

        >>> GroupPlan(10_000, rack_factor=1.5).duration_ms(0, Locality.RACK_LOCAL)
        15000
        """
        durations_ms = self.durations_ms
        near_ms = durations_ms if isinstance(durations_ms, int) else durations_ms[task]
        if locality is Locality.NODE_LOCAL:
            return near_ms
        rack = locality is Locality.RACK_LOCAL
        factor = self.rack_factor if rack else self.off_switch_factor
        return near_ms if factor == 1.0 else round(near_ms * factor)

    def fails(self, task: int, attempt: int) -> bool:
        """Whether an attempt (from 1) of a task fails."""
        failing = self.fail_attempts
        return attempt <= (failing if isinstance(failing, int) else failing[task])


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """One application, its instant of arrival, and the plans of its groups, in their order."""

    at_ms: int
    submission: SubmitApplication
    plans: tuple[GroupPlan, ...]

    @property
    def least_ms(self) -> int:
        """The time that the application needs when each of its tasks runs at once: the longest
        chain of groups, of which one that waits for whole others begins when they have ended."""
        longest: dict[str, int] = {}
        for group, plan in zip(self.submission.tasks, self.plans, strict=True):
            durations_ms = plan.durations_ms
            own = durations_ms if isinstance(durations_ms, int) else max(durations_ms)
            before = [longest.get(name, 0) for name in group.after] if group.slow_start >= 1 else []
            longest[group.name] = own + max(before, default=0)
        return max(longest.values(), default=0)


class Turn(msgspec.Struct, frozen=True, gc=False):
    """What a user submits in one go: the instants of `members` count from its beginning.

    The turn begins `think_ms` after the last application of the turn before has ended; with `drawn`
    that is the mean of an exponential distribution.
    """

    think_ms: int
    members: tuple[Arrival, ...]
    drawn: bool = False


class Session(msgspec.Struct, frozen=True):
    """A user in a closed loop: turns, one after the other; the first one begins at `at_ms`."""

    at_ms: int
    turns: tuple[Turn, ...]


class Workload(msgspec.Struct, frozen=True):
    """Nodes, and applications: `arrivals`, the earliest first, and those of `sessions`, whose
    instants depend on the simulation. `notes` say what a reader left out or assumed; `nodes` is
    empty if the file has none. `maximum` is the maximum allocation that its tasks need; None:
    that of the configuration. `bookings` are made at the beginning."""

    nodes: tuple[NodeJoined, ...]
    arrivals: tuple[Arrival, ...]
    notes: tuple[str, ...] = ()
    sessions: tuple[Session, ...] = ()
    maximum: Resource | None = None
    bookings: tuple[MakeBooking, ...] = ()

    @property
    def later(self) -> int:
        """The number of applications of all sessions."""
        return sum(len(turn.members) for session in self.sessions for turn in session.turns)

    @property
    def tasks(self) -> int:
        """The number of tasks of all applications."""
        return sum(group.count for one in self.applications() for group in one.submission.tasks)

    @property
    def has_chance(self) -> bool:
        """Whether a think time is drawn."""
        return any(turn.drawn for session in self.sessions for turn in session.turns)

    def applications(self) -> Iterator[Arrival]:
        """All applications, those of sessions last."""
        yield from self.arrivals
        for session in self.sessions:
            for turn in session.turns:
                yield from turn.members

    def changed(self, change: Callable[[Arrival], Arrival]) -> "Workload":
        """The same with each application changed."""
        sessions = []
        for session in self.sessions:
            # A turn that is repeated is one object, and stays one.
            made: dict[int, Turn] = {}
            for turn in session.turns:
                if id(turn) not in made:
                    members = tuple(change(arrival) for arrival in turn.members)
                    made[id(turn)] = msgspec.structs.replace(turn, members=members)
            turns = tuple(made[id(turn)] for turn in session.turns)
            sessions.append(msgspec.structs.replace(session, turns=turns))
        arrivals = tuple(change(arrival) for arrival in self.arrivals)
        return msgspec.structs.replace(self, arrivals=arrivals, sessions=tuple(sessions))

"""The search for what would start a container that waits: each candidate in a branch of its own,
from the present on, until the container is granted. What does not lead to that is not a remedy.

A candidate is something that an administrator or a user can do, with a price: the cheapest that
suffices comes first. A limit is raised to the smallest value that suffices. If nothing suffices
alone, the smallest set of candidates that does together is searched: they are done one after the
other, as people do, and meanwhile others are granted what there is.
"""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import msgspec

from fairshare.api.applications import Action, Proved, Remedy
from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated, ContainerLaunched
from fairshare.core.model.identifiers import ApplicationId, application_name, application_of
from fairshare.core.model.inputs import (
    CancelBooking,
    ChangeBlacklist,
    Input,
    KillApplication,
    LoadConfiguration,
    MakeBooking,
    NodeJoined,
    ReleaseApplication,
    SetSafeMode,
    UndrainNode,
)
from fairshare.core.model.resources import Resource, positive, subtract
from fairshare.core.record import Record
from fairshare.core.schedulers.reasons import Cause, Reason, reasons
from fairshare.errors import InputError
from fairshare.lab.branch.branch import Branch
from fairshare.lab.branch.edits import with_inputs
from fairshare.lab.branch.lives import RunTime, with_expected_lives
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.world import Origin, World
from fairshare.runtime.runtime import Observer
from fairshare.server.insight.why import words_of
from fairshare.settings.own_sections import raised_budget
from fairshare.settings.raising import Raise
from fairshare.settings.registry import family_of

HORIZON_MS: Final = 3_600_000
"""How far the branch goes in which nothing is done."""

REMEDY_MS: Final = 900_000
"""What has not started the container by then is not a remedy."""

MOST_BRANCHES: Final = 100
MOST_S: Final = 20.0
"""Of a search. What was found by then is the answer."""

MOST_ENDS: Final = 6
"""How many applications are candidates to end: those with the fewest resources."""

MOST_REMEDIES: Final = 3

PRICE_OF_END: Final = 20

SOON_MS: Final = 2_000
"""What starts so soon by itself needs no remedy."""

APART_MS: Final = 2_000
"""The time between two actions of a remedy."""

FIRST_STEP_MS: Final = 1_000
_TOO_LONG: Final = -1

OF_GANGS: Final = frozenset({Cause.GANG_HOLDS, Cause.GANG_PAUSED, Cause.GANG_TOO_LARGE})


class _Candidate(msgspec.Struct, frozen=True):
    """An action with the input that does it; or with the limit of a reason, and which of its larger
    values is tried."""

    action: Action
    given: Input | None = None
    reason: Reason | None = None
    place: int = -1


class _Exhausted(Exception):
    """A bound of the search is reached."""


def here(work: Callable[[], int | None]) -> int | None:
    """Run a branch in this process."""
    return work()


def prove(
    origin: Origin,
    application: ApplicationId,
    run_time: RunTime,
    most_s: float | None = None,
    run: Callable[[Callable[[], int | None]], int | None] = here,
) -> Proved:
    """Search remedies for an application that waits in a state; `run` runs each branch. Raises
    InputError if it is not there (`unknown-application`), does not wait (`not-waiting`), or the
    state is too large."""
    most_s = MOST_S if most_s is None else most_s
    return _Search(origin, application, run_time, most_s, run).found()


class _Search:
    def __init__(
        self,
        origin: Origin,
        number: ApplicationId,
        run_time: RunTime,
        most_s: float,
        run: Callable[[Callable[[], int | None]], int | None],
    ) -> None:
        manager = origin.manager()
        self._manager = manager
        self._state = state = manager.state
        application = state.applications.get(number)
        if application is None:
            raise InputError("unknown-application", f"there is no application {number}")
        limits = manager.scheduler.limits_of(number)
        causes = reasons(application, limits, state, origin.position.now_ms)
        if not causes:
            raise InputError("not-waiting", f"application {number} waits for nothing")
        self._application: Application = application
        self._reason = causes[0]
        self._family = family_of(manager.scheduler.name)
        scheduler: Any = manager.scheduler  # each has its settings in its state
        self._settings = scheduler.state.settings
        world = read_history((), manager.scheduler.name, state.types, state.epoch_ms, origin)
        self._world: World = with_expected_lives(world, run_time).world
        self._branches = 0
        self._most_s = most_s
        self._until_s = time.monotonic() + most_s
        self._run = run

    def found(self) -> Proved:
        """The whole answer."""
        try:
            base_ms = self._granted_after_ms(())
        except _Exhausted:
            raise InputError(
                "too-large",
                f"a simulated hour of this cluster takes longer than {self._most_s:g} s: nothing is"
                " proved",
            ) from None
        singles: list[tuple[_Candidate, ...]] = []
        complete = True
        try:
            if base_ms is None or base_ms > SOON_MS:
                singles = self._sufficient(base_ms)
        except _Exhausted:
            complete = False
        remedies = []
        for some in singles[:MOST_REMEDIES]:
            try:
                smallest = self._smallest(some, base_ms)
                after_ms = self._granted_after_ms(smallest)
            except _Exhausted:
                complete = False
                break
            if after_ms is not None:
                remedies.append(Remedy(tuple(one.action for one in smallest), after_ms))
        return Proved(
            cause=str(self._reason.cause),
            horizon_ms=HORIZON_MS,
            starts_after_ms=base_ms,
            remedies=tuple(remedies),
            branches=self._branches,
            complete=complete,
        )

    # The search.

    def _sufficient(self, base_ms: int | None) -> list[tuple[_Candidate, ...]]:
        """The candidates that suffice alone, and else those that do together."""
        candidates = sorted(self._candidates(), key=lambda one: one.action.price)
        singles: list[tuple[_Candidate, ...]] = [
            (one,) for one in candidates if self._helps((one,), base_ms)
        ]
        if any(some[0].action.price < PRICE_OF_END for some in singles):
            return singles
        # The end of an application may be the only one that suffices alone.
        cheaper = [one for one in candidates if one.action.price < PRICE_OF_END]
        for tried in (cheaper,) if singles else (cheaper, candidates):
            if together := self._together(tried, base_ms):
                return [together, *singles]
        return singles

    def _helps(self, some: Sequence[_Candidate], base_ms: int | None) -> bool:
        """Whether the container is granted with these, and in less than half the time."""
        within_ms = REMEDY_MS if base_ms is None else min(base_ms // 2, REMEDY_MS)
        return self._granted_after_ms(some, within_ms) is not None

    def _together(
        self, candidates: Sequence[_Candidate], base_ms: int | None
    ) -> tuple[_Candidate, ...]:
        """The cheapest candidates that suffice together, none of which can be missing."""
        limits = [one.action.price for one in candidates if one.reason is not None]
        # Limits that one reload raises come together.
        kept = sorted(candidates, key=lambda one: limits[0] if one.reason else one.action.price)
        if len(kept) < 2 or not self._helps(kept, base_ms):
            return ()
        for one in reversed(candidates):
            fewer = [other for other in kept if other is not one]
            if fewer and self._helps(fewer, base_ms):
                kept = fewer
        return tuple(kept)

    def _smallest(
        self, some: tuple[_Candidate, ...], base_ms: int | None
    ) -> tuple[_Candidate, ...]:
        """The same with limits no larger than needed."""
        chosen = list(some)
        for at, one in enumerate(some):
            if one.reason is None:
                continue
            low, high = -1, one.place  # the last one suffices
            while high - low > 1:
                # Most often the first larger value does.
                middle = 0 if low < 0 else (low + high) // 2
                chosen[at] = self._raise(one.reason, middle)
                low, high = (low, middle) if self._helps(chosen, base_ms) else (middle, high)
            chosen[at] = self._raise(one.reason, high)
        return tuple(chosen)

    def _granted_after_ms(
        self, some: Sequence[_Candidate], within_ms: int = HORIZON_MS
    ) -> int | None:
        """After how long the container is granted in a branch; None: not within this time."""
        if self._branches >= MOST_BRANCHES or time.monotonic() > self._until_s:
            raise _Exhausted
        self._branches += 1
        inputs = self._inputs(some)
        after_ms = self._run(lambda: self._after_ms(inputs, within_ms))
        if after_ms == _TOO_LONG:
            raise _Exhausted
        return after_ms

    def _after_ms(self, inputs: Sequence[Input], within_ms: int) -> int | None:
        """The same of a branch with these inputs; _TOO_LONG: there is no time left for it."""
        begin_ms = self._world.begin_ms + APART_MS * max(len(inputs) - 1, 0)  # of the last one
        granted_ms: list[int] = []
        waited = self._reason

        def observe(record: Record) -> None:
            for event in record.events:
                if self._is_it(event, waited):
                    granted_ms.append(record.now_ms)

        def observed(_: ResourceManager) -> Sequence[Observer]:
            return [observe]

        try:
            edit = (lambda world: with_inputs(world, inputs, "it", APART_MS),) if inputs else ()
            rerun = Branch(self._world, edit).begin(observed)
        except ValueError:  # the scheduler refuses it
            return None
        step_ms, span_ms = FIRST_STEP_MS, 0
        while not granted_ms and span_ms < within_ms:
            if time.monotonic() > self._until_s:
                return _TOO_LONG
            span_ms = min(span_ms + step_ms, within_ms)
            step_ms *= 2
            rerun.run(begin_ms + span_ms)
        return max(granted_ms[0] - begin_ms, 0) if granted_ms else None

    def _is_it(self, event: object, reason: Reason) -> bool:
        """Whether this is the container, or of a gang a launch, which comes when all are there."""
        if reason.cause in OF_GANGS:
            return (
                type(event) is ContainerLaunched
                and application_of(event.container) == self._application.id
                and event.group == reason.group
            )
        return (
            type(event) is ContainerAllocated
            and event.application == self._application.id
            and reason.request in (-1, event.request)
            and reason.priority in (-1, event.priority)
        )

    # The candidates.

    def _candidates(self) -> Iterator[_Candidate]:
        """All that may help against a reason and what is in the way beside it."""
        state, number = self._state, self._application.id
        causes = (self._reason, *self._reason.also)
        if state.safe_mode:
            yield _done("the safe mode ends", 1, SetSafeMode(False), "admin safe-mode off")
        if state.deferred.get(number) is not None and state.deferred[number].held:
            name = application_name(state.epoch_ms, number)
            yield _done("it is released", 1, ReleaseApplication(number), f"release {name}")
        for node in state.drains:
            if node in state.nodes:
                yield _done(f"{node} is undrained", 1, UndrainNode(node), f"admin undrain {node}")
        if any(reason.cause is Cause.PASSED_OVER for reason in causes):
            again = LoadConfiguration(msgspec.json.encode(self._settings), state.epoch_ms)
            yield _done("the configuration is reloaded", 1, again, "admin refresh-queues")
        for reason in causes:
            raising = self._raised(self._settings, reason)
            if raising is not None and raising.values:
                yield self._raise(reason, len(raising.values) - 1)
        if self._application.attempt.blacklist:
            places = tuple(self._application.attempt.blacklist)
            input_ = ChangeBlacklist(number, (), places)
            yield _done("its master takes all nodes from its blacklist", 3, input_)
        yield from self._bookings(causes)
        yield from self._nodes(causes)
        yield from self._ends()

    def _bookings(self, causes: Sequence[Reason]) -> Iterator[_Candidate]:
        """The bookings that keep free room from the container: smaller by what it lacks, or
        cancelled."""
        state = self._state
        for reason in causes:
            booking = state.bookings.get(reason.booking)
            if booking is None or None in (reason.wanted, reason.available, reason.used):
                continue
            kept = positive(subtract(booking.resource, reason.used or state.none))
            free = subtract(reason.available or state.none, kept)
            lacks = positive(subtract(reason.wanted or state.none, free))
            smaller = positive(subtract(booking.resource, lacks))
            name = f"the booking {booking.name!r}"
            if any(smaller) and smaller != booking.resource:
                words = f"{name} is changed to {words_of(state).amount(smaller)}"
                changed = msgspec.structs.replace(booking, resource=smaller)
                yield _done(words, 3, MakeBooking(changed, replace=True))
            cancelled = CancelBooking(booking.name)
            command = f"reserve {shlex.quote(booking.name)} --cancel"
            yield _done(f"{name} is cancelled", 4, cancelled, command)

    def _raised(self, settings: object, reason: Reason) -> Raise | None:
        if reason.cause is Cause.BUDGET:
            return raised_budget(settings, reason)
        return self._family.raised(settings, reason, self._state.total)

    def _raise(self, reason: Reason, place: int) -> _Candidate:
        raising = self._raised(self._settings, reason)
        assert raising is not None
        text = raising.text(raising.values[place])
        words = f"{raising.setting} {raising.verb} {text}"
        action = Action(words, raising.price, setting=raising.setting, value=text)
        return _Candidate(action, reason=reason, place=place)

    def _inputs(self, some: Sequence[_Candidate]) -> list[Input]:
        """What does them all, in their order; limits are raised by one reload, with the first of
        them."""
        settings = self._settings
        for one in some:
            if one.reason is not None:
                raising = self._raised(settings, one.reason)
                assert raising is not None
                values = self._raised(self._settings, one.reason)
                assert values is not None
                settings = raising.settings(values.values[one.place])
        loading = LoadConfiguration(msgspec.json.encode(settings), self._state.epoch_ms)
        inputs: list[Input] = []
        for one in some:
            if one.given is not None:
                inputs.append(one.given)
            elif loading not in inputs:
                inputs.append(loading)
        return inputs

    def _nodes(self, causes: Sequence[Reason]) -> Iterator[_Candidate]:
        """One more node, like the largest, and large enough for the container."""
        state = self._state
        wanted = next((one.wanted for one in causes if one.wanted is not None), None)
        label = next((one.label for one in causes if one.label), "")
        largest = max(
            (state.offered(node) for node in state.nodes.values()), default=state.types.none
        )
        total: Resource = largest
        if wanted is not None:
            total = tuple(max(pair) for pair in zip(largest, wanted, strict=True))
        if not any(total):
            return
        size = words_of(state).amount(total)
        attributes = {"partition": label} if label else {}
        name = next(f"more-{n}" for n in range(1, 1_000) if f"more-{n}" not in state.nodes)
        of = f" of the partition {label!r}" if label else ""
        given = NodeJoined(name, total, attributes=attributes)
        yield _done(f"one more node{of} joins ({size})", 10, given)

    def _ends(self) -> Iterator[_Candidate]:
        """The end of another application, the smallest first."""
        state, number = self._state, self._application.id
        others = [
            one
            for one in state.applications.values()
            if one.id != number and not one.over and one.containers
        ]
        others.sort(key=lambda one: (one.attempt.used, one.id))
        for one in others[:MOST_ENDS]:
            name = application_name(state.epoch_ms, one.id)
            given = KillApplication(one.id)
            yield _done(f"{name} of {one.user} ends", PRICE_OF_END, given, f"kill {name}")


def _done(words: str, price: int, input_: Input, command: str = "") -> _Candidate:
    full = f"fairshare {command}" if command else ""
    return _Candidate(Action(words, price, full), input_)

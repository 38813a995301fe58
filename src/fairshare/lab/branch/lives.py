"""How long what runs and waits at a moment is expected to run.

A task is expected to run as long as tasks like it did that succeeded and ran for at least as long
as it has by now: those of its own group, else those of applications of the same user and queue
whose names differ in digits only. Where nothing like it has ended it runs on for ever: no end is
promised that is not known.

Estimates draw instead: for each application a donor, one of the applications like it, whose tasks'
run times it gets. That keeps what belongs together: an application whose first task is slow has
slow tasks. Donors are remembered in the order in which they began, those that still run among them:
of what began lately, what has ended by now is what was short.
"""

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, MutableSequence
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationsForgotten,
    ApplicationState,
    ContainerCompleted,
    ContainerLaunched,
    ContainerRunning,
    ExitCode,
)
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.tasks import is_own_failure
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.lab.branch.branch import Edited
from fairshare.lab.simulate.world import Life, World
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.container_history import ContainerHistory

FOR_EVER_MS: Final = 10 * 365 * 24 * 3_600_000
"""Longer than any branch goes."""

MOST_TIMES: Final = 200
"""Run times that are remembered of a group of tasks, and of what differs in digits only: the last
ones."""

MOST_DONORS: Final = 100
"""Of each kind: the last ones that have ended, and what began after the first of these."""

MOST_KINDS: Final = 3_000
"""Those that came last."""

RunTime = Callable[[ApplicationId, int, int], int]
"""The run time of a task of an application and a group that has run for so long (ms)."""

_Item = TypeVar("_Item")

Kind = tuple[object, ...]
"""What donors have in common: user, queue, name without digits and size; the same without the size;
user and queue; the queue; or nothing."""


def kinds_of(submission: SubmitApplication, queue: str) -> tuple[Kind, ...]:
    """The kinds of an application, the nearest first."""
    name = re.sub(r"\d+", "", submission.name)
    user = submission.user
    size = tuple((group.count, group.resource) for group in submission.tasks)
    return (user, queue, name, size), (user, queue, name), (user, queue), (queue,), ()


class Donor:
    """What an application shows of those like it: the run times of the tasks of each group, when
    its first container was launched, and how long it took from then to its end (ms; None: it still
    runs)."""

    __slots__ = ("first_ms", "groups", "kinds", "span_ms")

    def __init__(self, kinds: tuple[Kind, ...], first_ms: int) -> None:
        self.kinds = kinds
        self.first_ms = first_ms
        self.groups: dict[int, MutableSequence[int]] = {}
        self.span_ms: int | None = None

    def times(self, group: int) -> Collection[int]:
        """Those of a group, or of all if it had none such."""
        found = self.groups.get(group)
        return found or [one for times in self.groups.values() for one in times]

    @property
    def longest_ms(self) -> int:
        """The run time of its longest task; without tasks, of it all."""
        return max(
            (max(times) for times in self.groups.values() if times), default=self.span_ms or 0
        )

    def scaled(self, factor: float) -> "Donor":
        """One that takes so many times as long."""
        other = Donor(self.kinds, self.first_ms)
        for group, times in self.groups.items():
            other.groups[group] = [round(one * factor) for one in times]
        other.span_ms = None if self.span_ms is None else round(self.span_ms * factor)
        return other


class _Donors:
    """The donors of a kind, in the order in which they began."""

    def __init__(self) -> None:
        self.all: dict[ApplicationId, Donor] = {}
        self.ended = 0

    def end(self) -> None:
        """One of them has ended: the oldest go."""
        self.ended += 1
        while self.ended > MOST_DONORS:
            oldest = self.all.pop(next(iter(self.all)))
            self.ended -= oldest.span_ms is not None


class _Begun(NamedTuple):
    """What a container runs, and since when."""

    group: int
    task: int
    at_ms: int


class RunTimes:
    """What has run for how long, as far as a state and its history know it; it follows the records
    behind them (`subscribe`). Bounded in all that users can multiply."""

    def __init__(self, state: State, history: ContainerHistory) -> None:
        self._state = state
        self._begun: dict[ContainerId, _Begun] = {}
        self._tried_ms: dict[ApplicationId, dict[tuple[int, int], int]] = {}
        """Of tasks that have failed, and are tried again, when the first attempt began."""
        self._live: dict[ApplicationId, Donor] = {}
        self._alike: OrderedDict[Kind, deque[int]] = OrderedDict()
        self._donors: OrderedDict[Kind, _Donors] = OrderedDict()
        launched = [
            (one.launched_ms, one)
            for application in state.applications
            for one in history.application(application).containers.values()
            if one.launched_ms is not None
        ]
        for launched_ms, one in sorted(launched, key=lambda pair: pair[0]):
            begun = _Begun(one.group, one.task, one.running_ms or launched_ms)
            self._first(one.container, launched_ms)
            if one.finished_ms is None:
                self._begun[one.container] = begun
            else:
                self._ended(one.container, begun, one.finished_ms, one.exit_code)
        over = [one for one in state.applications.values() if one.over]
        for application in sorted(over, key=lambda one: (one.finished_ms or 0, one.id)):
            self._closed(application.id, application.state, application.finished_ms or 0)

    # The records.

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._running, ContainerRunning)
        observers.events(self._completed, ContainerCompleted)
        observers.events(self._application_ended, ApplicationEnded)
        observers.events(self._forgotten, ApplicationsForgotten)

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        self._begun[event.container] = _Begun(event.group, event.task, record.now_ms)
        self._first(event.container, record.now_ms)

    def _running(self, record: Record, event: ContainerRunning) -> None:
        begun = self._begun.get(event.container)
        if begun is not None:
            self._begun[event.container] = begun._replace(at_ms=record.now_ms)

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        begun = self._begun.pop(event.container, None)
        if begun is not None:
            self._ended(event.container, begun, record.now_ms, event.exit_code)

    def _application_ended(self, record: Record, event: ApplicationEnded) -> None:
        self._closed(event.application, event.state, record.now_ms)

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        for number in event.applications:
            self._removed(number)

    def _first(self, container: ContainerId, launched_ms: int) -> None:
        number = application_of(container)
        application = self._state.applications.get(number)
        if number in self._live or application is None:
            return
        kinds = kinds_of(application.submission, application.queue)
        donor = self._live[number] = Donor(kinds, launched_ms)
        for kind in kinds:
            _of(self._donors, kind, _Donors).all[number] = donor

    def _removed(self, number: ApplicationId) -> None:
        donor = self._live.pop(number, None)
        for kind in () if donor is None else donor.kinds:
            if (donors := self._donors.get(kind)) is not None:
                donors.all.pop(number, None)

    def _ended(
        self,
        container: ContainerId,
        begun: _Begun,
        ended_ms: int,
        exit_code: int | None,
    ) -> None:
        group = begun.group
        application = self._state.applications.get(application_of(container))
        if group < 0 or application is None or exit_code is None:
            return
        task = group, begun.task
        begun_ms = self._tried_ms.get(application.id, {}).pop(task, begun.at_ms)
        if exit_code != ExitCode.SUCCESS:
            if is_own_failure(exit_code):  # what is tried again takes that much longer
                self._tried_ms.setdefault(application.id, {})[task] = begun_ms
            return
        donor = self._live.get(application.id)
        if donor is None:  # the application was over before its container was
            return
        run_ms = ended_ms - begun_ms
        for times in (
            donor.groups.setdefault(group, deque(maxlen=MOST_TIMES)),
            _of(self._alike, donor.kinds[1], lambda: deque(maxlen=MOST_TIMES)),
        ):
            times.append(run_ms)

    def _closed(self, number: ApplicationId, state: ApplicationState, ended_ms: int) -> None:
        self._tried_ms.pop(number, None)
        donor = self._live.get(number)
        application = self._state.applications.get(number)
        if donor is None or application is None or state is ApplicationState.KILLED:
            self._removed(number)
            return
        of_tasks = application.submission.driver is None and application.tasks.groups
        if of_tasks and not donor.groups:  # no task of it has succeeded
            self._removed(number)
            return
        del self._live[number]
        donor.span_ms = ended_ms - donor.first_ms
        for kind in donor.kinds:
            donors = self._donors.get(kind)
            if donors is not None and number in donors.all:
                donors.end()

    # What is expected.

    def __call__(self, application: ApplicationId, group: int, age_ms: int) -> int:
        """The median of those that ran for longer than this; FOR_EVER_MS if none did."""
        known = self._state.applications[application]
        named = kinds_of(known.submission, known.queue)[1]
        for times in (self.own(application, group), self._alike.get(named, ())):
            longer = sorted(run_ms for run_ms in times if run_ms >= age_ms)
            if longer:
                return longer[(len(longer) - 1) // 2]
        return FOR_EVER_MS

    def own(self, application: ApplicationId, group: int) -> Collection[int]:
        """The run times of the tasks of a group that have ended."""
        donor = self._live.get(application)
        return () if donor is None else donor.groups.get(group, ())

    @property
    def ended(self) -> int:
        """How many donors have ended, of the last ones."""
        return donors.ended if (donors := self._donors.get(())) else 0

    def donors(self, kind: Kind) -> Mapping[ApplicationId, Donor]:
        """Those of a kind, in the order in which they began; some may still run."""
        return donors.all if (donors := self._donors.get(kind)) else {}

    def first_launch_ms(self, application: ApplicationId) -> int | None:
        """When the first container of an application was launched that is not over."""
        donor = self._live.get(application)
        return None if donor is None else donor.first_ms


def _of(kinds: OrderedDict[Kind, _Item], kind: Kind, make: Callable[[], _Item]) -> _Item:
    """What is known of a kind, which is now the newest."""
    items = kinds.get(kind)
    if items is None:
        items = kinds[kind] = make()
        if len(kinds) > MOST_KINDS:
            kinds.popitem(last=False)
    else:
        kinds.move_to_end(kind)
    return items


def with_expected_lives(world: World, run_time: RunTime) -> Edited:
    """The world in which whatever lives at its beginning, and does not end in it by itself, runs
    for as long as expected; so do the tasks that wait there, unless their lives are recorded."""
    assert world.origin is not None
    state = world.origin.manager().state
    begun, typical_ms = dict(world.begun), dict(world.typical_ms)
    for number, application in state.applications.items():
        if application.over:
            continue
        for group in range(len(application.tasks.groups)):
            typical_ms[number, group] = run_time(number, group, 0)
        for container, launched_ms in application.attempt.launched.items():
            life = begun.get(container)
            if life is not None and not life.censored:
                continue
            assigned = application.tasks.assigned.get(container)
            age_ms = world.begin_ms - launched_ms
            group = -1 if assigned is None else assigned.group
            whole_ms = FOR_EVER_MS if group < 0 else run_time(number, group, age_ms)
            rest_ms = max(0, whole_ms - age_ms)
            begun[container] = replace(life or Life(None, 0), run_ms=rest_ms)
    return Edited(replace(world, begun=begun, typical_ms=typical_ms), "expected lives")

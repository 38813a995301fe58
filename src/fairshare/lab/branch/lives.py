"""How long what runs and waits at a moment is expected to run.

A task is expected to run as long as tasks like it did that succeeded and ran for at least as long
as it has by now: those of its own group, else those of applications of the same user and queue
whose names differ in digits only. Where nothing like it has ended it runs on for ever: no end is
promised that is not known.

Estimates draw instead: for each application a donor, one of the applications like it that have
ended by themselves, whose tasks' run times it gets. That keeps what belongs together: an
application whose first task is slow has slow tasks.
"""

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Collection
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
"""Of each kind: the last ones."""

MOST_KINDS: Final = 3_000
"""Those that came last."""

RunTime = Callable[[ApplicationId, int, int], int]
"""The run time of a task of an application and a group that has run for so long (ms)."""

_Item = TypeVar("_Item")

Kind = tuple[str, ...]
"""What donors have in common: user, queue and name without digits; user and queue; the queue; or
nothing."""


def kinds_of(submission: SubmitApplication, queue: str) -> tuple[Kind, ...]:
    """The kinds of an application, the nearest first."""
    name = re.sub(r"\d+", "", submission.name)
    user = submission.user
    return (user, queue, name), (user, queue), (queue,), ()


class Donor:
    """What an application that has ended by itself shows of those like it: the run times of the
    tasks of each group, and how long it took from its first launch to its end."""

    __slots__ = ("_groups", "span_ms")

    def __init__(self, groups: dict[int, deque[int]], span_ms: int) -> None:
        self._groups = groups
        self.span_ms = span_ms

    def times(self, group: int) -> Collection[int]:
        """Those of a group, or of all if it had none such."""
        found = self._groups.get(group)
        return found or [one for times in self._groups.values() for one in times]


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
        self._first_ms: dict[ApplicationId, int] = {}
        self._groups: dict[ApplicationId, dict[int, deque[int]]] = {}
        self._alike: OrderedDict[Kind, deque[int]] = OrderedDict()
        self._donors: OrderedDict[Kind, deque[Donor]] = OrderedDict()
        known = sorted(state.applications.values(), key=lambda one: (one.finished_ms or 0, one.id))
        for application in known:
            for one in history.application(application.id).containers.values():
                if one.launched_ms is None:
                    continue
                begun = _Begun(one.group, one.task, one.running_ms or one.launched_ms)
                self._first(one.container, one.launched_ms)
                if one.finished_ms is None:
                    self._begun[one.container] = begun
                else:
                    self._ended(one.container, begun, one.finished_ms, one.exit_code)
            if application.over:
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
            self._groups.pop(number, None)
            self._first_ms.pop(number, None)

    def _first(self, container: ContainerId, launched_ms: int) -> None:
        self._first_ms.setdefault(application_of(container), launched_ms)

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
        run_ms = ended_ms - begun_ms
        groups = self._groups.setdefault(application.id, {})
        groups.setdefault(group, deque(maxlen=MOST_TIMES)).append(run_ms)
        nearest = kinds_of(application.submission, application.queue)[0]
        _of(self._alike, nearest, MOST_TIMES).append(run_ms)

    def _closed(self, number: ApplicationId, state: ApplicationState, ended_ms: int) -> None:
        self._tried_ms.pop(number, None)
        groups = self._groups.pop(number, {})
        first_ms = self._first_ms.pop(number, None)
        application = self._state.applications.get(number)
        if application is None or first_ms is None or state is ApplicationState.KILLED:
            return
        if not groups and application.submission.driver is None and application.tasks.groups:
            return  # no task of it has succeeded
        donor = Donor(groups, ended_ms - first_ms)
        for kind in kinds_of(application.submission, application.queue):
            _of(self._donors, kind, MOST_DONORS).append(donor)

    # What is expected.

    def __call__(self, application: ApplicationId, group: int, age_ms: int) -> int:
        """The median of those that ran for longer than this; FOR_EVER_MS if none did."""
        known = self._state.applications[application]
        nearest = kinds_of(known.submission, known.queue)[0]
        for times in (self.own(application, group), self._alike.get(nearest, ())):
            longer = sorted(run_ms for run_ms in times if run_ms >= age_ms)
            if longer:
                return longer[(len(longer) - 1) // 2]
        return FOR_EVER_MS

    def own(self, application: ApplicationId, group: int) -> Collection[int]:
        """The run times of the tasks of a group that have ended."""
        return self._groups.get(application, {}).get(group, ())

    def donors(self, submission: SubmitApplication, queue: str, least: int) -> Collection[Donor]:
        """Those of the nearest kind that has enough of them; else of the one that has most."""
        found: Collection[Donor] = ()
        for kind in kinds_of(submission, queue):
            some: Collection[Donor] = self._donors.get(kind, ())
            if len(some) > len(found):
                found = some
            if len(found) >= least:
                break
        return found

    def first_launch_ms(self, application: ApplicationId) -> int | None:
        """When the first container of an application was launched that is not over."""
        return self._first_ms.get(application)


def _of(known: OrderedDict[Kind, deque[_Item]], kind: Kind, most: int) -> deque[_Item]:
    """The items of a kind, which is now the newest."""
    items = known.get(kind)
    if items is None:
        items = known[kind] = deque(maxlen=most)
        if len(known) > MOST_KINDS:
            known.popitem(last=False)
    else:
        known.move_to_end(kind)
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

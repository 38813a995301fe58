"""When applications start and end, estimated by draws: branches from a moment on, in each of which
every application runs as long as one like it, and submissions come as they came in the past day.

A draw gives each application one donor (`lives.Donor`), of the nearest kind if that has many, else
perhaps of a wider one: with n donors of a kind it is one of these with the probability n / (n + 5),
as in a hierarchical Dirichlet process (Teh, Jordan, Beal and Blei 2006). What runs already gets one
that ran for longer than it has by now. What has run longest is drawn first, and then is a donor
itself: so what still runs counts with what it may take, as it does for Kaplan and Meier (1958),
whose estimator redistributes to the right (Efron 1967). Without it donors would be short, since of
what began lately only that has ended. The same is done with the tasks of a group. With the
probability 1 / (n + 1) an application takes longer than all n donors.

Later arrivals are drawn in blocks, from the same hour of the day before if that is known, else from
the last hours. What a master will ask for is not known: an application that has one holds what it
has, and ends as long after its first launch as its donor.

All draws together have a limit of time: each gets its part, and goes as far as it comes in that.
The one that comes least far is the horizon of all.
"""

import math
import random
import time
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Final, Self, TypeVar

import msgspec
from msgspec.structs import replace

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationSubmitted,
    ContainerAllocated,
    ContainerLaunched,
)
from fairshare.core.model.identifiers import ApplicationId, application_of, container_id
from fairshare.core.model.inputs import NO_CONDITIONS, KillApplication, SubmitApplication
from fairshare.core.record import Record
from fairshare.errors import InputError
from fairshare.lab.branch.branch import Branch, apart
from fairshare.lab.branch.lives import FOR_EVER_MS, Donor, Kind, RunTimes, kinds_of
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.world import GRANTED, Entry, Life, Origin, Task, World
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.runtime import Observer

LEAST_SAMPLES: Final = 20
"""Applications that have ended: with fewer there is no estimate."""

LEAST_DRAWS: Final = 10
"""Among which the time is divided; if each takes less than its part, there are more."""

WIDER: Final = 5
"""How many items of a kind are needed until one of them is taken as often as one of a wider kind.
"""

SHORTEST_TAIL: Final = 0.0025
"""What takes longer than all that is known takes at most twenty times as long: a Pareto tail."""

DRAWS: Final = 50
HORIZON_MS: Final = 7 * 24 * 3_600_000
LEAST_HORIZON_MS: Final = 60_000
"""Where draws do not come so far there is no estimate."""

DAY_MS: Final = 24 * 3_600_000
HOUR_MS: Final = 3_600_000
LONGEST_BLOCK_MS: Final = 900_000
LEAST_WINDOW_MS: Final = 60_000
"""Of less time before the moment nothing follows for the time after it: nothing arrives then."""

MOST_SUBMISSIONS: Final = 20_000
MOST_RECORDS: Final = 50_000
MOST_TASKS: Final = 1_000
FEW_TASKS: Final = 20
"""Of a group, of what is there and of what comes, whose tasks have a run time each; with more they
have one together."""

FIRST_STEP_MS: Final = 1_000
LONGEST_STEP_MS: Final = 300_000
LEAST_STEPS: Final = 16
"""Of the time that a draw has left a step shall take such a part at most."""

_Item = TypeVar("_Item")


class Submissions:
    """What was submitted in the past day, the last MOST_SUBMISSIONS of it, and since when this is
    known."""

    def __init__(self, since_ms: int) -> None:
        self.since_ms = since_ms
        self.all: deque[tuple[int, SubmitApplication, str]] = deque()

    @classmethod
    def before(cls, journal: SqliteJournal, sequence: int) -> Self:
        """Those before a record, as far as the last MOST_RECORDS records say."""
        found = cls(0)
        first = max(journal.first_record() - 1, sequence - MOST_RECORDS)
        for record in takewhile(lambda one: one.sequence <= sequence, journal.records(first)):
            found.since_ms = found.since_ms or record.now_ms
            for event in record.events if type(record.input) is SubmitApplication else ():
                if type(event) is ApplicationSubmitted:
                    found._submitted(record, event)
        return found

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._submitted, ApplicationSubmitted)

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        self.add(record.now_ms, event.submission, event.queue)

    def add(self, now_ms: int, submission: SubmitApplication, queue: str) -> None:
        """Add what came last."""
        if not self.since_ms:
            self.since_ms = now_ms
        self.all.append((now_ms, submission, queue))
        while len(self.all) > MOST_SUBMISSIONS or self.all[0][0] < now_ms - DAY_MS - HOUR_MS:
            self.since_ms = max(self.since_ms, self.all.popleft()[0])

    def between(self, low_ms: int, high_ms: int) -> Iterator[tuple[int, SubmitApplication, str]]:
        """Those from an instant on and before another one."""
        return (one for one in self.all if low_ms <= one[0] < high_ms)


class Drawn(msgspec.Struct, frozen=True):
    """After how long an application starts and ends in each draw, from the moment on (None: not
    within `horizon_ms`, as far as all draws came)."""

    starts: tuple[int | None, ...]
    ends: tuple[int | None, ...]
    horizon_ms: int = HORIZON_MS


def draws(
    origin: Origin,
    run_times: RunTimes,
    submissions: Submissions,
    numbers: Sequence[ApplicationId],
    most_s: float,
    count: int = DRAWS,
) -> dict[ApplicationId, Drawn]:
    """What becomes of applications in each draw, each of which is made in a copy of this process:
    `origin.manager` need not make another state. Raises InputError (`too-large`) if LEAST_DRAWS of
    LEAST_HORIZON_MS take longer than `most_s`."""
    manager = origin.manager()
    state = manager.state
    world = read_history((), manager.scheduler.name, state.types, state.epoch_ms, origin)
    part_s, until_s = most_s / LEAST_DRAWS, time.monotonic() + most_s
    horizon_ms, found = HORIZON_MS, list[_Results]()
    while len(found) < count and horizon_ms >= LEAST_HORIZON_MS:
        left_s = until_s - time.monotonic()
        missing = LEAST_DRAWS - len(found)
        if missing <= 0 and left_s < part_s:
            break
        draw = _Draw(manager, world, run_times, submissions, len(found))
        own_s = min(part_s, left_s / max(missing, 1))
        came_ms, results = apart(partial(draw.run, numbers, own_s), tuple[int, _Results])
        horizon_ms = min(horizon_ms, came_ms)
        found.append(results)
    if horizon_ms < LEAST_HORIZON_MS:
        raise InputError(
            "too-large",
            f"{LEAST_DRAWS} simulations of this cluster for {LEAST_HORIZON_MS // 1_000} s take"
            f" longer than {most_s:g} s",
        )

    def within(one: int | None) -> int | None:
        return None if one is None or one > horizon_ms else one

    drawn = {}
    for number, spans in zip(numbers, zip(*found, strict=True), strict=True):
        starts, ends = (tuple(map(within, column)) for column in zip(*spans, strict=True))
        drawn[number] = Drawn(starts, ends, horizon_ms)
    return drawn


_Results = list[tuple[int | None, int | None]]


class _Draw:
    """One draw: what differs between the branches."""

    def __init__(
        self,
        manager: ResourceManager,
        world: World,
        run_times: RunTimes,
        submissions: Submissions,
        seed: int,
    ) -> None:
        self._state = manager.state
        self._world = world
        self._times = run_times
        self._submissions = submissions
        self._random = random.Random(seed)  # noqa: S311  (what is drawn is not secret)
        self._begun = dict(world.begun)
        self._lives: dict[Task, tuple[Life, ...]] = {}
        self._typical = dict(world.typical_ms)
        self._queues = dict(world.queues)
        self._entries: list[Entry] = []
        self._arrived_ms = 0
        self._following = self._state.next_application
        self._pools: dict[Kind, list[Donor]] = {}
        self._drawn: dict[ApplicationId, Donor] = {}
        origin = world.origin
        self._sequence = 0 if origin is None else origin.position.sequence

    def run(self, numbers: Sequence[ApplicationId], most_s: float) -> tuple[int, _Results]:
        """How far it comes in some time, and after how long each of some applications starts and
        ends."""
        until_s = time.monotonic() + most_s
        live = [one for one in self._state.applications.values() if not one.over]
        for application in sorted(live, key=lambda one: self._first_ms(one.id)):
            self._live(application)
        world = replace(
            self._world,
            entries=tuple(sorted(self._entries, key=lambda one: (one.at_ms, one.number))),
            begun=self._begun,
            lives=self._lives,
            typical_ms=self._typical,
            queues=self._queues,
        )
        begin_ms = world.begin_ms
        starts: dict[ApplicationId, int] = {}
        ends: dict[ApplicationId, int] = {}

        def observe(record: Record) -> None:
            for event in record.events:
                if type(event) is ContainerLaunched:
                    starts.setdefault(application_of(event.container), record.now_ms - begin_ms)
                elif type(event) is ContainerAllocated and event.master:
                    starts.setdefault(event.application, record.now_ms - begin_ms)
                elif type(event) is ApplicationEnded:
                    ends[event.application] = record.now_ms - begin_ms

        def observed(_: ResourceManager) -> Sequence[Observer]:
            return [observe]

        rerun = Branch(world).begin(observed)
        step_ms, span_ms = FIRST_STEP_MS, 0
        while not all(number in ends for number in numbers):
            began_s = time.monotonic()
            if span_ms == HORIZON_MS or began_s > until_s:
                break
            span_ms = min(span_ms + step_ms, HORIZON_MS)
            for entry in self._arrivals(span_ms):
                rerun.add(entry)
            rerun.run(begin_ms + span_ms)
            now_s = time.monotonic()
            if (now_s - began_s) * LEAST_STEPS < until_s - now_s:
                step_ms = min(2 * step_ms, LONGEST_STEP_MS)
            else:
                step_ms = max(step_ms // 2, 1)
        else:
            span_ms = HORIZON_MS
        return span_ms, [(starts.get(number), ends.get(number)) for number in numbers]

    # What lives.

    def _first_ms(self, number: ApplicationId) -> int:
        """When an application began to run; what waits begins after all that runs."""
        first_ms = self._times.first_launch_ms(number)
        return self._world.begin_ms if first_ms is None else first_ms

    def _live(self, application: Application) -> None:
        """Give an application a donor; one that runs is one itself for what comes after it."""
        number, first_ms = application.id, self._first_ms(application.id)
        drawn = Donor(kinds_of(application.submission, application.queue), first_ms)
        if application.tasks.groups:
            self._with_tasks(application, drawn)
        else:
            self._with_master(application, drawn)
        self._drawn[number] = drawn
        for kind in drawn.kinds:
            if kind in self._pools and number in self._times.donors(kind):
                self._pools[kind].append(drawn)

    def _with_tasks(self, application: Application, drawn: Donor) -> None:
        number, tasks, begin_ms = application.id, application.tasks, self._world.begin_ms
        running = [
            (begin_ms - launched_ms, assigned.group, container)
            for container, launched_ms in application.attempt.launched.items()
            if (assigned := tasks.assigned.get(container)) is not None
        ]
        running.sort(reverse=True)
        ages: dict[int, int] = {}
        for age_ms, group, _ in running:
            ages.setdefault(group, age_ms)

        def longer(donor: Donor) -> bool:
            times = ((donor.times(group), age_ms) for group, age_ms in ages.items())
            return all(max(some, default=-1) >= age_ms for some, age_ms in times)

        kinds = drawn.kinds
        chosen = (ages and self._donor(kinds, longer)) or self._donor(kinds) or Donor(kinds, 0)
        for group, spec in enumerate(application.submission.tasks):
            own, others = sorted(self._times.own(number, group)), sorted(chosen.times(group))
            drawn.groups[group] = own
            limit_ms = spec.time_limit_ms or FOR_EVER_MS
            for age_ms, at, container in running:
                if at == group:
                    run_ms = min(self._run_ms(own, others, age_ms), max(limit_ms, age_ms))
                    insort(own, run_ms)
                    life = self._begun.get(container) or Life(None, 0)
                    # What runs for a while has started, whatever an engine reports of that.
                    self._begun[container] = replace(life, run_ms=run_ms - age_ms)
            progress = tasks.groups[group]
            self._typical[number, group] = min(self._run_ms(own, others, 0), limit_ms)
            if len(progress.waiting) + len(progress.paused) <= MOST_TASKS:
                for task in (*progress.waiting, *progress.paused):
                    life = Life(0, min(self._run_ms(own, others, 0), limit_ms))
                    self._lives[number, group, task] = (life,)

    def _with_master(self, application: Application, drawn: Donor) -> None:
        """An application whose master asks for containers ends some time after its first launch."""
        number = application.id
        if self._times.first_launch_ms(number) is None:
            if (donor := self._donor(drawn.kinds)) is not None:
                attempt = application.attempt.number + 1
                self._entries.append(self._ends_after_grant(number, attempt, donor))
            return
        age_ms = self._world.begin_ms - drawn.first_ms
        donor = self._donor(drawn.kinds, lambda one: (one.span_ms or 0) >= age_ms)
        if donor is None:
            drawn.span_ms = round(age_ms * self._beyond())
        else:
            drawn.span_ms = donor.span_ms or 0
        end_ms = drawn.first_ms + drawn.span_ms
        self._entries.append(Entry(end_ms, self._sequence, 0, KillApplication(number)))

    def _ends_after_grant(self, number: ApplicationId, attempt: int, donor: Donor) -> Entry:
        self._sequence += 1  # each entry that waits for facts has a number of its own
        after = ((GRANTED, container_id(number, max(attempt, 1), 1)),)
        given, delay_ms = KillApplication(number), donor.span_ms or 0
        return Entry(self._world.begin_ms, self._sequence, 0, given, after, delay_ms)

    def _donor(
        self, kinds: Sequence[Kind], fits: Callable[[Donor], bool] | None = None
    ) -> Donor | None:
        """One for an application of these kinds; None: none fits. The next one takes longer than n
        before it with the probability 1 / (n + 1), whatever their distribution is."""
        pools = map(self._pool, kinds)
        some = self._nearest(pool if fits is None else list(filter(fits, pool)) for pool in pools)
        if not some:
            return None
        at = self._random.randrange(len(some) + 1)
        if at < len(some):
            return some[at]
        return max(some, key=lambda one: one.longest_ms).scaled(self._beyond())

    def _pool(self, kind: Kind) -> list[Donor]:
        """The donors of a kind whose times are known or drawn."""
        if kind not in self._pools:
            self._pools[kind] = [
                self._drawn.get(number, one)
                for number, one in self._times.donors(kind).items()
                if one.span_ms is not None or number in self._drawn
            ]
        return self._pools[kind]

    def _nearest(self, levels: Iterable[Sequence[_Item]]) -> Sequence[_Item]:
        """The items of the first level, or perhaps of a later one, the fewer the first has."""
        last: Sequence[_Item] = ()
        for some in levels:
            last = some or last
            if self._random.random() * (len(some) + WIDER) < len(some):
                break
        return last

    def _run_ms(self, own: Sequence[int], others: Sequence[int], age_ms: int) -> int:
        """How long a task runs that has run for so long: as one of its group, or of the donor's."""
        some = self._nearest(times[bisect_left(times, age_ms) :] for times in (own, others))
        if some:
            return self._random.choice(some)
        return round(age_ms * self._beyond()) if age_ms else HORIZON_MS

    def _beyond(self) -> float:
        """How many times as long something takes that takes longer than all that is known."""
        return 1 / math.sqrt(max(1 - self._random.random(), SHORTEST_TAIL))

    # What comes.

    def _arrivals(self, until_ms: int) -> Iterator[Entry]:
        """Submissions of the past day come once more, in blocks that are drawn: the next of them
        that begin by some time after the moment."""
        begin_ms, submissions = self._world.begin_ms, self._submissions
        window_ms = min(begin_ms - submissions.since_ms, DAY_MS)
        if not submissions.all or window_ms < LEAST_WINDOW_MS:
            return
        block_ms = min(LONGEST_BLOCK_MS, window_ms // 4)
        while self._arrived_ms <= until_ms:
            source_ms = self._block(self._arrived_ms, window_ms, block_ms)
            later_ms = begin_ms + self._arrived_ms - source_ms
            for came_ms, submission, queue in submissions.between(source_ms, source_ms + block_ms):
                if not submission.start.held:
                    yield from self._arrive(later_ms + came_ms, submission, queue)
            self._arrived_ms += block_ms

    def _block(self, at_ms: int, window_ms: int, block_ms: int) -> int:
        """The beginning of a block of the past for one that begins so long after the moment."""
        begin_ms = self._world.begin_ms
        if window_ms >= DAY_MS:
            middle_ms = begin_ms + at_ms % DAY_MS - DAY_MS
            low_ms, high_ms = middle_ms - HOUR_MS, min(middle_ms + HOUR_MS, begin_ms - block_ms)
            return self._random.randint(min(low_ms, high_ms), high_ms)
        recent_ms = min(window_ms, 4 * HOUR_MS)
        return self._random.randint(begin_ms - recent_ms, begin_ms - block_ms)

    def _arrive(self, at_ms: int, submission: SubmitApplication, queue: str) -> Iterator[Entry]:
        number = self._following
        self._following += 1
        given = replace(submission, number=number, start=NO_CONDITIONS)
        self._sequence += 1
        yield Entry(at_ms, self._sequence, 0, given)
        self._queues[number] = queue
        chosen = self._donor(kinds_of(submission, queue))
        if chosen is None:
            return
        if not submission.tasks:
            yield self._ends_after_grant(number, 1, chosen)
            return
        for group, spec in enumerate(submission.tasks):
            times = sorted(chosen.times(group))
            limit_ms = spec.time_limit_ms or FOR_EVER_MS
            self._typical[number, group] = min(self._run_ms((), times, 0), limit_ms)
            for task in range(spec.count if spec.count <= FEW_TASKS else 0):
                life = Life(0, min(self._run_ms((), times, 0), limit_ms))
                self._lives[number, group, task] = (life,)

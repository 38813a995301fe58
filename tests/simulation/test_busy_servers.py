"""A plan makes every decision of a server again, however late its machine was.

Lives as those of `python -m soak.plans`, in virtual time: the server is late by chance, decides
what has come meanwhile in one turn or in several, and leaves turns half done. Or it crashes, and
another one goes on.
"""

import random
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import Any

import msgspec
import pytest
from soak.acts import BEAT_MS, LENGTH, NODE, NODES, STOP_MS, WEIGHTS, Acts, loading, settings_with
from tests.labelled_queues import LABEL, SCHEDULERS
from tests.manual_engine import ManualEngine

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import (
    AddLabels,
    ContainerExited,
    ContainerStarted,
    KillApplication,
    NodeJoined,
    SubmitApplication,
)
from fairshare.lab.branch.history import origin_in
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.rerun import Rerun
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.journal.protocol import Snapshot
from fairshare.runtime.pace import QUIET, UPDATED
from fairshare.runtime.projections.projections import MANAGER, MEMORY
from fairshare.runtime.runtime import Runtime
from fairshare.runtime.snapshot import freeze
from fairshare.settings.registry import family_of

EPOCH_MS = 1_700_000_000_000
AFTERWARDS_MS = 3_000
UNUSED_EXPIRY_MS = 300
SAVED = 0.2
"""The part of all turns after which a snapshot is taken."""

BUSY = {"never": 0.0, "sometimes": 0.1, "often": 0.4}
"""How often the machine keeps the server waiting for long."""


class TimedEngine(ManualEngine):
    """Containers that end by timers of a life."""

    def __init__(self, life: "Life") -> None:
        super().__init__(starts=False)
        self._life = life

    def launch(self, order):
        super().launch(order)
        self.report(ContainerStarted(order.container, holds_room=True))
        if order.command.arguments != ("drive",):
            run_ms, code = self._life.acts.run()
            self._life.call_at(self._life.now_ms + run_ms, self.end, order.container, code)

    def stop(self, container):
        at_ms = (self._life.now_ms // STOP_MS + 1) * STOP_MS
        self._life.call_at(at_ms, self.end, container, 143, "stopped")


class Life:
    """The life of one server; afterwards `records` has its journal, and `snapshots` has some of its
    states by the number of the last record."""

    def __init__(self, seed: int, scheduler: str, busy: float, crashes: float = 0.0) -> None:
        self.now_ms = 0
        self.acts = Acts(random.Random(seed), scheduler)
        self.scheduler = scheduler
        self.types = settings_with(scheduler, WEIGHTS).types
        self._busy = busy
        self._crashes = crashes
        self._machine = random.Random(seed + 1)
        self._saves = random.Random(seed + 2)
        self.snapshots: dict[int, Snapshot] = {}
        self._inbox: list[Any] = []
        self._timers: list[tuple[float, int, Any, tuple[Any, ...]]] = []
        self._timer = count()
        self._engine = TimedEngine(self)
        self._engine.start(self._inbox.append)
        self._journal = MemoryJournal()
        self._begin()
        self._live()
        self.records = list(self._journal.records())

    def call_at(self, at_ms, call, *arguments):
        heappush(self._timers, (max(at_ms, self.now_ms), next(self._timer), call, arguments))

    def _begin(self):
        """A server begins, with what the journal says."""
        manager = ResourceManager(family_of(self.scheduler).create(self.types))
        self._state = manager.state
        self._runtime = Runtime(
            manager,
            self._journal,
            self._engine,
            beat_interval_ms=BEAT_MS,
            unused_expiry_ms=UNUSED_EXPIRY_MS,
        )
        self._runtime.recover()

    def _crash(self):
        """The server is gone for a while; the next one first hears what has ended meanwhile."""
        machine = self._machine
        self.now_ms += machine.choice((50, 300, 900))
        self._call_due()
        reports = [one for one in self._inbox if type(one) in (ContainerStarted, ContainerExited)]
        self._inbox.clear()
        self._begin()
        self._runtime.feed(self.now_ms, reports)
        self._runtime.reconcile(self.now_ms)
        self.now_ms += machine.randint(0, 20)

    def _live(self):
        nodes = [NodeJoined(name, tuple(NODE.values())) for name in NODES]
        self._runtime.feed(0, [loading(self.scheduler, WEIGHTS, EPOCH_MS), *nodes])
        if self.scheduler == "capacity":
            self._inbox.append(AddLabels({LABEL: False}))
        at_ms = 0.0
        for _ in range(LENGTH):
            self.call_at(at_ms, self._act)
            at_ms += self.acts.pause_ms()
        self.call_at(at_ms, self._kill_all)
        end_ms = at_ms + AFTERWARDS_MS
        while (next_ms := self._next_ms()) is not None:
            if next_ms > end_ms and not self._runtime.unsettled:
                return
            self.now_ms = max(self.now_ms, int(next_ms)) + self._late_ms()
            if self._machine.random() < self._crashes:
                self._crash()
            self._turn()
            if self._saves.random() < SAVED:
                self._save()

    def _save(self):
        """Take a snapshot, as a server does between two turns."""
        position, memory = self._runtime.position, self._runtime.memory()
        parts = {MANAGER: self._runtime.manager}
        if memory is not None:
            parts[MEMORY] = memory
            self.snapshots[position.sequence] = freeze(position.sequence, position.now_ms, parts)

    def _next_ms(self):
        """When the server would wake; None: never again."""
        if self._inbox or self._runtime.unsettled:
            return self.now_ms
        times = [self._runtime.next_deadline_ms(), *(one[0] for one in self._timers[:1])]
        return min((one for one in times if one is not None), default=None)

    def _late_ms(self):
        machine = self._machine
        if machine.random() < self._busy:
            return machine.choice((machine.randint(5, 300), 700))
        return machine.choice((0, 0, 0, 1, 1, 2))

    def _call_due(self):
        while self._timers and self._timers[0][0] <= self.now_ms:
            _, _, call, arguments = heappop(self._timers)
            call(*arguments)

    def _turn(self):
        machine = self._machine
        self._call_due()
        size = machine.choice((len(self._inbox), len(self._inbox), 1))
        inputs = self._inbox[:size]
        del self._inbox[:size]
        asked, beats = count(1), machine.choice((1, 2, 3, 5, 1_000, 1_000, 1_000))
        self._runtime.turn(self.now_ms, inputs, lambda: next(asked) >= beats)
        if self._runtime.unsettled:  # that is so after some time
            self.now_ms += machine.randint(2, 5)

    def _act(self):
        for given in self.acts.next(self._state, self.now_ms):
            known = set(self._state.applications)
            self._inbox.append(given)
            if type(given) is SubmitApplication and given.driver is not None:
                self.call_at(self.now_ms, self._drive, known)

    def _drive(self, known):
        """Let a driver begin once its application is there."""
        for number, application in self._state.applications.items():
            if number not in known and application.submission.driver is not None:
                self._go_on(self.acts.driven(partial(self._application, number), self._engine))
                return
        self.call_at(self.now_ms + 10, self._drive, known)

    def _application(self, number):
        return self._state.applications[number]

    def _go_on(self, driven):
        for inputs, wait_ms in driven:
            self._inbox += inputs
            if wait_ms:
                self.call_at(self.now_ms + wait_ms, self._go_on, driven)
                return

    def _kill_all(self):
        alive = [one.id for one in self._state.applications.values() if not one.over]
        self._inbox += [KillApplication(number) for number in alive]


def grants(records):
    return {
        (event.container, event.node, record.now_ms)
        for record in records
        for event in record.events
        if type(event) is ContainerAllocated
    }


def decisions(records):
    """Each input, without what a container used, at its instant, and the kinds of its events."""
    for record in records:
        given = record.input
        if type(given) is ContainerExited:
            given = ContainerExited(given.container, 0)
        yield record.now_ms, given, [type(event) for event in record.events]


def simulated(life, records, origin=None):
    """The records of a simulation of a life as records tell it, from an origin on."""
    made = []
    new = partial(ResourceManager, family_of(life.scheduler).create(life.types))
    Rerun(
        read_history(records, life.scheduler, life.types, EPOCH_MS, origin),
        (new if origin is None else origin.manager)(),
        beat_interval_ms=BEAT_MS,
        unused_expiry_ms=UNUSED_EXPIRY_MS,
        paced=True,
        observers=(made.append,),
    ).run(records[-1].now_ms)
    return made


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("busy", BUSY)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_simulation_decides_what_a_server_decided_on_a_machine_that_is_busy(
    scheduler, busy, seed
):
    life = Life(seed, scheduler, BUSY[busy])
    assert len(grants(life.records)) > 10
    assert list(decisions(simulated(life, life.records))) == list(decisions(life.records))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_simulation_decides_what_several_servers_decided_one_after_the_crash_of_another(
    scheduler, seed
):
    life = Life(seed, scheduler, BUSY["sometimes"], crashes=0.03)
    assert list(decisions(simulated(life, life.records))) == list(decisions(life.records))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("busy", BUSY)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_simulation_goes_on_from_a_snapshot_as_the_server_did(scheduler, busy, seed):
    life = Life(seed, scheduler, BUSY[busy])
    assert life.snapshots
    for sequence, snapshot in life.snapshots.items():
        later = [record for record in life.records if record.sequence > sequence]
        made = simulated(life, later, origin_in(snapshot)) if later else []
        assert list(decisions(made)) == list(decisions(later)), sequence


def as_in_release_1(record):
    """A record as release 1.0.0 wrote it: without the turns of an instant, and of a timer without
    its name."""
    pace = [
        (before_ms, max(what, QUIET) if what != UPDATED else what)
        for before_ms, what in record.pace
        if before_ms or what > UPDATED
    ]
    return msgspec.structs.replace(record, pace=tuple(pace))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_most_grants_are_made_again_where_the_records_are_of_the_first_release(scheduler):
    known = again = 0
    for seed in range(8):
        life = Life(seed, scheduler, BUSY["never"])
        records = [as_in_release_1(record) for record in life.records]
        known += len(grants(records))
        again += len(grants(records) & grants(simulated(life, records)))
    assert again > 0.8 * known

"""A history of a server whose machine is late, and leaves turns half done, is simulated exactly."""

import random
from heapq import heappop, heappush
from itertools import count

import msgspec
import pytest
from tests.effort import examples
from tests.manual_engine import ManualEngine

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    DrainNode,
    KillApplication,
    LoadConfiguration,
    NodeJoined,
    NodeLost,
    SubmitApplication,
    UndrainNode,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.lab.simulate.readers.history import read_history
from fairshare.lab.simulate.rerun import Rerun
from fairshare.lab.simulate.simulator import EPOCH_MS
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.projections.compact_records import pack, thin, unpack
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

from .test_history import QUEUES, SETTINGS

BEAT_MS = 100
LIFE_MS = 4_000
NODES = ("n1", "n2", "n3")


class Life:
    """A runtime on a machine that is late at each deadline, and leaves turns after some beats."""

    def __init__(self, kind, chance):
        self.chance = chance
        self.journal = MemoryJournal()
        self.engine = ManualEngine(starts=False, stops=False)
        self.engine.witness = self._launched
        manager = ResourceManager(family_of(kind).create(ResourceTypes()))
        self.runtime = Runtime(manager, self.journal, self.engine, beat_interval_ms=BEAT_MS)
        self.now_ms = 0
        self.agenda = []
        self.pushed = count()

    def at(self, at_ms, given):
        heappush(self.agenda, (at_ms, next(self.pushed), given))

    def _launched(self, order):
        starts_ms = self.now_ms + self.chance.randint(1, 12)
        self.at(starts_ms, ContainerStarted(order.container))
        ends_ms = starts_ms + self.chance.randint(20, 900)
        self.at(ends_ms, ContainerExited(order.container, int(self.chance.random() < 0.1)))

    def run(self, settings):
        nodes = [NodeJoined(name, (8192, 8)) for name in NODES]
        load = LoadConfiguration(msgspec.json.encode(settings), EPOCH_MS)
        self.runtime.feed(0, [load, *nodes])
        self.now_ms = self.chance.choice((0, 30))
        while self.now_ms < LIFE_MS:
            inputs = []
            while self.agenda and self.agenda[0][0] <= self.now_ms:
                inputs.append(heappop(self.agenda)[2])
            if self.chance.random() < 0.05:  # as a server does that takes stock
                self.runtime.feed(self.now_ms, inputs)
                self.now_ms += self.chance.choice((5, 150))
                continue
            left = self.chance.random() < 0.3
            beats, asked = self.chance.randint(1, 4), count(1)
            enough = (lambda asked=asked, beats=beats: next(asked) >= beats) if left else None
            self.runtime.turn(self.now_ms, inputs, enough)
            self._wait()
        return list(self.journal.records())

    def _wait(self):
        """Until the next input or deadline, and a little longer."""
        deadline_ms = self.runtime.next_deadline_ms()
        times = [self.agenda[0][0]] if self.agenda else []
        times += [] if deadline_ms is None else [deadline_ms]
        late_ms = self.chance.choice((0, 0, 1, 2, 5, 30))
        self.now_ms = max(self.now_ms + 1, min(times, default=LIFE_MS) + late_ms)


def lived(kind, seed):
    """The records of a life in which anything may come."""
    chance = random.Random(seed)
    life = Life(kind, chance)
    for _ in range(40):
        group = TaskGroup("g", chance.randint(1, 12), (1024 * chance.randint(1, 3), 1))
        given = chance.choice(
            (
                *3 * (SubmitApplication("ann", chance.choice(QUEUES), tasks=(group,)),),
                KillApplication(chance.randint(1, 20)),
                DrainNode(chance.choice(NODES[1:])),
                UndrainNode(chance.choice(NODES[1:])),
                NodeLost("n3"),
                NodeJoined("n3", (8192, 8)),
            )
        )
        life.at(chance.randint(0, LIFE_MS), given)
    return life.run(SETTINGS[kind])


def grants(records):
    """What was granted before the last instant, of which a history may have only a part."""
    end_ms = records[-1].now_ms
    return [
        (record.now_ms, event.container, event.node)
        for record in records
        for event in record.events
        if type(event) is ContainerAllocated and record.now_ms < end_ms
    ]


@pytest.mark.parametrize("kind", sorted(SETTINGS))
@pytest.mark.parametrize("seed", range(examples(12)))
def test_a_late_machine_is_simulated_to_the_instant(kind, seed):
    records = lived(kind, seed)
    assert any(record.pace for record in records)
    compact = unpack(pack(one for one in map(thin, records) if one is not None))
    for history in (records, compact):
        world = read_history(history, kind, ResourceTypes(), EPOCH_MS)
        found = []
        manager = ResourceManager(family_of(kind).create(ResourceTypes()))
        rerun = Rerun(
            world, manager, beat_interval_ms=BEAT_MS, paced=True, observers=(found.append,)
        )
        rerun.run(world.end_ms)
        assert grants(found) == grants(records)

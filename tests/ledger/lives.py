"""Random lives of clusters under many limits, as records."""

import random
from heapq import heappop, heappush
from itertools import count

import msgspec
from tests.labelled_queues import LABEL, QUEUES, WHOLE, capacity_queues, capacity_settings
from tests.manual_engine import ManualEngine

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.bookings import Booking, BookingRules, Span
from fairshare.core.model.inputs import (
    AddLabels,
    ContainerExited,
    ContainerStarted,
    DrainNode,
    HoldApplication,
    KillApplication,
    LabelNodes,
    LoadConfiguration,
    MakeBooking,
    MasterRegistered,
    MoveApplication,
    NodeJoined,
    NodeLost,
    ReleaseApplication,
    RequestContainers,
    SubmitApplication,
    UndrainNode,
    UnregisterMaster,
)
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.usage import OFF, Budget, Fairness
from fairshare.core.model.work import ContainerRequest, TaskGroup
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.lab.simulate.simulator import EPOCH_MS
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.runtime import Runtime
from fairshare.settings.registry import family_of

USERS = ("ann", "bob", "eve")
NODES = ("n1", "n2", "n3", "n4")
BEAT_MS = 100
LIFE_MS = 6_000
MOST_RUN_MS = 3_000


def settings_of(scheduler, chance):
    """Settings with some limits, and often with preemption."""
    if scheduler == "capacity":
        return _capacity_settings(chance)
    preempts = chance.random() < 0.4
    queues = {
        name: QueueSettings(
            name,
            weight=chance.choice((1.0, 1.0, 2.0, 3.0)),
            max_share=Amount(fractions=(0.5, 0.5)) if chance.random() < 0.2 else None,
            max_running_applications=2 if chance.random() < 0.2 else None,
            max_master_share=0.1 if chance.random() < 0.3 else None,
            policy=chance.choice(("fair", "drf", "fifo")),
            fair_share_timeout_ms=chance.choice((200, 2_000)) if preempts else None,
            fair_share_threshold=1.0,
        )
        for name in QUEUES
    }
    return FairSettings(
        allocations=AllocationSettings(
            queues=queues,
            from_file=True,
            default_policy=chance.choice(("fair", "drf")),
            user_max_applications_default=3 if chance.random() < 0.2 else 1_000,
        ),
        preemption=preempts,
        preemption_utilization_threshold=0.5,
        wait_before_kill_ms=chance.choice((100, 1_000)),
        locality_threshold_node=chance.choice((-1.0, 1.0)),
    )


def _capacity_settings(chance):
    shares = chance.choice(((40.0, 40.0, 20.0), (100 / 3, 100 / 3, 100 / 3), (10.0, 20.0, 70.0)))

    def further(share):
        return {
            "maximum_capacity": share if chance.random() < 0.2 else WHOLE,
            "user_limit_factor": chance.choice((0.5, 1.0, 10.0, 10.0)),
            "maximum_master_share": chance.choice((0.1, 1.0)),
            "maximum_parallel_applications": 2 if chance.random() < 0.2 else None,
        }

    queues = capacity_queues(shares, further)
    preempts = chance.random() < 0.4
    return capacity_settings(
        queues,
        preempts=preempts,
        interval_ms=200,
        wait_before_kill_ms=chance.choice((100, 1_000)),
    )


def promising(settings, chance):
    """The same settings; of some lives with budgets that are used up after a while, and with rules
    for the bookings that come."""
    budgets = tuple(
        Budget(
            name=f"budget-{place}",
            queue=chance.choice((*QUEUES, "")) if user == "" else "",
            user=user,
            resource=place,
            limit=chance.choice((1_024, 2_048) if place == 0 else (1, 2)) * LIFE_MS,
            refuses=True,
        )
        for place, user in ((0, ""), (1, chance.choice(USERS)))
        if chance.random() < 0.2
    )
    # The past has no weight, but budgets are looked at every second.
    fairness = Fairness(half_life_ms=64_000, strength=0, budgets=budgets) if budgets else OFF
    bookings = BookingRules(
        ahead_ms=chance.choice((0, 1_000)), preempt_after_ms=chance.choice((None, 300))
    )
    return msgspec.structs.replace(settings, fairness=fairness, bookings=bookings)


class Life:
    """A runtime, and what happens to it."""

    def __init__(self, scheduler, seed):
        self.chance = random.Random(seed)
        self.scheduler = scheduler
        self._promises = random.Random(seed)  # so that all else is as without them
        self.settings = promising(settings_of(scheduler, self.chance), self._promises)
        self.journal = MemoryJournal()
        self.engine = ManualEngine(starts=False, stops=False)
        self.engine.witness = self._launched
        manager = ResourceManager(family_of(scheduler).create(ResourceTypes()))
        self.runtime = Runtime(manager, self.journal, self.engine, beat_interval_ms=BEAT_MS)
        self.now_ms = 0
        self._agenda = []
        self._pushed = count()

    def at(self, at_ms, given):
        """Something that happens."""
        heappush(self._agenda, (at_ms, next(self._pushed), given))

    def _launched(self, order):
        starts_ms = self.now_ms + self.chance.randint(1, 12)
        self.at(starts_ms, ContainerStarted(order.container))
        ends_ms = starts_ms + self.chance.randint(20, MOST_RUN_MS)
        self.at(ends_ms, ContainerExited(order.container, int(self.chance.random() < 0.1)))

    def records(self):
        """All of them."""
        load = LoadConfiguration(msgspec.json.encode(self.settings), EPOCH_MS)
        nodes = [NodeJoined(name, (8192, self.chance.choice((4, 8)))) for name in NODES]
        labels = [AddLabels({LABEL: self.chance.random() < 0.5})]
        self.runtime.feed(0, [load, *nodes, *(labels if self.scheduler == "capacity" else ())])
        times_ms = sorted(self.chance.randint(0, LIFE_MS * 3 // 4) for _ in range(30))
        for number, at_ms in enumerate(times_ms, 1):
            self._add_submission(number, at_ms)
        for _ in range(15):
            self._add_other()
        for number in range(self._promises.choice((0, 0, 1, 2))):
            self._add_booking(number)
        while self.now_ms < LIFE_MS:
            inputs = []
            while self._agenda and self._agenda[0][0] <= self.now_ms:
                inputs.append(heappop(self._agenda)[2])
            self.runtime.turn(self.now_ms, inputs)
            deadline_ms = self.runtime.next_deadline_ms()
            times = [self._agenda[0][0]] if self._agenda else []
            times += [] if deadline_ms is None else [deadline_ms]
            late_ms = self.chance.choice((0, 0, 1, 5))
            self.now_ms = max(self.now_ms + 1, min(times, default=LIFE_MS) + late_ms)
        return list(self.journal.records())

    def _add_submission(self, number, at_ms):
        chance = self.chance
        user, queue = chance.choice(USERS), chance.choice(QUEUES)
        size = (1024 * chance.randint(1, 4), chance.randint(1, 2))
        if chance.random() < 0.25:
            self.at(at_ms, SubmitApplication(user, queue, master=(1024, 1)))
            # What comes before its master runs is refused.
            self.at(at_ms + 300, MasterRegistered(number))
            asks = ContainerRequest(chance.randint(1, 8), size)
            self.at(at_ms + 400, RequestContainers(number, (asks,)))
            self.at(at_ms + chance.randint(1_000, 3_000), UnregisterMaster(number))
            return
        gang = chance.random() < 0.15
        hosts = chance.choice(((), (), (), NODES[:1]))
        group = TaskGroup(
            "t",
            chance.randint(1, 4 if gang else 15),
            size,
            hosts=hosts,
            relax=not hosts or chance.random() < 0.5,
            gang=gang,
            gang_timeout_ms=500,
            label=LABEL if self.scheduler == "capacity" and chance.random() < 0.15 else None,
        )
        self.at(at_ms, SubmitApplication(user, queue, tasks=(group,)))

    def _add_other(self):
        chance = self.chance
        number = chance.randint(1, 30)
        given = [
            KillApplication(number),
            MoveApplication(number, chance.choice(QUEUES)),
            HoldApplication(number),
            ReleaseApplication(number),
            DrainNode(chance.choice(NODES[1:])),
            UndrainNode(chance.choice(NODES[1:])),
            NodeLost(NODES[-1]),
            NodeJoined(NODES[-1], (8192, 8)),
        ]
        if self.scheduler == "capacity":
            given += 2 * [LabelNodes({chance.choice(NODES): chance.choice((LABEL, ""))})]
        self.at(chance.randint(100, LIFE_MS), chance.choice(given))

    def _add_booking(self, number):
        chance = self._promises
        at_ms = chance.randint(100, LIFE_MS // 2)
        from_ms = at_ms + chance.randint(0, 1_000)
        span = Span(from_ms, from_ms + chance.randint(1_000, LIFE_MS))
        resource = (1024 * chance.randint(2, 12), chance.randint(1, 8))
        user = chance.choice(("", "", chance.choice(USERS)))
        booking = Booking(f"booking-{number}", chance.choice(QUEUES), resource, (span,), user)
        self.at(at_ms, MakeBooking(booking))

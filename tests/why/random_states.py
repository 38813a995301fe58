"""Random states: clusters with random nodes, queues, limits and applications, in which each that
waits must have a reason, and each remedy that is proved must start it.
"""

import random
from collections.abc import Iterator

from tests.unit.core.schedulers.waiting import Cluster
from tests.why.judging import starts

from fairshare.core.model.inputs import DrainNode, HoldApplication, KillApplication
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import (
    AllocationSettings,
    Amount,
    FairSettings,
    QueueSettings,
)
from fairshare.core.schedulers.reasons import Lasts
from fairshare.lab.branch.history import origin_of
from fairshare.lab.branch.lives import FOR_EVER_MS
from fairshare.lab.branch.proving import prove
from fairshare.runtime.recovery import Position

LEAVES = ("root.p.a", "root.p.b", "root.c")
USERS = ("ann", "bob", "cid")


def _fair(draw: random.Random) -> FairSettings:
    def queue(name: str, **more: object) -> QueueSettings:
        limited = draw.random() < 0.4
        most = Amount(absolute=(1024 * draw.randint(1, 12), 16)) if limited else None
        running = draw.randint(0, 2) if draw.random() < 0.3 else None
        weight = draw.choice((0.5, 1.0, 3.0))
        return QueueSettings(
            name, max_share=most, max_running_applications=running, weight=weight, **more
        )

    queues = [queue("root.p", parent=True), *map(queue, LEAVES)]
    users = {user: draw.randint(0, 2) for user in USERS if draw.random() < 0.2}
    return FairSettings(
        maximum_allocation=(65_536, 64),
        allocations=AllocationSettings(
            queues={one.name: one for one in queues}, user_max_applications=users
        ),
    )


def _capacity(draw: random.Random) -> CapacitySettings:
    def queue(capacity: float, *children: str) -> CapacityQueue:
        limited = draw.random() < 0.4
        most = float(draw.randint(round(capacity), 100)) if limited else 100.0
        return CapacityQueue(
            children=children or None,
            capacity=Percentage(capacity),
            maximum_capacity=Percentage(most),
            maximum_parallel_applications=draw.randint(0, 2) if draw.random() < 0.2 else None,
            maximum_master_share=1.0 if not children else None,
            user_limit_factor=draw.choice((0.5, 1.0, 4.0)) if not children else None,
            minimum_user_limit_percent=draw.choice((25.0, 100.0)) if not children else None,
        )

    queues = {
        "root": CapacityQueue(children=("p", "c"), capacity=Percentage(100.0)),
        "root.p": queue(60.0, "a", "b"),
        "root.p.a": queue(50.0),
        "root.p.b": queue(50.0),
        "root.c": queue(40.0),
    }
    users = {user: draw.randint(0, 2) for user in USERS if draw.random() < 0.2}
    return CapacitySettings(
        queues=queues,
        maximum_allocation=(65_536, 64),
        dominant=draw.random() < 0.5,
        users_maximum_parallel_applications=users,
    )


def state(seed: int) -> tuple[str, Cluster]:
    """The scheduler and the cluster of a seed."""
    draw = random.Random(seed)
    kind = draw.choice(("fair", "capacity"))
    settings = _fair(draw) if kind == "fair" else _capacity(draw)
    nodes = tuple(
        (f"n{number}", (1024 * draw.choice((2, 4, 8)), draw.choice((2, 4, 8))))
        for number in range(1, draw.randint(2, 4))
    )
    cluster = Cluster(kind, settings, nodes)
    applications = []
    for _ in range(draw.randint(2, 7)):
        size = (1024 * draw.choice((1, 1, 1, 2, 3, 9)), draw.choice((1, 1, 2)))
        tasks = (TaskGroup("t", draw.randint(1, 6), size),)
        number = cluster.submit(tasks=tasks, queue=draw.choice(LEAVES), user=draw.choice(USERS))
        applications.append(number)
        if draw.random() < 0.6:
            cluster.run()
        if draw.random() < 0.1:
            cluster.feed(HoldApplication(number))
        if draw.random() < 0.15:
            cluster.feed(DrainNode(draw.choice(nodes)[0]))
        if draw.random() < 0.1:
            cluster.feed(KillApplication(draw.choice(applications)))
    cluster.run()
    cluster.run()
    return kind, cluster


def deviations(seed: int) -> Iterator[str]:
    """What is not as it should be in the state of a seed."""
    kind, cluster = state(seed)
    for number, application in tuple(cluster.manager.state.applications.items()):
        if application.over:
            continue
        reasons = cluster.why(number)
        if not reasons:
            if any(application.attempt.asks.pending):
                yield f"{seed}: application {number} waits, and no reason is given"
            continue
        origin = origin_of(cluster.manager, Position(1, 0))
        found = prove(origin, number, lambda *_: FOR_EVER_MS)
        first = reasons[0]
        lasting = first.never or first.cause.lasts is Lasts.PERMANENT
        if found.starts_after_ms is not None and first.cause.lasts is not Lasts.PASSING:
            yield f"{seed}: application {number} starts by itself in spite of {first.cause}"
        for remedy in found.remedies:
            words = " and ".join(action.words for action in remedy.actions)
            ends = all(action.command.startswith("fairshare kill") for action in remedy.actions)
            if lasting and ends:
                yield f"{seed}: application {number} never starts ({first.cause}), but: {words}"
            _, again = state(seed)
            if not starts(kind, again, number, remedy):
                yield f"{seed}: application {number} does not start although {words}"

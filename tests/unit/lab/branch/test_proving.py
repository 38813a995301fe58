"""Remedies that are proved: each one that is named starts what waits, and nothing else is named."""

import msgspec
import pytest
from tests.unit.core.schedulers.waiting import Cluster, ask, capacity, fair
from tests.unit.server.insight.test_situations import gang_of, limited, nested, parts

from fairshare.core.model.bookings import Booking, Span
from fairshare.core.model.inputs import (
    ChangeBlacklist,
    DrainNode,
    HoldApplication,
    LoadConfiguration,
    MakeBooking,
    MoveApplication,
    SetSafeMode,
    UndrainNode,
    UpdateUsage,
)
from fairshare.core.model.usage import Budget, Fairness
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.schedulers.capacity.settings import (
    CapacitySettings,
    LabelCapacity,
    MonitorSettings,
    Percentage,
)
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueue
from fairshare.core.schedulers.fair.settings import QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.core.schedulers.pools.settings import PoolAllocation, PoolAllocations, PoolsSettings
from fairshare.errors import InputError
from fairshare.lab.branch.history import origin_of
from fairshare.lab.branch.lives import FOR_EVER_MS
from fairshare.lab.branch.proving import prove
from fairshare.runtime.recovery import Position

HOUR_MS = 3_600_000
TWO = (("n1", (8192, 8)), ("n2", (8192, 8)))


def proved(cluster, application, run_ms=FOR_EVER_MS):
    origin = origin_of(cluster.manager, Position(1, 0))
    return prove(origin, application, lambda *_: run_ms)


def remedies(cluster, application, run_ms=FOR_EVER_MS):
    """Of each remedy the words of its actions."""
    found = proved(cluster, application, run_ms)
    return [[one.words for one in remedy.actions] for remedy in found.remedies]


def waiting(cluster, *asks, **more):
    application = cluster.submit(*asks, **more)
    cluster.run()
    return application


def test_a_maximum_is_raised_to_the_smallest_value_that_suffices():
    cluster = Cluster("fair", limited(3072))
    one = waiting(cluster, ask(5))
    assert remedies(cluster, one) == [["maxResources of root.a is raised to 4096 mb, 8 vcores"]]


def test_a_percentage_is_raised_to_the_smallest_one_that_suffices():
    cluster = Cluster("capacity", parts(parent=50.0))
    one = waiting(cluster, ask(6), queue="root.p.x")
    assert remedies(cluster, one)[0] == ["maximum-capacity of root.p is raised to 63 %"]


def waiting_for_budgets(*budgets):
    """An application whose budgets of memory have no hours."""
    cluster = Cluster("fair", msgspec.structs.replace(fair(), fairness=Fairness(budgets=budgets)))
    application = cluster.submit(ask(2))
    cluster.feed(UpdateUsage())
    cluster.run()
    return cluster, application


def test_a_budget_is_raised_to_the_hours_that_one_container_needs():
    cluster, one = waiting_for_budgets(Budget("a", "root.a", "", 0, 0, refuses=True))
    assert remedies(cluster, one) == [["hours of the budget a is raised to 1,024"]]


def test_two_budgets_that_are_used_up_are_raised_together():
    budgets = (
        Budget("a", "root.a", "", 0, 0, refuses=True),
        Budget("vcores", "", "ann", 1, 0, refuses=True),
    )
    cluster, one = waiting_for_budgets(*budgets)
    assert [sorted(words) for words in remedies(cluster, one)] == [
        ["hours of the budget a is raised to 1,024", "hours of the budget vcores is raised to 1"]
    ]


@pytest.mark.parametrize(("size", "changed"), [((1024, 1), True), ((8192, 8), False)])
def test_a_booking_is_made_smaller_by_what_is_lacking_or_cancelled(size, changed):
    cluster = Cluster("fair", fair(queues=(QueueSettings("root.a"), QueueSettings("root.b"))))
    span = Span(0, HOUR_MS)
    cluster.feed(MakeBooking(Booking("course", "root.b", (8192, 8), (span,))))
    one = waiting(cluster, ask(1, *size))
    smaller = [["the booking 'course' is changed to 7,168 MB, 7 vcores"]] if changed else []
    cancelled = ["the booking 'course' is cancelled"]
    joins = ["one more node joins (8,192 MB, 8 vcores)"]
    assert remedies(cluster, one) == [*smaller, cancelled, joins]


def test_two_limits_that_bind_are_named_together():
    cluster = Cluster("fair", nested(4096, 4096))
    one = waiting(cluster, ask(6), queue="root.p.a")
    assert [sorted(words) for words in remedies(cluster, one)] == [
        [
            "maxResources of root.p is raised to 5120 mb, 8 vcores",
            "maxResources of root.p.a is raised to 5120 mb, 8 vcores",
        ]
    ]


def test_a_gangs_maximum_is_raised_until_all_of_it_fits():
    cluster = Cluster("fair", limited(4096))
    gang = waiting(cluster, **gang_of(6))
    assert remedies(cluster, gang) == [["maxResources of root.a is raised to 6144 mb, 8 vcores"]]


def test_limits_on_running_applications_of_a_user_and_a_queue_are_named_together():
    queues = [QueueSettings("root.a", max_running_applications=1)]
    cluster = Cluster("fair", fair(queues, user_max_applications={"ann": 1}))
    cluster.submit(ask(1))
    two = waiting(cluster, ask(1))
    both, end = remedies(cluster, two)
    assert sorted(both) == [
        "maxRunningApps of root.a is raised to 2",
        "maxRunningApps of the user ann is raised to 2",
    ]
    assert end == ["application_1_0001 of ann ends"]


@pytest.mark.parametrize(
    ("kind", "settings", "more", "words"),
    [
        (
            "fair",
            fair([QueueSettings("root.a", max_running_applications=0)]),
            {},
            "maxRunningApps of root.a is raised to 1",
        ),
        (
            "capacity",
            capacity(maximum_parallel_applications=0),
            {},
            "max-parallel-apps of root.a is raised to 1",
        ),
        (
            "capacity",
            capacity(minimum_user_limit_percent=25.0, user_limit_factor=0.25),
            {},
            "user-limit-factor of root.a is raised to 0.3",
        ),
        (
            "fair",
            fair([QueueSettings("root.a", max_master_share=0.1)]),
            {"master": (1024, 1), "driver": Command(("drive",))},
            "maxAMShare of root.a is raised to 0.15",
        ),
    ],
)
def test_the_setting_that_makes_a_limit_is_raised(kind, settings, more, words):
    cluster = Cluster(kind, settings)
    one = waiting(cluster, **more) if more else waiting(cluster, ask(6))
    assert remedies(cluster, one)[0] == [words]


def test_a_pools_limit_on_jobs_is_raised():
    pools = {"a": PoolAllocation("a", max_running_jobs=0)}
    settings = PoolsSettings(allocations=PoolAllocations(pools=pools))
    cluster = Cluster("pools", settings, (("n1", (8192, 8, 2, 2)),))
    one = waiting(cluster, tasks=(TaskGroup("map", 1, (0, 0, 1, 0)),))
    assert ["maxRunningJobs of a is raised to 1"] in remedies(cluster, one)


def test_a_partitions_maximum_is_raised_and_not_that_of_the_rest():
    part = LabelCapacity(Percentage(100.0), Percentage(50.0))
    settings = capacity(
        accessible_labels=("x",), label_capacities={"x": part}, user_limit_factor=10.0
    )
    root = msgspec.structs.replace(
        settings.queues["root"],
        accessible_labels=("x",),
        label_capacities={"x": LabelCapacity(Percentage(100.0), Percentage(100.0))},
    )
    settings = msgspec.structs.replace(
        settings,
        queues={**settings.queues, "root": root},
        labels={"x": True},
        label_of_node={"n1": "x"},
        labels_enabled=True,
    )
    cluster = Cluster("capacity", settings)
    one = waiting(cluster, ask(6, label="x"))
    assert remedies(cluster, one)[0] == [
        "accessible-node-labels.x.maximum-capacity of root.a is raised to 63 %"
    ]


def test_a_drained_node_is_undrained():
    cluster = Cluster("fifo", FifoSettings(), TWO)
    cluster.feed(DrainNode("n1"))
    cluster.submit(ask(8))
    two = waiting(cluster, ask(1))
    first = proved(cluster, two).remedies[0].actions[0]
    assert (first.words, first.command) == ("n1 is undrained", "fairshare admin undrain n1")


def test_a_drained_node_that_is_full_is_not_a_remedy():
    cluster = Cluster("fifo", FifoSettings(), TWO)
    cluster.submit(ask(16))
    cluster.run()
    cluster.feed(DrainNode("n1"))
    two = waiting(cluster, ask(1))
    assert ["n1 is undrained"] not in remedies(cluster, two)


def test_what_is_held_is_released_and_the_safe_mode_ends():
    cluster = Cluster("fifo", FifoSettings())
    cluster.submit(ask(8))
    one = waiting(cluster, tasks=(TaskGroup("t", 2, (1024, 1)),))
    cluster.feed(HoldApplication(one))
    both = remedies(cluster, one)
    assert ["it is released", "one more node joins (8,192 MB, 8 vcores)"] in both
    safe = Cluster("fifo", FifoSettings())
    one = safe.submit(ask(1))
    safe.feed(SetSafeMode(True))
    assert remedies(safe, one) == [["the safe mode ends"]]


def test_a_reload_starts_what_is_held_back_though_a_move_has_made_room():
    cluster = Cluster("capacity", parts(maximum_parallel_applications=1))
    one, two = (cluster.submit(ask(1), queue="root.p.x") for _ in range(2))
    cluster.feed(MoveApplication(one, "root.q"))
    cluster.run()
    assert remedies(cluster, two) == [["the configuration is reloaded"]]


def test_a_blacklist_is_lifted():
    cluster = Cluster("fair", fair(), TWO)
    cluster.feed(DrainNode("n2"))
    cluster.submit(ask(8))
    cluster.run()
    cluster.feed(UndrainNode("n2"))
    one = cluster.submit(ask(1))
    cluster.feed(ChangeBlacklist(one, ("n2",), ()))
    cluster.run()
    first = remedies(cluster, one)[0]
    assert first == ["its master takes all nodes from its blacklist"]


def test_a_node_that_joins_is_large_enough_for_the_container():
    cluster = Cluster("fair", fair(), (("n1", (8192, 3)), ("n2", (2048, 8))))
    one = waiting(cluster, ask(1, 6144, 6))
    assert remedies(cluster, one) == [["one more node joins (8,192 MB, 6 vcores)"]]


def test_what_happens_if_nothing_is_done_follows_from_run_times():
    cluster = Cluster("fair", fair())
    cluster.submit(tasks=(TaskGroup("t", 8, (1024, 1)),))
    cluster.run()
    two = waiting(cluster, ask(1))
    found = proved(cluster, two, run_ms=1_200_000)
    assert 1_200_000 <= found.starts_after_ms <= 1_201_001
    assert found.remedies
    unknown = proved(cluster, two)
    assert unknown.starts_after_ms is None


def test_what_starts_soon_needs_no_remedy():
    cluster = Cluster("fair", fair())
    one = cluster.submit(ask(1))
    found = proved(cluster, one)
    assert found.starts_after_ms < 2_000
    assert (found.remedies, found.branches) == ((), 1)


def test_the_state_is_as_before_a_search():
    cluster = Cluster("fair", limited(3072))
    one = waiting(cluster, ask(5))
    first = proved(cluster, one)
    assert cluster.containers(one) == 3
    assert proved(cluster, one) == first


def test_what_does_not_wait_has_no_remedies():
    cluster = Cluster("fair", fair())
    one = waiting(cluster, ask(1))
    with pytest.raises(InputError, match="application 1 waits for nothing"):
        proved(cluster, one)
    with pytest.raises(InputError, match="there is no application 9"):
        proved(cluster, 9)


def test_the_printed_value_of_a_setting_starts_the_container_and_one_less_does_not():
    def settings(memory_mb):
        return LoadConfiguration(msgspec.json.encode(limited(memory_mb)), 1)

    cluster = Cluster("fair", limited(3072))
    one = waiting(cluster, ask(5))
    action = proved(cluster, one).remedies[0].actions[0]
    assert (action.setting, action.value) == ("maxResources of root.a", "4096 mb, 8 vcores")
    cluster.feed(settings(4095))
    cluster.run()
    assert cluster.containers(one) == 3
    cluster.feed(settings(4096))
    cluster.run()
    assert cluster.containers(one) == 4


def borrowed(kind, settings):
    """The application of root.a that waits, while root.b has all that both are entitled to."""
    cluster = Cluster(kind, settings, TWO)
    cluster.submit(tasks=(TaskGroup("t", 16, (1024, 1)),), queue="root.b", user="bob")
    cluster.run()
    return cluster, waiting(cluster, ask(4))


def halves(**monitor):
    leaf = CapacityQueue(
        capacity=Percentage(50.0), maximum_master_share=1.0, user_limit_factor=10.0
    )
    root = CapacityQueue(children=("a", "b"), capacity=Percentage(100.0))
    return CapacitySettings(
        queues={"root": root, "root.a": leaf, "root.b": leaf},
        maximum_allocation=(65536, 64),
        monitor=MonitorSettings(**monitor),
    )


def test_preemption_that_is_off_is_a_remedy_for_a_queue_below_its_share():
    cluster, one = borrowed("fair", fair([QueueSettings("root.a"), QueueSettings("root.b")]))
    found = proved(cluster, one).remedies[0]
    assert [action.words for action in found.actions] == [
        "preemption works with yarn.scheduler.fair.preemption = true,"
        " fairSharePreemptionTimeout of root.a = 60"
    ]
    assert 60_000 <= found.starts_after_ms <= 90_000
    cluster, one = borrowed("capacity", halves())
    assert remedies(cluster, one)[0] == [
        "preemption works with yarn.resourcemanager.scheduler.monitor.enable = true"
    ]


def test_the_queue_that_is_exempt_from_preemption_is_named():
    queues = [
        QueueSettings("root.a", fair_share_timeout_ms=1_000),
        QueueSettings("root.b", preemptable=False),
    ]
    settings = msgspec.structs.replace(fair(queues), preemption=True)
    cluster, one = borrowed("fair", settings)
    (words,) = remedies(cluster, one)[0]
    assert words.endswith("allowPreemptionFrom of root.b = true")


def test_of_a_cluster_that_is_too_large_nothing_is_said(monkeypatch):
    monkeypatch.setattr("fairshare.lab.branch.proving.MOST_S", 0.0)
    cluster = Cluster("fair", limited(3072))
    one = waiting(cluster, ask(5))
    with pytest.raises(InputError, match="nothing is proved"):
        proved(cluster, one)

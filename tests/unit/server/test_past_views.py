"""What the server remembers of past moments, and how much of it."""

import itertools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from fairshare.api.nodes import Node
from fairshare.core.schedulers.views import QueueView
from fairshare.server import past_views
from fairshare.server.past_views import PastView, PastViews
from fairshare.server.views import ClusterView

CLUSTER = ClusterView(
    total=(100, 10), used=(0, 0), available=(100, 10), pending=(0, 0), nodes=1, containers=0,
    applications={},
)  # fmt: skip


def queue(name: str, used: int) -> QueueView:
    none = (0, 0)
    return QueueView(
        name=name, leaf=True, dynamic=False, parent="root", children=(), policy="fair",
        used=(used, 1), reserved=none, demand=(used + 5, 1), pending=none, min_share=(7, 0),
        max_share=(100, 10), fair_share=(50, 5), steady_fair_share=(40, 4), weight=1.0,
        running_applications=0, pending_applications=0, max_running_applications=None,
        containers=0, reserved_containers=0, preempted=0, preemptable=True,
    )  # fmt: skip


def moment(at_ms: int, *queues: QueueView) -> PastView:
    return PastView(at_ms, at_ms, CLUSTER, queues or (queue("root.a", at_ms % 97),))


def filled(*instants: int, budget_bytes: int = 1 << 30) -> PastViews:
    moments = PastViews(0, budget_bytes)
    for at_ms in instants:
        moments.add(moment(at_ms))
    return moments


def test_a_moment_comes_back_as_it_was():
    moments = PastViews(0)
    given = moment(5_000, queue("root.a", 3), queue("root.b", 8))
    moments.add(given)
    assert moments.at(5_000) == given


def test_a_short_break_ends_the_time_in_which_a_queue_lacked_something():
    moments = PastViews(0)
    for second in range(5_000):
        used = 60 if second == 1_234 else 3
        moments.add(moment(second * 1_000, queue("root.a", used), queue("root.b", 60)))
    assert len(moments) < 1_000
    assert moments.owed_since == {("root.a", 0): 1_235_000}
    moments.add(moment(5_000_000, queue("root.b", 3)))
    assert moments.owed_since == {("root.b", 0): 5_000_000}


def test_the_moment_that_holds_is_the_last_one_before():
    moments = filled(1_000, 2_000, 9_000)
    assert moments.at(8_999).at_ms == 2_000
    assert moments.at(10**12).at_ms == 9_000


def test_nothing_is_remembered_of_what_lies_before_the_first():
    assert filled(1_000).at(999) is None
    assert PastViews(0).at(5) is None


def test_the_lines_of_a_queue_are_those_of_its_views():
    (point,) = filled(3_000).series("root.a", 0, 10_000, 10)
    assert (point.used, point.demand, point.fair_share) == ((90, 1), (95, 1), (50, 5))
    assert (point.steady_fair_share, point.guaranteed, point.total) == ((40, 4), (7, 0), (100, 10))


def test_a_line_begins_with_the_point_that_held_when_the_span_began():
    points = filled(1_000, 2_000, 3_000, 4_000).series("root.a", 2_500, 3_500, 10)
    assert [point.at_ms for point in points] == [2_000, 3_000]


def test_a_queue_has_no_points_while_it_was_not_there():
    moments = PastViews(0)
    moments.add(moment(1_000))
    moments.add(moment(2_000, queue("root.a", 1), queue("root.new", 2)))
    moments.add(moment(3_000))
    assert [point.at_ms for point in moments.series("root.new", 0, 9_000, 10)] == [2_000]
    assert moments.series("root.other", 0, 9_000, 10) == []


def test_points_are_at_most_as_many_as_asked_and_the_last_is_among_them():
    moments = filled(*range(0, 200_000, 1_000))
    points = moments.series("root.a", 0, 10**9, 20)
    assert 10 <= len(points) <= 21
    assert points[-1].at_ms == 199_000


@pytest.mark.slow
def test_older_moments_are_sparser_and_end_after_a_day():
    moments = filled(*range(0, 30 * 3_600_000, 5_000))
    latest = 30 * 3_600_000 - 5_000
    kept = [point.at_ms for point in moments.series("root.a", 0, latest, 2_000)]
    assert latest - kept[0] <= 86_400_000 + 120_000
    young = [at for at in kept if latest - at <= 240_000]
    assert all(after - at == 5_000 for at, after in itertools.pairwise(young))
    old = [at for at in kept if latest - at > 3_700_000]
    assert all(after - at >= 60_000 for at, after in itertools.pairwise(old))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_together_stay_within_the_budget_and_the_newest_stays(seed):
    print(f"repeat with seed {seed}")
    chance = random.Random(seed)
    moments = PastViews(0, 40_000)
    for n in range(600):
        queues = tuple(queue(f"root.q{k}", chance.randrange(10**9)) for k in range(20))
        moments.add(moment(n * 1_000, *queues))
        assert moments.size <= 40_000
    assert moments.at(10**9).at_ms == 599_000
    assert moments.at(300_000) is not None, "the past gets coarser, not shorter"


def test_the_newer_of_two_moments_stays_where_there_is_room_for_none():
    moments = PastViews(0, budget_bytes=1)
    for used in (1, 2):
        moments.add(moment(used * 1_000), nodes={"n1": node("n1", used)})
    assert moments.instant(10**9) == 2_000
    assert moments.nodes.at(2_000) == {"n1": node("n1", 2)}


def node(name: str, used: int) -> Node:
    total, free = {"memory-mb": 100, "vcores": 10}, {"memory-mb": 100 - used, "vcores": 10}
    return Node(name, "/r", total, {"memory-mb": used, "vcores": 0}, free, containers=1)


def test_each_kept_moment_has_its_nodes():
    moments = PastViews(0, budget_bytes=20_000)
    truth = {}
    for at_ms in range(1_000, 400_000, 1_000):
        nodes = {f"n{n}": node(f"n{n}", at_ms // 1_000 % (n + 2)) for n in range(3)}
        moments.add(moment(at_ms), nodes=nodes)
        truth[at_ms] = nodes
    assert 1 < len(moments) < 300
    assert moments.size <= 20_000
    for at_ms in range(1_000, 400_000, 7_000):
        instant = moments.instant(at_ms)
        if instant is not None:
            assert moments.at(at_ms).at_ms == instant
            assert moments.nodes.at(instant) == truth[instant]


def test_a_demand_of_more_than_64_bits_is_remembered():
    moments = PastViews(0)
    given = moment(5_000, msgspec.structs.replace(queue("root.a", 3), demand=(2 * 10**19, 1)))
    node = Node("n1", "/r", {"memory-mb": 10**20, "vcores": 1})
    moments.add(given, nodes={"n1": node})
    assert moments.at(5_000) == given
    assert moments.nodes.at(5_000) == {"n1": node}


def test_a_moment_costs_its_own_processor_time_and_not_the_wait_for_other_work():
    ready, go = threading.Event(), threading.Event()
    cost = past_views._Cost()

    def wait_for_other_work() -> str:
        ready.set()
        go.wait(10)
        return "packed"

    with ThreadPoolExecutor(1) as threads:
        packed = threads.submit(cost.of, wait_for_other_work)
        ready.wait(10)
        began_ns = time.thread_time_ns()
        while time.thread_time_ns() - began_ns < 50_000_000:
            pass  # another thread's work
        go.set()
        assert packed.result() == "packed"
    assert cost.ms < 25


def test_the_steps_of_a_moment_cost_what_they_take_without_their_pauses():
    def steps():
        burn()
        yield
        burn()
        return "queues"

    def burn():
        began_ns = time.thread_time_ns()
        while time.thread_time_ns() - began_ns < 2_000_000:
            pass

    cost = past_views._Cost()
    made = cost.of_steps(steps())
    next(made)
    for _ in range(5):
        burn()
    with pytest.raises(StopIteration) as end:
        next(made)
    assert end.value.value == "queues"
    assert 4 <= cost.ms < 4 + 5 * 2

"""Simulations, small enough to be worked out by hand."""

import json

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated, ContainerCompleted, ContainerRunning
from fairshare.core.model.inputs import ContainerExited, NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import ContainerRequest, TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.lab.simulate.report import encode, spread
from fairshare.lab.simulate.simulator import PATIENCE_MS, Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.settings.registry import family_of

SETTINGS = {"fair": FairSettings, "fifo": FifoSettings, "capacity": CapacitySettings}
ONE_NODE = (NodeJoined("n1", (4096, 4)),)


def arrival(at_ms, user, *groups, queue="default"):
    """Groups are (name, count, durations, further fields of the group, failing attempts)."""
    specs, plans = [], []
    for name, count, durations_ms, *more in groups:
        fields = more[0] if more else {}
        specs.append(TaskGroup(name, count, fields.pop("resource", (1024, 1)), **fields))
        plans.append(GroupPlan(durations_ms, more[1] if len(more) > 1 else 0))
    return Arrival(at_ms, SubmitApplication(user, queue, tasks=tuple(specs)), tuple(plans))


def simulator(arrivals, kind="fair", settings=None, nodes=ONE_NODE, sessions=(), **options):
    settings = settings or SETTINGS[kind]()
    journal = MemoryJournal()
    manager = ResourceManager(family_of(kind).create(ResourceTypes()))
    workload = Workload(tuple(nodes), tuple(arrivals), ("a note",), tuple(sessions))
    made = Simulator(manager, msgspec.json.encode(settings), workload, journal, **options)
    made.journal = journal
    return made


def turnarounds(report):
    return {one.user: one.turnaround_ms for one in report.applications}


def test_tasks_run_one_wave_after_another():
    report = simulator([arrival(0, "ann", ("t", 10, 1_000))]).run()
    # Four fit at a time: three waves.
    assert turnarounds(report) == {"ann": 3_000}
    assert report.makespan_ms == 3_000
    assert report.containers.granted == report.containers.succeeded == 10
    assert report.utilization["vcores"] == round(10 / 12, 6)
    assert report.applications_by_state["FINISHED"] == 1


@pytest.mark.parametrize("kind", ["fair", "fifo"])
def test_tasks_run_longer_on_the_rack_of_their_host_and_on_other_racks(kind):
    nodes = [NodeJoined(name, (1024, 1), rack) for name, rack in (("a", "/1"), ("b", "/1"))]
    nodes.append(NodeJoined("c", (1024, 1), "/2"))
    group = TaskGroup("t", 3, (1024, 1), hosts=("a",), racks=("/1",))
    plan = GroupPlan(1_000, (0, 0, 0), rack_factor=1.5, off_switch_factor=3.0)
    made = Arrival(0, SubmitApplication("ann", "default", tasks=(group,)), (plan,))
    run = simulator([made], kind, nodes=nodes)
    run.run()
    granted, runs = {}, {}
    for record in run.journal.records():
        for event in record.events:
            if type(event) is ContainerAllocated:
                granted[event.container] = event
            elif type(event) is ContainerCompleted:
                one = granted[event.container]
                runs[one.node] = record.now_ms - one.allocated_ms
    assert runs == {"a": 1_000, "b": 1_500, "c": 3_000}


def test_fair_shares_let_the_second_one_in_and_fifo_does_not():
    both = [arrival(0, "ann", ("t", 40, 1_000)), arrival(500, "bob", ("t", 4, 1_000))]
    fair = turnarounds(simulator(both).run())
    fifo = turnarounds(simulator(both, "fifo").run())
    assert fair["bob"] == 2_500  # from the next wave on two at a time
    assert fifo["bob"] == 10_500  # after all of ann's ten waves
    assert (fair["ann"], fifo["ann"]) == (11_000, 10_000)


def test_each_task_has_its_own_duration():
    report = simulator([arrival(0, "ann", ("t", 3, (100, 5_000, 200)))]).run()
    assert turnarounds(report) == {"ann": 5_000}


def test_a_group_waits_for_those_that_it_names():
    reduce = ("reduce", 1, 100, {"after": ("map",), "slow_start": 1.0})
    report = simulator([arrival(0, "ann", ("map", 2, 1_000), reduce)]).run()
    assert turnarounds(report) == {"ann": 1_100}


def test_a_task_that_fails_is_tried_again():
    run = simulator([arrival(0, "ann", ("t", 2, 1_000, {}, (0, 2)))])
    report = run.run()
    assert turnarounds(report) == {"ann": 3_000}
    assert (report.containers.granted, report.containers.failed) == (4, 2)
    assert report.applications[0].failed_containers == 2


def test_a_task_that_fails_too_often_fails_its_application():
    report = simulator([arrival(0, "ann", ("t", 2, 1_000, {"max_attempts": 2}, 9))]).run()
    (ann,) = report.applications
    assert (ann.state, ann.turnaround_ms) == ("FAILED", 2_000)
    assert "failed 2 times" in ann.diagnostics
    assert report.containers.aborted == 0 or report.containers.failed >= 2


def test_a_task_that_runs_too_long_is_ended_at_its_limit():
    settings = {"time_limit_ms": 300, "max_attempts": 1}
    report = simulator([arrival(0, "ann", ("t", 1, 1_000, settings))]).run()
    assert (report.applications[0].state, report.makespan_ms) == ("FAILED", 300)


def test_waiting_ends_with_the_first_container():
    run = simulator([arrival(0, "ann", ("t", 4, 1_000)), arrival(300, "bob", ("t", 1, 50))])
    report = run.run()
    assert [one.waiting_ms for one in report.applications] == [0, 700]
    assert report.waiting == spread([0, 700])
    assert {user.name: user.waiting.max for user in report.users} == {"ann": 0, "bob": 700}


def test_what_is_refused_is_reported_and_mixes_up_nothing():
    too_large = arrival(0, "eve", ("t", 1, 77, {"resource": (99_999, 1)}))
    run = simulator([too_large, arrival(0, "ann", ("t", 1, 1_000)), too_large])
    report = run.run()
    assert [one.state for one in report.applications] == ["REJECTED", "FINISHED", "REJECTED"]
    assert turnarounds(report) == {"eve": None, "ann": 1_000}
    assert report.applications_by_state["REJECTED"] == 2


def test_a_simulation_may_be_stopped_and_go_on():
    arrivals = [arrival(0, "ann", ("t", 10, 1_000))]
    whole, parts = simulator(arrivals), simulator(arrivals)
    early = parts.run(until_ms=1_500)
    assert early.end_ms == 1_500
    assert early.applications_by_state["RUNNING"] == 1
    assert early.containers.granted == 8
    assert parts.engine.running()
    parts.run()
    whole.run()
    assert list(parts.journal.records()) == list(whole.journal.records())


def test_what_can_never_run_does_not_hold_up_the_end():
    # The node is smaller than the largest container that may be asked for.
    run = simulator([arrival(0, "ann", ("t", 1, 50, {"resource": (8192, 1)}))])
    report = run.run()
    assert report.applications_by_state["PENDING"] + report.applications_by_state["RUNNING"] == 1
    assert report.end_ms <= 2 * PATIENCE_MS
    assert report.applications[0].waiting_ms is None


def test_a_simulation_without_nodes_or_arrivals_ends():
    assert simulator([], nodes=()).run().makespan_ms == 0
    report = simulator([arrival(5, "ann", ("t", 1, 50))], nodes=()).run()
    assert report.containers.granted == 0
    assert report.utilization == {"memory-mb": 0.0, "vcores": 0.0}


PREEMPTING = FairSettings(
    preemption=True,
    wait_before_kill_ms=1_000,
    allocations=AllocationSettings(fair_share_timeout_ms=1_000, min_share_timeout_ms=1_000),
)


def test_preemption_takes_and_the_taken_runs_again():
    arrivals = [arrival(0, "ann", ("t", 4, 60_000)), arrival(5_000, "bob", ("t", 4, 60_000))]
    report = simulator(arrivals, settings=PREEMPTING).run()
    ann, bob = report.applications
    assert bob.waiting_ms < 5_000
    assert ann.preempted_containers == report.containers.preempted > 0
    assert report.containers.succeeded == 8
    assert {ann.state, bob.state} == {"FINISHED"}


def test_containers_without_a_plan_end_at_once_and_do_not_stop_the_rest():
    outside = SubmitApplication("eve", requests=(ContainerRequest(1, (1024, 1)),))
    run = simulator([Arrival(0, outside, ()), arrival(0, "ann", ("t", 1, 1_000))])
    report = run.run()
    assert turnarounds(report)["ann"] == 1_000


def test_every_exit_and_start_is_recorded():
    run = simulator([arrival(0, "ann", ("t", 3, 1_000))])
    run.run()
    exits = [r for r in run.journal.records() if isinstance(r.input, ContainerExited)]
    assert [record.now_ms for record in exits] == [1_000] * 3


def started(run):
    events = (event for record in run.journal.records() for event in record.events)
    return [event.container for event in events if type(event) is ContainerRunning]


@pytest.mark.parametrize("settings", [FairSettings(), PREEMPTING])
def test_the_report_is_the_same_without_records_of_starts(settings):
    arrivals = [arrival(0, "ann", ("t", 6, 60_000)), arrival(5_000, "bob", ("t", 4, 30_000))]
    runs = [simulator(arrivals, settings=settings, starts=starts) for starts in (True, False)]
    with_starts, without = (encode(run.run()) for run in runs)
    assert with_starts == without
    assert len(started(runs[0])) >= 10
    # With preemption an update of shares comes before a start, so that it must not be left out.
    assert bool(started(runs[1])) == settings.preemption


def test_the_timeline_adds_up():
    report = simulator(
        [arrival(0, "ann", ("t", 12, 1_000)), arrival(0, "bob", ("t", 4, 1_000))]
    ).run()
    assert sum(sample.length_ms for sample in report.timeline) == report.end_ms
    used = sum(s.used["vcores"] * s.length_ms for s in report.timeline)
    assert used == pytest.approx(16_000)
    by_queue = sum(
        q.used["vcores"] * s.length_ms for s in report.timeline for q in s.queues.values()
    )
    assert by_queue == pytest.approx(16_000)
    first = report.timeline[0]
    assert first.total == {"memory-mb": 4096, "vcores": 4}
    shares = {name: queue.fair_share["memory-mb"] for name, queue in first.queues.items()}
    assert shares == {"root.ann": 2048, "root.bob": 2048}


def test_the_report_is_json_with_sorted_keys():
    text = encode(simulator([arrival(0, "ann", ("t", 3, 1_000))]).run())
    decoded = json.loads(text)
    assert list(decoded) == sorted(decoded)
    assert decoded["notes"] == ["a note"]
    assert decoded["applications"][0]["id"] == "application_1000000000000_0001"
    assert text.endswith(b"}\n")


def test_a_spread_is_made_of_the_times_themselves():
    assert spread([]) is None
    assert spread([7]).p95 == 7
    made = spread([5, 1, 3])
    assert (made.min, made.mean, made.p50, made.p95, made.max) == (1, 3.0, 3, 5, 5)


def test_two_gangs_share_the_nodes_one_after_the_other():
    gang = {"gang": True, "gang_timeout_ms": 5_000}
    both = [
        arrival(0, "ann", ("t", 3, 20_000, dict(gang))),
        arrival(0, "bob", ("t", 3, 20_000, dict(gang))),
    ]
    simulated = simulator(both)
    report = simulated.run()
    # Each holds two of four containers for 5 s; then the younger one gives up, until room is free.
    assert turnarounds(report)["ann"] == 25_000
    assert 45_000 <= turnarounds(report)["bob"] <= 46_000
    assert report.applications_by_state["FINISHED"] == 2

"""Faults of a simulation: nodes that are lost and come back, tasks that fail."""

import doctest

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerCompleted
from fairshare.core.model.inputs import NodeJoined, NodeLost, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.lab.simulate import faults as module
from fairshare.lab.simulate.faults import Faults, FaultSettings, parse_faults
from fairshare.lab.simulate.simulator import PATIENCE_MS, Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.settings.registry import family_of

HOUR_MS = 3_600_000
NODES = (NodeJoined("n1", (4096, 4)), NodeJoined("n2", (4096, 4)))


def run(settings, seed=1, *, kind="fair", tasks=200, memory_mb=1024, attempts=50, nodes=NODES):
    group = TaskGroup("t", tasks, (memory_mb, 1), max_attempts=attempts)
    arrival = Arrival(0, SubmitApplication("ann", tasks=(group,)), (GroupPlan(60_000),))
    journal = MemoryJournal()
    scheduler = family_of(kind).create(ResourceTypes())
    faults = Faults(settings, seed)
    simulator = Simulator(
        ResourceManager(scheduler),
        msgspec.json.encode(FairSettings() if kind == "fair" else FifoSettings()),
        Workload(nodes, (arrival,)),
        journal,
        faults=faults,
    )
    report = simulator.run()
    return report, list(journal.records()), faults


def losses(records):
    return [(one.now_ms, one.input.node) for one in records if type(one.input) is NodeLost]


def test_nodes_are_lost_and_come_back_and_the_work_is_done():
    report, records, faults = run(FaultSettings(mtbf_ms=10 * 60_000, repair_ms=60_000))
    assert report.applications_by_state["FINISHED"] == 1
    assert report.containers.aborted > 0
    assert faults.lost == len(losses(records)) > 0
    joined = [one for one in records if type(one.input) is NodeJoined]
    assert len(joined) in (2 + faults.lost, 2 + faults.lost - 1)  # the last one may still be away
    assert report.notes[-1].startswith("Faults of seed 1: nodes were lost ")


def test_a_seed_decides_the_faults_and_another_seed_others():
    settings = FaultSettings(mtbf_ms=10 * 60_000, repair_ms=60_000, tasks=0.05)
    assert run(settings)[1] == run(settings)[1]
    assert losses(run(settings)[1]) != losses(run(settings, 2)[1])


def test_the_faults_are_the_same_under_another_scheduler():
    settings = FaultSettings(mtbf_ms=10 * 60_000, repair_ms=60_000)
    fair, fifo = losses(run(settings)[1]), losses(run(settings, kind="fifo")[1])
    common = min(len(fair), len(fifo))
    assert common > 0
    assert fair[:common] == fifo[:common]


def test_the_mean_times_are_those_of_the_settings():
    settings = FaultSettings(mtbf_ms=HOUR_MS, repair_ms=60_000)
    drawn = Faults(settings, 1)
    times_ms = [drawn._time_ms("n1", HOUR_MS) for _ in range(10_000)]
    assert sum(times_ms) / 10_000 == pytest.approx(HOUR_MS, rel=0.03)


@pytest.mark.slow
def test_attempts_fail_as_often_as_it_was_said_and_before_their_end():
    report, records, faults = run(FaultSettings(tasks=0.1), tasks=2_000)
    attempts = report.containers.granted
    assert faults.failed == report.containers.failed
    assert faults.failed / attempts == pytest.approx(0.1, abs=0.02)
    assert report.applications_by_state["FINISHED"] == 1
    ends = [
        one.input
        for one in records
        for event in one.events
        if type(event) is ContainerCompleted and event.exit_code == 1
    ]
    assert len(ends) == faults.failed


def test_a_task_that_fails_too_often_ends_its_application():
    report, _, _ = run(FaultSettings(tasks=0.9), tasks=5, attempts=2)
    assert report.applications_by_state["FAILED"] == 1


def test_a_simulation_with_faults_ends_although_an_application_waits_for_ever():
    report, _, faults = run(
        FaultSettings(mtbf_ms=600_000, repair_ms=60_000), tasks=1, memory_mb=8192
    )
    assert report.applications_by_state["RUNNING"] == 1
    assert report.end_ms <= 3 * PATIENCE_MS
    assert faults.lost > 0


def test_an_application_waits_for_nodes_that_come_back_after_days():
    report, _, _ = run(FaultSettings(mtbf_ms=120_000, repair_ms=48 * HOUR_MS), tasks=40)
    assert report.applications_by_state["FINISHED"] == 1
    assert report.makespan_ms > PATIENCE_MS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_the_only_node_may_be_away_for_long_again_and_again(seed):
    settings = FaultSettings(mtbf_ms=30 * 60_000, repair_ms=10 * HOUR_MS)
    report, _, faults = run(settings, seed, tasks=1_200, nodes=NODES[:1])
    assert faults.lost > 1
    assert report.applications_by_state["FINISHED"] == 1


def test_an_application_that_never_fits_does_not_wait_for_the_only_node_for_ever():
    settings = FaultSettings(mtbf_ms=10 * 60_000, repair_ms=HOUR_MS)
    report, _, _ = run(settings, memory_mb=8192, nodes=NODES[:1])
    assert report.applications_by_state["FINISHED"] == 0


def test_nothing_is_lost_any_more_when_all_work_is_done():
    report, _, faults = run(FaultSettings(mtbf_ms=100 * HOUR_MS, repair_ms=60_000), tasks=4)
    assert (report.end_ms, faults.lost) == (60_000, 0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is not a kind of fault"),
        ("mtbf", "is not a kind of fault"),
        ("nodes=3", "is not a kind of fault"),
        ("mtbf=3", "has no unit"),
        ("mtbf=0", "is no time at all"),
        ("mtbf=1d,mtbf=2d", "mtbf is given twice"),
        ("repair=2h", "repair without mtbf has no effect"),
        ("tasks=1", "is not a probability"),
        ("tasks=nan", "is not a probability"),
        ("tasks=much", "is not a probability"),
        ("tasks=0", "nothing would fail"),
    ],
)
def test_wrong_faults_are_refused(text, words):
    with pytest.raises(ValueError, match=words):
        parse_faults(text)


def test_the_examples_of_the_module_hold():
    assert doctest.testmod(module).failed == 0

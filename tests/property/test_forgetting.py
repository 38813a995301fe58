"""A simulation that forgets applications decides and reports as one that keeps them all."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.inputs import Condition, NodeJoined, StartConditions, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.capacity.settings import CapacitySettings, Percentage
from fairshare.core.schedulers.capacity.settings import QueueSettings as CapacityQueueSettings
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.core.schedulers.fifo import FifoSettings
from fairshare.lab.simulate import simulator
from fairshare.lab.simulate.report import encode
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import ForgetfulJournal, MemoryJournal
from fairshare.settings.registry import family_of

NODES = (NodeJoined("n1", (4096, 4)), NodeJoined("n2", (2048, 2)))
NAMES = ("a", "b")
SETTINGS = {
    "fifo": FifoSettings(),
    "fair": FairSettings(
        preemption=True,
        allocations=AllocationSettings(
            queues={
                f"root.{name}": QueueSettings(
                    f"root.{name}", min_share=(1024, 1), min_share_timeout_ms=500
                )
                for name in NAMES
            },
            from_file=True,
        ),
    ),
    "capacity": CapacitySettings(
        queues={
            "root": CapacityQueueSettings(children=NAMES, capacity=Percentage(100.0)),
            **{f"root.{name}": CapacityQueueSettings(capacity=Percentage(50.0)) for name in NAMES},
        },
    ),
}

jobs = st.lists(
    st.tuples(
        st.integers(0, 2_000),  # after the one before
        st.sampled_from(["a", "b", "none"]),
        st.integers(1, 6),  # tasks
        st.integers(0, 4_000),  # for how long each
        st.integers(0, 4),  # attempts that fail
        st.sampled_from([0, 0, 0, 1]),  # seconds of its life
    ),
    min_size=1,
    max_size=30,
)


def workload_of(given_jobs, kind):
    arrivals, at_ms = [], 0
    for number, (later_ms, queue, count, run_ms, failing, lifetime_s) in enumerate(given_jobs):
        at_ms += later_ms
        name = "default" if kind == "fifo" and queue != "none" else f"root.{queue}"
        submission = SubmitApplication(
            f"user{number % 3}",
            name,
            tasks=(TaskGroup("t", count, (1024, 1)),),
            lifetime_s=lifetime_s,
        )
        arrivals.append(Arrival(at_ms, submission, (GroupPlan(run_ms, failing),)))
    return Workload(NODES, tuple(arrivals))


def run(kind, workload, journal=None, **options):
    manager = ResourceManager(family_of(kind).create(ResourceTypes()))
    made = Simulator(
        manager,
        msgspec.json.encode(SETTINGS[kind]),
        workload,
        journal or ForgetfulJournal(),
        **options,
    )
    return made.run(), manager.state


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
@settings(max_examples=examples(40), deadline=None)
@given(jobs)
def test_the_report_is_the_same(kind, given_jobs):
    workload = workload_of(given_jobs, kind)
    journals = MemoryJournal(), MemoryJournal()
    kept, all_of_them = run(kind, workload, journals[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulator, "FINISHED_KEPT", 2)
        forgotten, few = run(kind, workload, journals[1], forgets=True)
    assert encode(forgotten) == encode(kept)
    assert len(few.applications) <= len(all_of_them.applications)
    assert grants(journals[0]) == grants(journals[1])


def grants(journal):
    return [
        (record.now_ms, event.container, event.node)
        for record in journal.records()
        for event in record.events
        if type(event) is ContainerAllocated
    ]


def test_the_state_keeps_few_applications(monkeypatch):
    monkeypatch.setattr(simulator, "FINISHED_KEPT", 2)
    workload = workload_of([(1_000, "a", 1, 10, 0, 0)] * 50, "fair")
    report, state = run("fair", workload, forgets=True)
    assert len(report.applications) == report.applications_by_state["FINISHED"] == 50
    assert 2 <= len(state.applications) < 6
    assert len(run("fair", workload)[1].applications) == 50


def test_applications_that_others_wait_for_are_kept(monkeypatch):
    monkeypatch.setattr(simulator, "FINISHED_KEPT", 2)
    workload = workload_of([(1_000, "a", 1, 10, 0, 0)] * 20, "fair")
    last = workload.arrivals[-1]
    late = msgspec.structs.replace(last.submission, start=StartConditions((Condition(1, "ok"),)))
    arrivals = (*workload.arrivals[:-1], msgspec.structs.replace(last, submission=late))
    report, state = run("fair", msgspec.structs.replace(workload, arrivals=arrivals), forgets=True)
    assert report.applications_by_state["FINISHED"] == 20
    assert len(state.applications) == 20

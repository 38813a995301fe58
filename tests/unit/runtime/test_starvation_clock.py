"""Starvation counts from when it began, though nobody looks while nothing happens."""

import msgspec
import pytest

from fairshare.core.model.events import ContainerCompleted, ContainerMarked
from fairshare.core.model.inputs import ContainerStarted, UpdateShares
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings

HOUR_MS = 3_600_000
TIMEOUT_MS = 10_000
WAIT_MS = 2_000
INTERVAL_MS = 500


def settings(**queue) -> FairSettings:
    queues = (QueueSettings("root.a"), QueueSettings("root.b", **queue))
    return FairSettings(
        preemption=True,
        wait_before_kill_ms=WAIT_MS,
        allocations=AllocationSettings(queues={one.name: one for one in queues}, from_file=True),
    )


STARVED_BY = {
    "fair share": {"fair_share_timeout_ms": TIMEOUT_MS, "fair_share_threshold": 1.0},
    "minimum share": {"min_share": (2048, 2), "min_share_timeout_ms": TIMEOUT_MS},
}


def run_until(bench, until_ms: int) -> None:
    """What a server does while nothing comes in."""
    while (deadline_ms := bench.runtime.next_deadline_ms()) is not None and deadline_ms <= until_ms:
        bench.runtime.settle(deadline_ms)


def first_ms(bench, kind: type) -> int | None:
    return next(
        (r.now_ms for r in bench.records for event in r.events if isinstance(event, kind)), None
    )


@pytest.fixture(params=STARVED_BY)
def full(request, make_bench, submit):
    """A cluster that root.a has filled for an hour; nobody waits."""
    bench = make_bench(settings(**STARVED_BY[request.param]))
    bench.join("n1")
    bench.runtime.turn(1_000, [submit_to(submit, "root.a", 4)])
    run_until(bench, 2 * INTERVAL_MS + 1_000)
    containers = list(bench.state.nodes["n1"].containers)
    assert len(containers) == 4
    bench.runtime.turn(3_000, [ContainerStarted(container) for container in containers])
    return bench


def submit_to(submit, queue: str, count: int):
    return msgspec.structs.replace(submit(count), queue=queue)


def test_the_clock_does_not_tick_while_no_application_waits(full):
    run_until(full, HOUR_MS)
    before = len(full.records)
    run_until(full, 10 * HOUR_MS)
    assert full.runtime.next_deadline_ms() is None
    assert len(full.records) == before


def test_an_application_that_comes_after_an_hour_gets_its_share_after_its_own_timeout(full, submit):
    run_until(full, HOUR_MS)
    full.runtime.turn(HOUR_MS, [submit_to(submit, "root.b", 2)])
    run_until(full, HOUR_MS + 60_000)
    marked_ms, killed_ms = first_ms(full, ContainerMarked), first_ms(full, ContainerCompleted)
    assert HOUR_MS + TIMEOUT_MS <= marked_ms <= HOUR_MS + TIMEOUT_MS + INTERVAL_MS
    assert marked_ms + WAIT_MS <= killed_ms <= marked_ms + WAIT_MS + INTERVAL_MS
    assert full.state.applications[2].used == (2048, 2)


def test_the_clock_is_in_the_journal_before_the_change(full, submit):
    run_until(full, HOUR_MS)
    steps = full.runtime.turn(HOUR_MS, [submit_to(submit, "root.b", 2)])
    assert type(steps[0][0]).__name__ == "SubmitApplication"  # whoever asked finds his answer first
    recorded = [record.input for record in full.records if record.now_ms == HOUR_MS]
    assert isinstance(recorded[0], UpdateShares)


def test_inputs_in_quick_succession_bring_one_update(full):
    run_until(full, HOUR_MS)
    container = next(iter(full.state.nodes["n1"].containers))
    for step_ms in (0, 200, 400):
        full.runtime.feed(HOUR_MS + step_ms, [ContainerStarted(container)])
    updates = [
        r.now_ms for r in full.records if isinstance(r.input, UpdateShares) and r.now_ms >= HOUR_MS
    ]
    assert updates == [HOUR_MS]


def test_without_preemption_nothing_is_updated_for_the_clock(make_bench, submit):
    bench = make_bench(FairSettings())
    bench.join("n1")
    bench.runtime.turn(1_000, [submit(4)])
    run_until(bench, HOUR_MS)
    container = next(iter(bench.state.nodes["n1"].containers))
    bench.runtime.feed(HOUR_MS, [ContainerStarted(container)])
    assert [r.input for r in bench.records if r.now_ms == HOUR_MS] == [ContainerStarted(container)]

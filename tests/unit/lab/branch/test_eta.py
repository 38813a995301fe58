"""Draws of when applications start and end."""

from itertools import count

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import FairSettings
from fairshare.errors import InputError
from fairshare.lab.branch import eta
from fairshare.lab.branch.eta import HORIZON_MS, Submissions, draws
from fairshare.lab.branch.lives import RunTimes
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.lab.simulate.world import Origin
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.container_history import ContainerHistory
from fairshare.runtime.recovery import Position, recover
from fairshare.settings.registry import family_of

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NODE = NodeJoined("n1", (65_536, 64))


def job(at_ms, run_ms, user="ann", name="job", **group):
    tasks = (TaskGroup("t", 1, (1024, 1), **group),)
    return Arrival(
        at_ms, SubmitApplication(user, "root.a", name, tasks=tasks), (GroupPlan(run_ms),)
    )


def ends(jobs, at_ms, number, *, restarted=False):
    """When an application ends, in 40 draws from an instant of the history of some jobs on."""
    drawn = drawn_of(jobs, at_ms, number, restarted=restarted)
    return sorted(HORIZON_MS if one is None else one for one in drawn.ends)


def drawn_of(jobs, at_ms, number, *, restarted=False):
    """What becomes of an application in 40 draws from an instant of the history of some jobs on."""
    scheduler = family_of("fair")
    journal, types = MemoryJournal(), ResourceTypes()
    settings = msgspec.json.encode(FairSettings(maximum_allocation=(65_536, 64)))
    workload = Workload((NODE,), tuple(sorted(jobs, key=lambda one: one.at_ms)))
    Simulator(ResourceManager(scheduler.create(types)), settings, workload, journal).run()
    manager, history = ResourceManager(scheduler.create(types)), ContainerHistory()
    run_times = RunTimes(manager.state, history)
    observers = Observers()
    if restarted:
        history.subscribe(observers, manager.scheduler)
    else:
        run_times.subscribe(observers)
    some = [one for one in journal.records() if one.now_ms <= at_ms]
    position = Position()
    for record in some:
        position = recover([record], manager.state, position)
        observers.observe([record])
    if restarted:
        run_times = RunTimes(manager.state, history)
    origin = Origin(Position(position.sequence, at_ms), lambda: manager)
    return draws(origin, run_times, Submissions(at_ms), [number], 60, 40)[number]


def middle(times):
    return times[len(times) // 2]


def long_and_short():
    """Thirty jobs of a minute, and thirty of an hour, that began together."""
    return [job(n, (MINUTE_MS, HOUR_MS)[n % 2]) for n in range(60)]


@pytest.mark.slow
def test_what_still_runs_counts_with_what_it_may_take():
    jobs = [*long_and_short(), job(600_000, MINUTE_MS)]
    times = ends(jobs, 601_000, 61)
    later = sum(one > 600_000 for one in times)
    assert 10 <= later <= 30  # of what has ended by then all took a minute


@pytest.mark.slow
def test_a_server_that_has_restarted_draws_from_the_same_donors():
    jobs = [*long_and_short(), job(600_000, MINUTE_MS)]
    assert ends(jobs, 601_000, 61, restarted=True) == ends(jobs, 601_000, 61)


@pytest.mark.slow
def test_what_runs_is_drawn_among_what_ran_for_longer():
    jobs = [*(job(n, (MINUTE_MS, HOUR_MS)[n % 2]) for n in range(40)), job(HOUR_MS, HOUR_MS)]
    at_ms = HOUR_MS + 10 * MINUTE_MS
    times = ends(jobs, at_ms, 41)
    assert min(times) > 50 * MINUTE_MS - 5_000
    assert abs(middle(times) - 50 * MINUTE_MS) < 5_000


@pytest.mark.slow
def test_the_fewer_ran_for_as_long_the_more_likely_something_goes_on_for_longer():
    def late(count):
        """In how many draws a job of 10 minutes takes longer than the longest of so many."""
        jobs = [job(n, HOUR_MS + n, name="long") for n in range(count)]
        jobs += [job(n, MINUTE_MS) for n in range(30)]
        at_ms = 3 * HOUR_MS
        times = ends([*jobs, job(at_ms, HOUR_MS)], at_ms + 10 * MINUTE_MS, 31 + count)
        return sum(one > 51 * MINUTE_MS for one in times)

    assert late(30) <= 5
    assert 8 <= late(1) <= 32


@pytest.mark.slow
def test_what_has_run_for_longer_than_all_others_goes_on():
    jobs = [*(job(n, MINUTE_MS) for n in range(30)), job(0, 5 * DAY_MS, name="endless")]
    times = ends(jobs, 2 * DAY_MS, 2)
    assert min(times) > MINUTE_MS
    assert middle(times) > HOUR_MS


@pytest.mark.slow
def test_a_time_limit_ends_what_would_run_for_longer():
    jobs = [
        *(job(n, HOUR_MS) for n in range(30)),
        job(2 * HOUR_MS, MINUTE_MS, time_limit_ms=90_000),
    ]
    times = ends(jobs, 2 * HOUR_MS + 2_000, 31)
    assert max(times) <= 92_000


@pytest.mark.slow
def test_the_nearest_kind_counts_most_and_wider_ones_a_little():
    others = [job(n, HOUR_MS, user="bob") for n in range(40)]
    own = [job(n, MINUTE_MS) for n in range(30)]
    at_ms = 2 * HOUR_MS
    times = ends([*others, *own, job(at_ms, MINUTE_MS)], at_ms + 1_000, 71)
    short = sum(one < 2 * MINUTE_MS for one in times)
    assert 30 <= short <= 40
    few = ends([*others, *own[:2], job(at_ms, MINUTE_MS)], at_ms + 1_000, 43)
    assert 5 <= sum(one < 2 * MINUTE_MS for one in few) < 30


def slow(monkeypatch, seconds):
    """Let so much time pass whenever a draw looks at the clock."""
    clock = (number * seconds for number in count())
    monkeypatch.setattr(eta.time, "monotonic", lambda: next(clock))


@pytest.mark.slow
def test_draws_go_as_far_as_there_is_time_for_and_say_no_end_beyond(monkeypatch):
    jobs = [*(job(n, HOUR_MS) for n in range(1, 40)), job(0, 6 * DAY_MS)]
    fast = drawn_of(jobs, 5 * HOUR_MS, 1)
    slow(monkeypatch, 0.1)  # of the 60 s that there are
    drawn = drawn_of(jobs, 5 * HOUR_MS, 1)
    assert fast.horizon_ms == HORIZON_MS
    assert MINUTE_MS < drawn.horizon_ms < 2 * HOUR_MS
    assert None in drawn.ends
    assert any(drawn.ends)
    for end_ms, whole_ms in zip(drawn.ends, fast.ends, strict=True):
        inside = whole_ms is not None and whole_ms <= drawn.horizon_ms
        assert end_ms == (whole_ms if inside else None)


def test_where_draws_do_not_come_far_there_is_none(monkeypatch):
    slow(monkeypatch, 3)
    with pytest.raises(InputError, match="10 simulations of this cluster for 60 s") as refused:
        drawn_of([job(n, HOUR_MS) for n in range(40)], 30 * MINUTE_MS, 1)
    assert refused.value.code == "too-large"

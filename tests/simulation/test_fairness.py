"""Fairness that remembers, and budgets, under each scheduler: who starved is made whole, nothing
stays idle for it, and it cannot be gamed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.simulation.clusters import HOUR_S, SLOTS, Lab

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import UsageUpdated
from fairshare.core.model.inputs import MoveApplication
from fairshare.core.schedulers.past import budgets, pasts_of_queues
from fairshare.core.schedulers.reasons import reasons
from fairshare.runtime.recovery import Position, recover
from fairshare.runtime.snapshot import freeze, thaw
from fairshare.server.insight.why import words_of
from fairshare.settings.registry import family_of

REMEMBERS = '[fairness]\nhalf_life_s = "4h"\nstrength = 4\n'


@pytest.fixture
def lab(tmp_path: Path) -> Callable[[str, str], Lab]:
    return lambda scheduler, fairness="": Lab(tmp_path, scheduler, fairness)


def after_a_morning_alone(lab: Lab) -> Lab:
    """Ann had the cluster for six hours; from now on both want everything."""
    lab.submit("a", "ann", 6 * SLOTS * 12)
    lab.advance(6 * HOUR_S - 1)
    for _ in range(2):
        lab.submit("a", "ann", 10_000)
        lab.submit("b", "bob", 10_000)
    return lab


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_the_starved_queue_of_the_morning_is_made_whole_in_the_afternoon(lab, scheduler):
    forgetful = after_a_morning_alone(lab(scheduler))
    assert forgetful.slots_of("bob", 4 * HOUR_S) == pytest.approx(SLOTS / 2, abs=1)
    remembering = after_a_morning_alone(lab(scheduler, REMEMBERS))
    assert remembering.slots_of("bob", HOUR_S) > 0.8 * SLOTS
    remembering.advance(2 * HOUR_S)
    assert 0.55 * SLOTS < remembering.slots_of("bob", HOUR_S) < 0.8 * SLOTS
    remembering.advance(10 * HOUR_S)
    assert remembering.slots_of("bob", HOUR_S) == pytest.approx(SLOTS / 2, abs=1.5)


def test_users_of_the_fifo_scheduler_are_served_by_their_past(lab):
    remembering = after_a_morning_alone(lab("fifo", REMEMBERS))
    assert remembering.slots_of("bob", HOUR_S) > 0.9 * SLOTS
    assert after_a_morning_alone(lab("fifo")).slots_of("bob", HOUR_S) < 0.1 * SLOTS


def test_a_guarantee_comes_before_the_past(lab):
    """Capacity b is 10 %: however much bob had, ann's guarantee of 10 % is hers at once."""
    cluster = lab("capacity", REMEMBERS)
    cluster.submit("a", "ann", 6 * SLOTS * 12)
    cluster.advance(6 * HOUR_S - 1)
    cluster.submit("b", "bob", 10_000, task_s=100_000)
    cluster.submit("a", "ann", 10_000)
    cluster.advance(2)
    assert cluster.used_by("ann") == 4
    assert cluster.used_by("bob") == SLOTS - 4


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo", "pools"])
def test_without_fairness_nothing_is_counted_or_recorded(lab, scheduler):
    cluster = lab(scheduler)
    cluster.submit("a", "ann", 40)
    cluster.advance(HOUR_S)
    assert cluster.state.ledger is None
    assert not any(isinstance(e, UsageUpdated) for r in cluster.journal.records() for e in r.events)


def test_many_users_of_a_queue_gain_nothing_for_it(lab):
    cluster = lab("fair", REMEMBERS)
    cluster.submit("a", "ann", 6 * SLOTS * 12)
    cluster.advance(6 * HOUR_S - 1)
    for number in range(20):
        cluster.submit("a", f"alias-{number}", 1_000)
    cluster.submit("b", "bob", 10_000)
    assert cluster.slots_of("bob", HOUR_S) > 0.8 * SLOTS


def test_a_new_queue_below_the_same_parent_gains_nothing_for_it(lab):
    cluster = lab("fair", REMEMBERS)
    cluster.submit("p.x", "ann", 6 * SLOTS * 12)
    cluster.advance(6 * HOUR_S - 1)
    cluster.submit("p.y", "ann", 10_000)
    cluster.submit("b", "bob", 10_000)
    assert cluster.slots_of("bob", HOUR_S) > 0.8 * SLOTS


def test_usage_stays_where_it_was_when_an_application_moves(lab):
    cluster = lab("fair", REMEMBERS)
    application = cluster.submit("a", "ann", 10_000)
    cluster.advance(3 * HOUR_S)
    cluster.simulator.handle(MoveApplication(application, "root.b"))
    averages = cluster.state.ledger.averages()
    assert averages["root.a", ""][1] > 10
    cluster.advance(60)
    averages = cluster.state.ledger.averages()
    assert averages["root.a", ""][1] > 10
    assert 0 <= averages["root.b", ""][1] < 2
    assert ("root.b", "ann") in averages


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo", "pools"])
def test_a_restart_goes_on_with_what_was_used(lab, scheduler):
    cluster = lab(scheduler, REMEMBERS + BUDGET.format(hours=40, how="last"))
    cluster.submit("a", "ann", 300)
    cluster.submit("b", "bob", 300)
    cluster.advance(HOUR_S)
    records = list(cluster.journal.records())
    assert any(isinstance(event, UsageUpdated) for one in records for event in one.events)
    recovered = ResourceManager(family_of(scheduler).create(cluster.state.types))
    recover(records, recovered.state, Position())
    [ledger, again] = cluster.state.ledger, recovered.state.ledger
    assert again.charges == ledger.charges
    assert again.charges
    assert again.spent == ledger.spent
    copy = thaw(freeze(7, 70, {"manager": recovered}))["manager"]
    assert copy.state.ledger.charges == ledger.charges
    queues = {name: (queue.charge, queue.charges) for name, queue in copy.state.queues.items()}
    assert queues == {n: (q.charge, q.charges) for n, q in cluster.state.queues.items()}
    replayed = ResourceManager(family_of(scheduler).create(cluster.state.types))
    for record in records:
        assert replayed.handle(record.now_ms, record.input) == record.events


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
def test_a_reload_turns_the_memory_on_and_off(lab, scheduler):
    cluster = after_a_morning_alone(lab(scheduler, REMEMBERS))
    cluster.advance(HOUR_S)
    cluster.reload("")
    assert cluster.state.ledger is None
    assert not any(queue.charge or queue.charges for queue in cluster.state.queues.values())
    if scheduler != "fifo":
        assert cluster.slots_of("bob", 2 * HOUR_S) == pytest.approx(SLOTS / 2, abs=4)
    cluster.reload(REMEMBERS)
    cluster.advance(600)
    assert cluster.state.ledger.averages()["root", ""][0] > 100


BUDGET = """
[fairness.budgets.cores]
user = "ann"
resource = "vcores"
hours = {hours}
when_used_up = "{how}"
"""


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo", "pools"])
def test_a_budget_that_ends_in_the_middle_of_a_job_lets_what_runs_go_on(lab, scheduler):
    cluster = lab(scheduler, "[fairness]\n" + BUDGET.format(hours=10, how="refuse"))
    cluster.submit("a", "ann", 100, task_s=HOUR_S)
    cluster.advance(HOUR_S / 2)
    assert cluster.used_by("ann") == SLOTS
    cluster.submit("b", "bob", 10, task_s=60)
    cluster.advance(HOUR_S / 2 + 10)
    assert cluster.used_by("ann") == 0  # 32 ended, 68 wait, though all is free
    assert cluster.used_by("bob") == 10
    with pytest.raises(ValueError, match="32 of 10 hours of vcores in this month"):
        cluster.submit("a", "ann", 1)
    cluster.reload("[fairness]\n" + BUDGET.format(hours=100, how="refuse"))
    cluster.advance(120)
    assert cluster.used_by("ann") == SLOTS


def test_work_without_the_type_of_a_used_up_budget_goes_on(lab):
    cluster = lab("fair", "[fairness]\n" + BUDGET.format(hours=1, how="refuse"))
    cluster.submit("a", "ann", 32, task_s=HOUR_S)
    cluster.advance(2 * HOUR_S)
    assert cluster.state.ledger.closed("root.a", "ann") == (1,)
    cluster.submit("a", "ann", 1, vcores=0)
    with pytest.raises(ValueError, match="budget-used-up"):
        cluster.submit("b", "ann", 1)


def test_a_new_month_has_a_new_budget(lab):
    cluster = lab("fair", "[fairness]\n" + BUDGET.format(hours=1, how="refuse"))
    application = cluster.submit("a", "ann", 64, task_s=HOUR_S)
    cluster.advance(20 * 24 * HOUR_S)
    assert not cluster.state.applications[application].over
    cluster.advance(11 * 24 * HOUR_S + 30)
    assert cluster.used_by("ann") == SLOTS


def test_a_new_month_takes_work_also_where_nothing_ran_meanwhile(lab):
    cluster = lab("fair", "[fairness]\n" + BUDGET.format(hours=1, how="refuse"))
    cluster.submit("a", "ann", 32, task_s=HOUR_S)
    cluster.advance(2 * HOUR_S)
    with pytest.raises(ValueError, match="budget-used-up"):
        cluster.submit("a", "ann", 1)
    cluster.advance(31 * 24 * HOUR_S)
    cluster.submit("a", "ann", 1)
    assert cluster.used_by("ann") == 1


@pytest.mark.parametrize("scheduler", ["fair", "capacity", "fifo"])
def test_whose_budget_is_used_up_comes_last_and_uses_what_is_idle(lab, scheduler):
    cluster = lab(scheduler, "[fairness]\n" + BUDGET.format(hours=10, how="last"))
    cluster.submit("a", "ann", 10_000)
    cluster.advance(HOUR_S)
    assert cluster.used_by("ann") == SLOTS  # no other user wants it
    cluster.submit("a", "bob", 10_000)
    cluster.advance(600)
    assert cluster.used_by("bob") == SLOTS
    cluster.submit("a", "ann", 1)
    cluster.advance(HOUR_S)
    assert cluster.used_by("bob") == SLOTS


def said(cluster, application):
    scheduler = cluster.manager.scheduler
    limits, known = scheduler.limits_of(application), cluster.state.applications[application]
    words = words_of(cluster.state, cluster.now_ms)
    return [words.explain(one) for one in reasons(known, limits, cluster.state, cluster.now_ms)]


@pytest.mark.parametrize("scheduler", ["fair", "capacity"])
def test_why_names_the_past_of_the_queue(lab, scheduler):
    cluster = lab(scheduler, REMEMBERS)
    cluster.submit("a", "ann", 6 * SLOTS * 12)
    cluster.advance(6 * HOUR_S)
    cluster.submit("b", "bob", 10_000)
    late = cluster.submit("a", "ann", 10_000)
    cluster.advance(600)
    [explanation] = said(cluster, late)
    assert "Usage of the past puts root.a behind:" in explanation.sentence
    assert "which counts half after 4 hours." in explanation.sentence
    pasts = pasts_of_queues(cluster.state, cluster.now_ms)
    assert pasts["root.a"].factor < 0.5
    assert pasts["root.b"].factor > 1
    assert pasts["root.a"].part > 0.9
    assert pasts["root"].factor is None


def test_why_names_the_user_whose_past_puts_an_application_behind(lab):
    cluster = lab("fifo", REMEMBERS)
    cluster.submit("a", "ann", 6 * SLOTS * 12)
    cluster.advance(6 * HOUR_S - 1)
    late = cluster.submit("a", "ann", 10_000)
    cluster.submit("a", "bob", 10_000)
    cluster.advance(600)
    [explanation] = said(cluster, late)
    assert "Usage of the past puts ann in root.default behind: " in explanation.sentence


def test_why_names_the_budget_that_is_used_up(lab):
    cluster = lab("fair", "[fairness]\n" + BUDGET.format(hours=10, how="refuse"))
    application = cluster.submit("a", "ann", 100, task_s=HOUR_S)
    cluster.advance(HOUR_S + 10)
    [explanation] = said(cluster, application)
    assert explanation.sentence == (
        "32 vcore-hours of the budget of 10 of ann are used in this month, and nothing new of it"
        " starts."
    )
    assert "the month is over, at 1970-02-01 00:00:00 UTC" in explanation.remedy
    [shown] = budgets(cluster.state, cluster.now_ms)
    assert (shown.hours, shown.used_hours, shown.left_hours) == (10, 32, 0)


def test_why_names_the_budget_that_puts_an_application_last(lab):
    cluster = lab("fair", "[fairness]\n" + BUDGET.format(hours=1, how="last"))
    application = cluster.submit("a", "ann", 10_000)
    cluster.submit("a", "bob", 10_000)
    cluster.advance(HOUR_S)
    [explanation] = said(cluster, application)
    assert "vcore-hours of the budget of 1 of ann are used in this month" in explanation.sentence
    assert "and all others go first." in explanation.sentence


def test_the_past_decays_for_readers_while_nothing_happens(lab):
    cluster = lab("fair", REMEMBERS)
    cluster.submit("a", "ann", SLOTS, task_s=8 * HOUR_S)
    cluster.advance(8 * HOUR_S)
    before = pasts_of_queues(cluster.state, cluster.now_ms)["root.a"].average["memory-mb"]
    records = len(list(cluster.journal.records()))
    later_ms = cluster.now_ms + 4 * HOUR_S * 1_000
    after = pasts_of_queues(cluster.state, later_ms)["root.a"].average["memory-mb"]
    assert after == pytest.approx(before / 2, abs=2)
    cluster.advance(4 * HOUR_S)
    assert len(list(cluster.journal.records())) == records  # an idle cluster writes nothing

"""The ledger of past usage: decay, budgets, months, and clocks that jump."""

import random

import pytest

from fairshare.core.model.usage import Budget, BudgetUse, Fairness, Ledger, decay, month_end_ms

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS

Changes = list[tuple[int, str, str, tuple[int, int]]]


def budget(limit_hours: int, *, queue: str = "root.a", user: str = "") -> Budget:
    return Budget("gpus", queue, user, 1, limit_hours * HOUR_MS, refuses=True)


def integral(changes: Changes, queue: str, user: str, now_ms: int, half_life_ms: int) -> float:
    """What a cell uses of the first type, integrated in closed form, change by change."""
    sum_ms, used, since_ms = 0.0, 0, 0
    mean_life_ms = half_life_ms / 0.6931471805599453
    for at_ms, at_queue, at_user, (amount, _) in [*changes, (now_ms, queue, user, (0, 0))]:
        if (at_queue, at_user) != (queue, user):
            continue
        weight = 2 ** (-(now_ms - at_ms) / half_life_ms)
        earlier = 2 ** (-(now_ms - since_ms) / half_life_ms)
        sum_ms += used * mean_life_ms * (weight - earlier)
        used, since_ms = used + amount, at_ms
    return sum_ms


@pytest.mark.parametrize("half_life_ms", [60_000, HOUR_MS, 7 * DAY_MS])
@pytest.mark.parametrize("seed", range(4))
def test_decayed_usage_is_the_integral_of_what_was_used(half_life_ms: int, seed: int) -> None:
    chance = random.Random(seed)
    ledger = Ledger(Fairness(half_life_ms), 2, 0)
    changes: Changes = []
    held: list[tuple[str, str, tuple[int, int]]] = []
    now_ms = 0
    for _ in range(400):
        now_ms += chance.choice((0, 1, 700, 9_000, 400_000, 5 * HOUR_MS))
        if held and chance.random() < 0.5:
            queue, user, (a, b) = held.pop(chance.randrange(len(held)))
            change = (-a, -b)
        else:
            queue, user = chance.choice(("root.a", "root.a.x", "root.b")), chance.choice("uv")
            change = (chance.randrange(1, 9_000), chance.randrange(5))
            held.append((queue, user, change))
        ledger.use(now_ms, queue, user, change)
        changes.append((now_ms, queue, user, change))
    now_ms += half_life_ms // 3
    ledger.settle(now_ms)
    for (queue, user), cell in ledger.cells.items():
        expected = integral(changes, queue, user, now_ms, half_life_ms)
        assert cell.past[0] == pytest.approx(expected, rel=2e-5, abs=2 * HOUR_MS)


def test_decay_halves_in_each_half_life() -> None:
    for halves in range(5):
        assert decay(halves * DAY_MS, DAY_MS) == 2 ** (64 - halves)
    assert decay(DAY_MS // 2, DAY_MS) / 2**64 == pytest.approx(2**-0.5, rel=1e-9)


def test_what_was_used_for_long_is_the_average() -> None:
    ledger = Ledger(Fairness(HOUR_MS), 2, 0)
    ledger.use(0, "root.a.x", "ann", (4096, 4))
    ledger.settle(100 * HOUR_MS)
    assert ledger.averages()["root.a.x", "ann"] == (4095, 3)  # rounded down
    assert ledger.averages()["root.a", ""] == (4095, 3)
    ledger.use(100 * HOUR_MS, "root.a.x", "ann", (-4096, -4))
    ledger.settle(101 * HOUR_MS)
    assert ledger.averages()["root", ""] == pytest.approx((2048, 2), abs=1)


def test_a_ledger_forgets_users_of_nothing_that_counts() -> None:
    ledger = Ledger(Fairness(60_000), 2, 0)
    ledger.use(0, "root.a", "ann", (1024, 1))
    ledger.use(60_000, "root.a", "ann", (-1024, -1))
    ledger.settle(60_000 * 100)
    assert not ledger.cells


def test_time_that_goes_back_takes_nothing_away() -> None:
    ledger = Ledger(Fairness(HOUR_MS, budgets=(budget(10),)), 2, 0)
    ledger.use(HOUR_MS, "root.a", "ann", (1, 1))
    ledger.use(HOUR_MS - 60_000, "root.a", "ann", (0, 0))
    ledger.settle(HOUR_MS - 60_000)
    ledger.settle(2 * HOUR_MS)
    assert ledger.budget_uses()[0].used == HOUR_MS


def test_a_budget_counts_its_queue_and_all_below_it() -> None:
    ledger = Ledger(Fairness(budgets=(budget(10), budget(2, queue="", user="ann"))), 2, 0)
    ledger.use(0, "root.a.x", "ann", (0, 2))
    ledger.use(0, "root.ab", "ann", (0, 1))
    ledger.use(0, "root.a", "bob", (0, 1))
    ledger.update(HOUR_MS)
    assert [one.hours for one in ledger.budget_uses()] == [(3.0, 10.0), (3.0, 2.0)]
    assert ledger.closed("root.anywhere", "ann") == (1,)
    assert ledger.closed("root.a", "bob") == ()


def test_a_budget_begins_again_with_the_month() -> None:
    ledger = Ledger(Fairness(budgets=(budget(10),)), 2, 30 * DAY_MS)
    ledger.use(30 * DAY_MS, "root.a", "ann", (0, 1))
    ledger.update(31 * DAY_MS - 1)
    assert ledger.closed("root.a", "ann") == (1,)
    ledger.update(31 * DAY_MS + 2 * HOUR_MS)
    assert ledger.budget_uses() == [BudgetUse(budget(10), 2 * HOUR_MS)]
    assert ledger.closed("root.a", "ann") == ()


def test_a_clock_that_jumps_over_two_months_counts_the_third() -> None:
    ledger = Ledger(Fairness(DAY_MS, budgets=(budget(10),)), 2, 0)
    ledger.use(0, "root.a", "ann", (0, 1))
    ledger.update(59 * DAY_MS + HOUR_MS)
    assert ledger.budget_uses()[0].used == HOUR_MS
    assert ledger.update_ms == 59 * DAY_MS + HOUR_MS + 60_000


def test_a_larger_budget_keeps_what_was_used() -> None:
    ledger = Ledger(Fairness(budgets=(budget(1),)), 2, 0)
    ledger.use(0, "root.a", "ann", (0, 2))
    ledger.change(HOUR_MS, Fairness(budgets=(budget(5),)))
    assert ledger.budget_uses()[0].hours == (2.0, 5.0)


def test_months_end_where_the_calendar_says() -> None:
    assert month_end_ms(0) == 31 * DAY_MS
    assert month_end_ms(31 * DAY_MS) == 59 * DAY_MS  # 1970 has no 29 February
    assert month_end_ms(1_709_164_800_000) == 1_709_251_200_000  # 29 February 2024
    assert month_end_ms(4_105_123_200_000) == 4_107_542_400_000  # 2100 has none either

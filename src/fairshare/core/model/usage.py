"""What queues and users received in the past: decayed usage, and budgets of resource-hours.

A `Ledger` has a cell for each leaf queue and user. Between two changes of what a cell uses, its use
is constant, so that its integral is a sum of products: whole numbers of (units of a resource) times
ms, the same on every machine. At intervals the ledger is settled: what was received so far loses
half of its weight in each half-life,

    usage(t) = sum over the past of used(s) * 2 ** -((t - s) / half_life) ds

and `usage / (half_life / ln 2)` is an average: what was used at a time, the present counting most.
Within an interval between two settlements, of at most 1/64 of a half-life, all use weighs as much
as that in its middle; that is exact to 1 in 100,000.

What enters the orders of the schedulers is a `charge`, in units of the resources: `strength` times
the average. A sibling that uses 4 GPUs and is charged 6 is ordered as if it used 10. With weights w
siblings that want everything get

    used = w / W * (total + strength * averages) - strength * average

which is KAI's share, w' + k * (w' - u'), of a cluster that was busy. A charge decides who comes
first, and nothing else: it is never a reason to leave something idle.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import isqrt
from typing import Final, NamedTuple

import msgspec

from fairshare.core.model.applications import Attempt
from fairshare.core.model.queues import parents_of
from fairshare.core.model.resources import Resource, add, subtract

_BITS: Final = 64
_ONE: Final = 1 << _BITS
_LN_2: Final = 12_786_308_645_202_655_660
"""The natural logarithm of 2, in units of 2**-64, as all factors here."""


def _roots() -> tuple[int, ...]:
    roots = [isqrt(_ONE * _ONE >> 1)]
    while len(roots) < 32:
        roots.append(isqrt(roots[-1] << _BITS))
    return tuple(roots)


_ROOTS: Final = _roots()
"""2**-(1/2), 2**-(1/4), ..."""


def decay(age_ms: int, half_life_ms: int) -> int:
    """2**-(age / half-life) in units of 2**-64; 0 after 64 half-lives.

    >>> decay(0, 1000) == 2**64, decay(1000, 1000) == 2**63, decay(64_000, 1000)
    (True, True, 0)
    >>> round(decay(500, 1000) / 2**64, 9)
    0.707106781
    """
    halves, rest_ms = divmod(age_ms, half_life_ms)
    if halves >= _BITS:
        return 0
    part = (rest_ms << 32) // half_life_ms
    factor = _ONE
    for place, root in enumerate(_ROOTS):
        if part >> (31 - place) & 1:
            factor = factor * root >> _BITS
    return factor >> halves


_DAY_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
_MONTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def month_end_ms(now_ms: int) -> int:
    """The first instant of the next month (UTC).

    >>> month_end_ms(0) // 86_400_000, month_end_ms(951_782_400_000) // 86_400_000  # 2000-02-29
    (31, 11017)
    """
    day = now_ms // _DAY_MS
    year = 1970 + day // 366  # or a later one
    while (following := _first_day(year + 1)) <= day:
        year += 1
    end = _first_day(year)
    for number, length in enumerate(_MONTHS):
        leap = following - _first_day(year) == 366
        end += length + (1 if number == 1 and leap else 0)
        if end > day:
            break
    return end * _DAY_MS


def _first_day(year: int) -> int:
    before = year - 1
    return (year - 1970) * 365 + before // 4 - before // 100 + before // 400 - 477


class Budget(msgspec.Struct, frozen=True):
    """Resource-hours that a queue and all below it, or a user, or a user there, may receive in a
    calendar month (UTC). `resource` is the number of the type; `limit` its units times ms.

    When it is used up, nothing new of that type starts (`refuses`), or all other work goes first.
    What runs goes on.
    """

    name: str
    queue: str
    user: str
    resource: int
    limit: int
    refuses: bool

    @property
    def key(self) -> tuple[str, str, int]:
        """What it counts: a budget that gets another limit keeps what was used."""
        return self.queue, self.user, self.resource

    def counts(self, queue: str, user: str) -> bool:
        """Whether the use of a user in a leaf queue counts."""
        if self.user and self.user != user:
            return False
        return not self.queue or queue == self.queue or queue.startswith(f"{self.queue}.")


class Fairness(msgspec.Struct, frozen=True):
    """Whether the past counts, and how long: half-life 0 is never. Of `strength` the module's
    docstring has the meaning."""

    half_life_ms: int = 0
    strength: int = 20
    budgets: tuple[Budget, ...] = ()

    @property
    def on(self) -> bool:
        """Whether anything has to be counted."""
        return self.half_life_ms > 0 or bool(self.budgets)

    @property
    def interval_ms(self) -> int:
        """The time between two settlements."""
        return max(1_000, min(60_000, self.half_life_ms // 64 or 60_000))


OFF: Final = Fairness()

MOST_CHARGE: Final = 1 << 50
"""Of one type: behind all other work, and still a whole number in a double."""


class BudgetUse(NamedTuple):
    """A budget, and what was used of it since the month began, in its type's units times ms."""

    budget: Budget
    used: int

    @property
    def over(self) -> bool:
        """Whether it is used up."""
        return self.used >= self.budget.limit

    @property
    def hours(self) -> tuple[float, float]:
        """What was used and what may be used, in hours."""
        return self.used / _HOUR_MS, self.budget.limit / _HOUR_MS


class Cell:
    """What one user receives in one leaf queue: in use since `since_ms`; the area under the use
    since the last settlement, and the decayed usage then, for each type."""

    __slots__ = ("area", "past", "since_ms", "used")

    def __init__(self, types: int, now_ms: int) -> None:
        self.used: Resource = (0,) * types
        self.area: Resource = self.used
        self.past: Resource = self.used
        self.since_ms = now_ms


class Ledger:
    """The usage of all queues and users, while something has to be counted.

    A container changes the use of an attempt; of an instant only what each attempt used before
    its first change is noted (`changed`), and all are counted together once it is over.
    `spent` is what was used of each budget this month. `over` are those that were used up at the
    last update, and `charges` what entered the orders then: by queue with an empty user, and by
    leaf queue and user.
    """

    __slots__ = (
        "cells",
        "changed",
        "charges",
        "fairness",
        "month_end_ms",
        "now_ms",
        "over",
        "settled_ms",
        "spent",
        "types",
        "update_ms",
    )

    def __init__(self, fairness: Fairness, types: int, now_ms: int) -> None:
        self.fairness = fairness
        self.types = types
        self.cells: dict[tuple[str, str], Cell] = {}
        self.now_ms = now_ms
        self.changed: dict[int, tuple[Attempt, Resource]] = {}
        self.spent: dict[tuple[str, str, int], int] = {one.key: 0 for one in fairness.budgets}
        self.over: tuple[Budget, ...] = ()
        self.charges: dict[tuple[str, str], Resource] = {}
        self.settled_ms = now_ms
        self.month_end_ms = month_end_ms(now_ms)
        self.update_ms = now_ms

    def change(self, now_ms: int, fairness: Fairness) -> None:
        """Other settings are in force. A budget that is new begins with nothing used."""
        self.settle(now_ms)
        if not fairness.half_life_ms:
            for cell in self.cells.values():
                cell.past = (0,) * self.types
        self.fairness = fairness
        self.spent = {one.key: self.spent.get(one.key, 0) for one in fairness.budgets}
        self.over = self._used_up()
        self.update_ms = now_ms

    def changes(self, now_ms: int, attempt: Attempt) -> None:
        """Called before the use of an attempt changes."""
        if now_ms != self.now_ms:
            self.count_changes()
            self.now_ms = now_ms
        if attempt.id not in self.changed:
            self.changed[attempt.id] = attempt, attempt.used

    def count_changes(self) -> None:
        """Count what has changed at the last instant; before an attempt changes its queue, starts
        or ends, too."""
        for attempt, before in self.changed.values():
            if attempt.used != before:  # often one container has taken the place of another
                change = subtract(attempt.used, before)
                self.use(self.now_ms, attempt.application.queue, attempt.user, change)
        self.changed.clear()

    def use(self, now_ms: int, queue: str, user: str, resource: Resource) -> None:
        """A user in a leaf queue has got these resources; negative ones: has given them back."""
        if now_ms - self.settled_ms >= self.fairness.interval_ms or now_ms >= self.month_end_ms:
            self._settle_all(now_ms)
        cell = self.cells.get((queue, user))
        if cell is None:
            cell = self.cells[queue, user] = Cell(self.types, now_ms)
        passed_ms = now_ms - cell.since_ms
        used = cell.used
        if len(resource) == 2:  # as in all of the hottest code
            a, b = used
            if passed_ms > 0:
                x, y = cell.area
                cell.area = (x + a * passed_ms, y + b * passed_ms)
                cell.since_ms = now_ms
            cell.used = (a + resource[0], b + resource[1])
            return
        if passed_ms > 0:
            cell.area = tuple([x + u * passed_ms for x, u in zip(cell.area, used, strict=True)])
            cell.since_ms = now_ms
        cell.used = add(used, resource)

    def settle(self, now_ms: int) -> None:
        """Bring all usage up to an instant.

        Changes of use settle first once an interval is over. So what is beyond the interval has had
        no change, and its constant use is integrated in closed form, however long that was.
        """
        if self.changed:
            self.count_changes()
        self._settle_all(now_ms)

    def _settle_all(self, now_ms: int) -> None:
        while self.month_end_ms <= now_ms:
            self._settle_until(self.month_end_ms)
            self.spent = dict.fromkeys(self.spent, 0)
            self.month_end_ms = month_end_ms(self.month_end_ms)
        self._settle_until(now_ms)

    def _settle_until(self, end_ms: int) -> None:
        begin_ms = self.settled_ms
        if end_ms <= begin_ms:
            return
        edge_ms = min(end_ms, begin_ms + self.fairness.interval_ms)
        self._settle_area(edge_ms, edge_ms - begin_ms)
        if end_ms > edge_ms:
            self._settle_constant(end_ms - edge_ms)
        self.settled_ms = end_ms
        self.cells = {
            key: cell for key, cell in self.cells.items() if any(cell.used) or any(cell.past)
        }
        for cell in self.cells.values():
            cell.since_ms = end_ms

    def _settle_area(self, edge_ms: int, length_ms: int) -> None:
        half_life_ms = self.fairness.half_life_ms
        old = middle = 0
        if half_life_ms:
            old, middle = decay(length_ms, half_life_ms), decay(length_ms // 2, half_life_ms)
        nothing = (0,) * self.types
        for (queue, user), cell in self.cells.items():
            rest_ms = edge_ms - cell.since_ms
            area: list[int] | Resource = cell.area
            if rest_ms > 0:
                area = [a + u * rest_ms for a, u in zip(area, cell.used, strict=True)]
            self._spend(queue, user, area)
            cell.area = nothing
            if half_life_ms:
                cell.past = tuple(
                    [p * old + a * middle >> _BITS for p, a in zip(cell.past, area, strict=True)]
                )

    def _settle_constant(self, length_ms: int) -> None:
        half_life_ms = self.fairness.half_life_ms
        if half_life_ms:
            old = decay(length_ms, half_life_ms)
            grown = (_ONE - old) * half_life_ms // _LN_2
        for (queue, user), cell in self.cells.items():
            self._spend(queue, user, [used * length_ms for used in cell.used])
            if half_life_ms:
                cell.past = tuple(
                    [
                        (p * old >> _BITS) + u * grown
                        for p, u in zip(cell.past, cell.used, strict=True)
                    ]
                )

    def _spend(self, queue: str, user: str, area: Iterable[int]) -> None:
        if self.spent:
            amounts = tuple(area)
            for budget in self.fairness.budgets:
                if budget.counts(queue, user):
                    self.spent[budget.key] += amounts[budget.resource]

    def update(self, now_ms: int) -> None:
        """Settle, and compute what enters the orders until the next update."""
        self.settle(now_ms)
        self.over = self._used_up()
        charges = {
            key: tuple([min(amount, MOST_CHARGE) for amount in charge])
            for key, charge in self.averages(self.fairness.strength).items()
        }
        last = (MOST_CHARGE,) * self.types
        for budget in self.over:
            if not budget.refuses and not budget.user:
                charges[budget.queue, ""] = last
        self.charges = {key: charge for key, charge in charges.items() if any(charge)}
        self.update_ms = min(now_ms + self.fairness.interval_ms, self.month_end_ms)

    def at(self, now_ms: int) -> "Ledger":
        """A copy that is settled at an instant, for readers."""
        copied = Ledger(self.fairness, self.types, self.settled_ms)
        copied.spent, copied.over = dict(self.spent), self.over
        copied.month_end_ms = self.month_end_ms
        for key, cell in self.cells.items():
            other = copied.cells[key] = Cell(self.types, cell.since_ms)
            other.used, other.area, other.past = cell.used, cell.area, cell.past
        copied.now_ms, copied.changed = self.now_ms, dict(self.changed)
        copied.settle(now_ms)
        return copied

    def _used_up(self) -> tuple[Budget, ...]:
        return tuple(one.budget for one in self.budget_uses() if one.over)

    def averages(self, times: int = 1) -> dict[tuple[str, str], Resource]:
        """What was used on average, so many times and rounded down, as of the last settlement: by
        queue with an empty user, and by leaf queue and user; empty without a half-life."""
        half_life_ms = self.fairness.half_life_ms
        if not half_life_ms:
            return {}
        sums: dict[tuple[str, str], Resource] = {}
        for (queue, user), cell in self.cells.items():
            sums[queue, user] = cell.past
            for name in (queue, *parents_of(queue)):
                before = sums.get((name, ""))
                sums[name, ""] = cell.past if before is None else add(before, cell.past)
        length = half_life_ms << _BITS
        return {
            key: tuple([times * amount * _LN_2 // length for amount in past])
            for key, past in sums.items()
        }

    def budget_uses(self) -> list[BudgetUse]:
        """The budgets with what was used of them, as of the last settlement."""
        return [BudgetUse(one, self.spent[one.key]) for one in self.fairness.budgets]

    def refusals(self, queue: str, user: str) -> Iterator[Budget]:
        """The budgets because of which a user in a leaf queue gets nothing of their types."""
        for budget in self.over:
            if budget.refuses and budget.counts(queue, user):
                yield budget

    def comes_last(self, queue: str, user: str) -> bool:
        """Whether a budget of the user's, there or everywhere, is used up."""
        return any(
            budget.user and not budget.refuses and budget.counts(queue, user)
            for budget in self.over
        )

    def closed(self, queue: str, user: str) -> tuple[int, ...]:
        """The types of which a user in a leaf queue gets nothing until the month is over."""
        if not self.over:
            return ()
        return tuple(sorted({budget.resource for budget in self.refusals(queue, user)}))


def charges_of_users(
    charges: Mapping[tuple[str, str], Resource],
) -> dict[str, dict[str, Resource]]:
    """The charges of users, by leaf queue."""
    by_queue: dict[str, dict[str, Resource]] = {}
    for (queue, user), charge in charges.items():
        if user:
            by_queue.setdefault(queue, {})[user] = charge
    return by_queue

"""What readers see of the past: the averages of queues with their factors, which of them puts an
application behind others, and the budgets."""

from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairshare.api.fairness import Budget, PastUse
from fairshare.core.model.applications import Application
from fairshare.core.model.queues import ROOT, parent_name, parents_of
from fairshare.core.model.resources import Resource, add
from fairshare.core.model.usage import BudgetUse, Ledger

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import State

_PARTS: Final = 1_000
_BEHIND: Final = 0.995
"""The largest factor that is worth a word."""


def pasts_of_queues(state: "State", now_ms: int) -> dict[str, PastUse]:
    """The past of each queue, by name; empty while the past does not count.

    The factor is `(w * (total + charges) - charge) / (w * total)`, 0 at least, with the queue's
    part w of the weights of its siblings, in the type of which these used most.

    Example: 12 GPUs, strength 1; a queue with half of the weights and an average of 6 GPUs, and
    siblings with none, has the factor (0.5 * 18 - 6) / (0.5 * 12) = 0.5.
    """
    ledger = state.ledger
    if ledger is None or not ledger.fairness.half_life_ms:
        return {}
    averages = ledger.at(now_ms).averages(_PARTS)
    siblings: dict[str, list[str]] = {}
    for name in state.queues:
        siblings.setdefault(parent_name(name), []).append(name)
    none, total = state.none, state.total
    pasts: dict[str, PastUse] = {}
    for names in siblings.values():
        of_each = {name: averages.get((name, ""), none) for name in names}
        sums = [sum(column) for column in zip(*of_each.values(), strict=True)]
        fractions = [
            part / whole if whole else 0.0 for part, whole in zip(sums, total, strict=True)
        ]
        most = max(range(len(none)), key=lambda number: fractions[number])
        weights = {name: state.weight_of(state.queues[name]) for name in names}
        weight = sum(weights.values())
        for name, average in of_each.items():
            factor: float | None = None
            if weights[name] > 0 and total[most] and name != ROOT:
                part = weights[name] / weight
                lost = (part * sums[most] - average[most]) / (part * total[most] * _PARTS)
                factor = max(0.0, 1.0 + ledger.fairness.strength * lost)
            pasts[name] = PastUse(
                name,
                "",
                _named(state, average),
                average[most] / sums[most] if sums[most] else 0.0,
                factor,
                ledger.fairness.half_life_ms // 1_000,
            )
    return pasts


def _named(state: "State", average: Resource) -> dict[str, float]:
    """Averages in thousandths by type: with two digits, large ones with none."""
    values = (amount / _PARTS for amount in average)
    rounded = [float(round(one)) if one >= 100 else round(one, 2) for one in values]
    return dict(zip(state.types.names, rounded, strict=True))


def behind(state: "State", application: Application, now_ms: int) -> PastUse | None:
    """The past that puts an application behind others: of the highest queue above it with a factor
    below 1, or of its user in the leaf."""
    ledger = state.ledger
    if ledger is None or not ledger.fairness.half_life_ms:
        return None
    pasts = pasts_of_queues(state, now_ms)
    for name in reversed((application.queue, *parents_of(application.queue))):
        past = pasts.get(name)
        if past is not None and past.factor is not None and past.factor < _BEHIND:
            return past
    leaf = state.queues.get(application.queue)
    if leaf is None or not leaf.charges or not state.orders_users_by_past(leaf):
        return None
    mine = leaf.charges.get(application.user)
    others = {attempt.user for attempt in leaf.attempts.values() if attempt.asks.wanting}
    none = state.none
    if mine is None or all(leaf.charges.get(user, none) >= mine for user in others):
        return None
    averages = ledger.at(now_ms).averages(_PARTS)
    average = averages.get((application.queue, application.user), none)
    return PastUse(
        application.queue,
        application.user,
        _named(state, average),
        half_life_s=ledger.fairness.half_life_ms // 1_000,
    )


def budgets(state: "State", now_ms: int) -> list[Budget]:
    """All budgets with what was used of them."""
    if state.ledger is None:
        return []
    ledger = state.ledger.at(now_ms)
    return [_shown(state, ledger, use) for use in ledger.budget_uses()]


def used_up(
    state: "State", application: Application, now_ms: int, *, refuses: bool
) -> list[Budget]:
    """The budgets of an application's queue and user that are used up."""
    if state.ledger is None or not state.ledger.over:
        return []
    over = {
        budget.key
        for budget in state.ledger.over
        if budget.refuses is refuses and budget.counts(application.queue, application.user)
    }
    if not over:
        return []
    ledger = state.ledger.at(now_ms)
    uses = (use for use in ledger.budget_uses() if use.budget.key in over)
    return [_shown(state, ledger, use) for use in uses]


def _shown(state: "State", ledger: Ledger, use: BudgetUse) -> Budget:
    used, limit = use.hours
    return Budget(
        use.budget.name,
        use.budget.queue,
        use.budget.user,
        state.types.names[use.budget.resource],
        limit,
        used,
        max(0.0, limit - used),
        "refuse" if use.budget.refuses else "last",
        ledger.month_end_ms,
    )


def with_past(state: "State", views: Any, now_ms: int) -> Any:
    """Views of queues with their pasts, and what is booked for them now; the same views where
    neither is there."""
    pasts = pasts_of_queues(state, now_ms)
    booked: dict[str, Resource] = {}
    for span in state.kept:
        if span.begun:
            booked[span.queue] = add(booked.get(span.queue, state.none), span.resource)
    if not pasts and not booked:
        return views
    return tuple(
        msgspec.structs.replace(
            view,
            past=pasts.get(view.name),
            booked=state.types.mapping(booked[view.name]) if view.name in booked else None,
        )
        for view in views
    )

"""What a used-up budget of resource-hours stops, and the updates of past usage.

What asks for a type of which a budget that refuses is used up is not served: a submission is
refused, and the asks of applications are withheld until the month is over, or the budget is larger.
What runs goes on.
"""

from fairshare.core.model.applications import Attempt
from fairshare.core.model.events import (
    ApplicationMoved,
    AsksChanged,
    ReservationDropped,
    UsageUpdated,
)
from fairshare.core.model.inputs import SubmitApplication, UpdateUsage
from fairshare.core.model.usage import BudgetUse
from fairshare.core.schedulers.protocol import Refusal, Scheduler, State, Step
from fairshare.wording import hours_text


def update(scheduler: Scheduler, step: Step, request: UpdateUsage) -> None:
    """Let past usage enter the orders, and look at the budgets; nothing happens before that is
    due."""
    state = scheduler.state
    due_ms = state.next_usage_ms()
    if due_ms is not None and due_ms <= step.now_ms:
        step.emit(UsageUpdated())
        follow(state, step)


def follow(state: State, step: Step) -> None:
    """Withhold the asks of those whose budgets are used up, and serve those of all others."""
    for attempt in tuple(state.attempts.values()):
        _follow(state, step, attempt)


def follow_moved(state: State, step: Step, event: ApplicationMoved) -> None:
    """In another queue other budgets count."""
    attempt = state.attempts.get(event.application)
    if attempt is not None:
        _follow(state, step, attempt)


def _follow(state: State, step: Step, attempt: Attempt) -> None:
    application, ledger = attempt.application, state.ledger
    closed = () if ledger is None else ledger.closed(application.queue, application.user)
    if closed != attempt.asks.closed:
        step.emit(AsksChanged(attempt.id, ()))


def follow_asks(state: State, step: Step, event: AsksChanged) -> None:
    """Drop what is reserved for asks that are withheld now: since a budget is used up, since the
    application has moved to a queue with such a budget, or asks for something else."""
    attempt = state.attempts.get(event.application)
    if attempt is None or not attempt.asks.withheld:
        return
    orders = {key.order for key in attempt.asks.withheld}
    for reservation in tuple(attempt.reservations.values()):
        if (reservation.priority, reservation.request) in orders:
            step.emit(ReservationDropped(reservation.node))


def check(state: State, now_ms: int, queue: str, submission: SubmitApplication) -> None:
    """Raise Refusal if a submission asks for what a budget of its queue or user has used up.

    The month may have ended since the last update, as there is none while nothing runs or waits.
    """
    ledger = state.ledger
    if ledger is None or not ledger.over or submission.recovering:
        return
    sizes = [group.resource for group in submission.tasks]
    if submission.master is not None:
        sizes.append(submission.master)
    spent = ledger.at(now_ms).spent
    for budget in ledger.refusals(queue, submission.user):
        use = BudgetUse(budget, spent[budget.key])
        if use.over and any(size[budget.resource] for size in sizes):
            raise Refusal("budget-used-up", refusal(use, state), queue)


def refusal(use: BudgetUse, state: State) -> str:
    """Why a budget refuses, and what helps: `the budget 'vision' of root.vision is used up: 12 of
    10 hours of gpu in this month (UTC); ...`."""
    budget = use.budget
    used, limit = use.hours
    whose = " and ".join(part for part in (budget.queue, budget.user) if part)
    return (
        f"the budget {budget.name!r} of {whose} is used up: {hours_text(used)} of"
        f" {hours_text(limit)} hours of {state.types.names[budget.resource]} in this month (UTC);"
        " submit it when the month is over, or when the budget is raised ([fairness] of"
        " fairshare.toml)"
    )

"""The sections of fairshare.toml that schedulers follow beside Hadoop's files, and that a reload
applies: each is a field of the same name in their settings.

    [fairness]                      # whether the past counts, and budgets of resource-hours
    half_life_s = "7d"

    [fairness.budgets.vision]
    queue = "root.vision"
    hours = 500                     # of yarn.io/gpu, in a month

    [time_limits]                   # how long tasks may run in a queue
    default_s = "12h"               # of tasks that have no limit of their own
    maximum_s = "3d"

    [time_limits.queues."root.short"]
    maximum_s = "30m"

    [bookings]                      # how what `fairshare reserve` promises is kept
    ahead_s = "1h"                  # before a booking only tasks that end by its start get its room
    preempt_after_s = "10m"         # after its start; without it nothing is preempted

Hadoop's own files have no words for the first and the last, and a Hadoop that reads them is not
disturbed (docs/decisions/0025); they have lifetimes of applications, and under the Capacity
Scheduler alone.
"""

import math
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from fairshare.core.model.bookings import BookingRules
from fairshare.core.model.queues import ROOT, full_name
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.time_limits import TimeLimit
from fairshare.core.model.usage import Budget, Fairness
from fairshare.core.schedulers.reasons import Reason
from fairshare.documents.gpus import GPU
from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.documents.structs import At
from fairshare.settings.raising import Raise

FAIRNESS: Final = "fairness"
TIME_LIMITS: Final = "time_limits"
BOOKINGS: Final = "bookings"
OWN_SECTIONS: Final = (FAIRNESS, TIME_LIMITS, BOOKINGS)

_HOUR_MS: Final = 3_600_000
MOST_BUDGETS: Final = 1_000
_MOST_HOURS: Final = 10**12
_Limit = Annotated[int, Meta(ge=1, le=100 * 366 * 86_400)] | None
_LONGEST_S: Final = 31 * 86_400


class BudgetSettings(msgspec.Struct, frozen=True):
    """A budget of a queue and all below it, of a user, or of a user in a queue: `hours` of one unit
    of the `resource` in a calendar month (UTC). `when_used_up` nothing new of it starts (`refuse`),
    or all other work goes first (`last`)."""

    hours: Annotated[float, Meta(ge=0, le=_MOST_HOURS)]
    queue: str = ""
    user: str = ""
    resource: str = GPU
    when_used_up: Literal["refuse", "last"] = "refuse"

    def check(self, at: At) -> None:
        """It is of a queue or a user."""
        if not self.queue and not self.user:
            at.wrong("a budget belongs to a queue, a user, or both: write queue, user, or both")
        elif not self.user and full_name(self.queue) == ROOT and self.when_used_up == "last":
            message = f'"last" has no meaning for {ROOT}, beside which there is no other queue'
            at.wrong(message, "when_used_up")


class FairnessSettings(msgspec.Struct, frozen=True):
    """Whether what queues and users received in the past counts: it loses half of its weight in
    each half-life. None: the past does not count. `strength` says how much faster than it is
    forgotten it is made up for. `budgets` are limits on what is received in a month, by name."""

    half_life_s: Annotated[int, Meta(ge=60, le=366 * 86_400)] | None = None
    strength: Annotated[int, Meta(ge=1, le=1_000)] = 20
    budgets: dict[str, BudgetSettings] = {}

    def check(self, at: At) -> None:
        """There are not too many budgets, and each is of something else."""
        if len(self.budgets) > MOST_BUDGETS:
            message = f"there are {len(self.budgets)} budgets, and {MOST_BUDGETS} are possible"
            at.wrong(message, "budgets")
        names: dict[tuple[str, str, str], str] = {}
        for name, budget in self.budgets.items():
            key = (budget.queue and full_name(budget.queue), budget.user, budget.resource)
            if names.setdefault(key, name) != name:
                message = f"{name!r} is a second budget of the same, beside {names[key]!r}"
                at.wrong(message, "budgets", name)


def fairness_of(
    settings: FairnessSettings, types: ResourceTypes, root: Node, problems: Problems
) -> Fairness:
    """The settings as the core has them; a budget of an unknown type is reported. `root` is the
    document that names them."""
    budgets: list[Budget] = []
    for name, budget in settings.budgets.items():
        if budget.resource not in types.names:
            problems.error(
                root.find(FAIRNESS, "budgets", name, "resource"),
                FAIRNESS,
                f"{FAIRNESS}.budgets.{name}: there is no resource type {budget.resource!r}: there"
                f" are {', '.join(types.names)}",
            )
            continue
        budgets.append(
            Budget(
                name,
                budget.queue and full_name(budget.queue),
                budget.user,
                types.names.index(budget.resource),
                round(budget.hours * _HOUR_MS),
                budget.when_used_up == "refuse",
            )
        )
    return Fairness((settings.half_life_s or 0) * 1_000, settings.strength, tuple(budgets))


def raised_budget(settings: Any, reason: Reason) -> Raise | None:
    """The hours of a budget that withholds what a reason is about, in the settings of a scheduler:
    so many that one of its containers, or all, may run for an hour; for a day; or for ever."""
    budgets = settings.fairness.budgets
    name = "" if reason.budget is None else reason.budget.name
    budget = next((one for one in budgets if one.name == name), None)
    if budget is None or reason.budget is None or reason.wanted is None:
        return None
    used, size = reason.budget.used_hours, reason.wanted[budget.resource]
    counts = 1, reason.containers, 24 * reason.containers
    hours = {math.ceil(used + size * count) for count in counts}
    values = sorted(one for one in hours if one * _HOUR_MS > budget.limit)

    def with_hours(value: int) -> Any:
        raised = replace(budget, limit=value * _HOUR_MS)
        others = tuple(raised if one is budget else one for one in budgets)
        return replace(settings, fairness=replace(settings.fairness, budgets=others))

    setting = f"hours of the budget {name}"
    return Raise(setting, [*values, _MOST_HOURS], lambda value: f"{value:,}", with_hours)


class QueueTimeLimit(msgspec.Struct, frozen=True):
    """How long tasks run that have no limit of their own (`default_s`), and how long any may."""

    default_s: _Limit = None
    maximum_s: _Limit = None

    def check(self, at: At) -> None:
        """The default is possible."""
        default_s, maximum_s = self.default_s, self.maximum_s
        if default_s is not None and maximum_s is not None and default_s > maximum_s:
            at.wrong(f"{at.path('default_s')} is longer than maximum_s", "default_s")


class TimeLimitSettings(QueueTimeLimit, frozen=True, kw_only=True):
    """The same for all queues, and by queue. What a queue leaves out the nearest queue above
    says."""

    queues: dict[str, QueueTimeLimit] = {}

    def check(self, at: At) -> None:
        """The limits of all queues are above, and each queue is there once."""
        super().check(at)
        names: dict[str, str] = {}
        for name in self.queues:
            if full_name(name) == ROOT:
                at.wrong("the limits of all queues belong to [time_limits]", "queues", name)
            elif names.setdefault(full_name(name), name) != name:
                at.wrong(f"{name!r} and {names[full_name(name)]!r} are the same", "queues", name)


def time_limits_of(settings: TimeLimitSettings) -> dict[str, TimeLimit]:
    """The limits by the full names of queues, as the core has them."""
    limits = {ROOT: settings, **{full_name(name): own for name, own in settings.queues.items()}}
    return {
        queue: TimeLimit(_ms(limit.default_s), _ms(limit.maximum_s))
        for queue, limit in limits.items()
        if limit.default_s is not None or limit.maximum_s is not None
    }


class BookingSettings(msgspec.Struct, frozen=True):
    """From `ahead_s` before the start of a booking on, only tasks whose time limit ends by then get
    what it needs. `preempt_after_s` after the start, what still uses that is preempted; none: it
    runs to its end."""

    ahead_s: Annotated[int, Meta(ge=0, le=_LONGEST_S)] = 3_600
    preempt_after_s: Annotated[int, Meta(ge=0, le=_LONGEST_S)] | None = None


def booking_rules_of(settings: BookingSettings) -> BookingRules:
    """The settings as the core has them."""
    return BookingRules(settings.ahead_s * 1_000, _ms(settings.preempt_after_s))


def _ms(seconds: int | None) -> int | None:
    return None if seconds is None else seconds * 1_000

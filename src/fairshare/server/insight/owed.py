"""Owns the breakdown of what a queue is owed, that is, its entitlement minus its usage, into parts
by kind of cause, from the core's reasons (`core/schedulers/reasons.py`).

Waiting applications claim what they lack, in the given order, until nothing is left: so the sum of
the parts is exactly what is owed. The part without a reason is `other`. Reads the reasons and
amounts of one instant; decides nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from fairshare.api.pages import OwedPartFields
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource, fits
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.server.insight.why import Words

KINDS: Final[dict[str, tuple[str, frozenset[Cause]]]] = {
    "preempted": ("being preempted for it", frozenset()),
    "limit": (
        "a limit",
        frozenset(
            {
                Cause.QUEUE_APPLICATIONS,
                Cause.USER_APPLICATIONS,
                Cause.QUEUE_MASTERS,
                Cause.USER_MASTERS,
                Cause.QUEUE_MAXIMUM,
                Cause.USER_LIMIT,
                Cause.JOB_TASKS,
                Cause.POOL_TASKS,
            }
        ),
    ),
    "held": ("held by others", frozenset()),
    "scattered": ("free, but on no node together", frozenset()),
    "reserved": (
        "kept free on a node", frozenset({Cause.RESERVED_HERE, Cause.RESERVED_FOR_OTHERS})
    ),
    "nearer": ("waits for a nearer node", frozenset({Cause.NEARER_NODE})),
    "turn": ("its turn comes", frozenset({Cause.OTHERS_FIRST, Cause.NEXT_OFFER})),
    "impossible": (
        "no node can serve it",
        frozenset(
            {
                Cause.TOO_LARGE,
                Cause.GANG_TOO_LARGE,
                Cause.PLACE_UNKNOWN,
                Cause.BLACKLISTED,
                Cause.NO_NODES,
                Cause.NO_CAPACITY,
                Cause.NOT_STARTED,
            }
        ),
    ),
    "stopped": (
        "nothing is granted now",
        frozenset(
            {
                Cause.SAFE_MODE,
                Cause.DISK_FULL,
                Cause.NODES_FAILING,
                Cause.NODES_DRAINED,
                Cause.QUEUE_GONE,
            }
        ),
    ),
    "itself": (
        "waits for itself",
        frozenset(
            {
                Cause.HELD,
                Cause.APPLICATIONS_AHEAD,
                Cause.BEGINS_LATER,
                Cause.MASTER_SILENT,
                Cause.TASKS_AT_ONCE,
                Cause.TASKS_PAUSED,
                Cause.GROUPS_AHEAD,
                Cause.SLOW_START,
            }
        ),
    ),
    "gang": (
        "containers that start together", frozenset({Cause.GANG_HOLDS, Cause.GANG_PAUSED})
    ),
    "other": ("not looked at", frozenset()),
}  # fmt: skip
"""Kinds of causes, with the words for each. `NO_ROOM` belongs to `scattered` if the container fits
into the free resources of the whole cluster, otherwise to `held`."""

_KIND_OF: Final = {cause: kind for kind, (_, causes) in KINDS.items() for cause in causes}


class Waiting(msgspec.Struct, frozen=True):
    """A waiting application of the queue: its outstanding resources, and the reasons."""

    application: ApplicationId
    pending: Resource
    reasons: Sequence[Reason]


class OwedPart(OwedPartFields[ApplicationId], frozen=True):
    """One part of what is owed. `sentence` explains the reason of its first application."""


def kind_of(reason: Reason, free: Resource) -> str:
    """The kind of a reason; `free` is the sum of the free resources of all nodes.

    >>> kind_of(Reason(cause=Cause.NO_ROOM, wanted=(4, 1)), (9, 9))
    'scattered'
    """
    if reason.cause == Cause.NO_ROOM:
        scattered = reason.wanted is not None and fits(reason.wanted, free)
        return "scattered" if scattered else "held"
    return _KIND_OF[reason.cause]


def owed_parts(
    owed: int, place: int, waiting: Iterable[Waiting], free: Resource, promised: int, words: Words
) -> list[OwedPart]:
    """The parts of `owed` (of the type with index `place`), the largest first.

    `promised` is the room that nodes already keep for the queue after preemption.
    """
    amounts: dict[str, int] = {}
    applications: dict[str, dict[ApplicationId, str]] = {}
    rest = owed

    def claim(kind: str, amount: int) -> int:
        taken = min(rest, amount)
        if taken > 0:
            amounts[kind] = amounts.get(kind, 0) + taken
        return max(0, taken)

    rest -= claim("preempted", promised)
    for one in waiting:
        if rest <= 0:
            break
        for number, reason in enumerate(one.reasons):
            if number and not reason.containers:
                continue  # another limit on the application, counted with the first
            kind = kind_of(reason, free)
            taken = claim(kind, _lacking(one, reason, place))
            rest -= taken
            if taken:
                said = applications.setdefault(kind, {})
                if one.application not in said:
                    said[one.application] = words.explain(reason).sentence
    rest -= claim("other", rest)
    order = list(KINDS)
    return [
        OwedPart(
            kind=kind,
            words=KINDS[kind][0],
            amount=amounts[kind],
            applications=len(applications.get(kind, {})),
            first=next(iter(applications.get(kind, {})), None),
            sentence=next(iter(applications.get(kind, {}).values()), ""),
        )
        for kind in sorted(amounts, key=lambda kind: (-amounts[kind], order.index(kind)))
    ]


def _lacking(one: Waiting, reason: Reason, place: int) -> int:
    """The amount that an ask lacks; a reason for the whole application counts for all its asks."""
    if reason.containers and reason.wanted is not None:
        return reason.containers * reason.wanted[place]
    return one.pending[place]

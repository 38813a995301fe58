"""The wording of reasons to wait: one sentence with the numbers, and what would end the wait.

The core returns causes and vectors (`core/schedulers/reasons.py`); this module turns them into
English.

Each cause has a sentence and a condition (`CAUSES`). With a single cause the remedy is "It starts
when CONDITION."; if several causes hold back the same containers, the remedy names them all, since
removing one alone is not enough. A cause that waiting cannot remove has a remedy of its own.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from fairshare.api.fairness import Budget
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import application_name
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.core.schedulers.entitlement import Entitlement, Obstacle, Preemption
from fairshare.core.schedulers.protocol import State
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.documents.gpus import GPU
from fairshare.wording import counted, hours_text, span


class Explanation(msgspec.Struct, frozen=True):
    """One reason in words. `remedy` says what would end the wait."""

    sentence: str
    remedy: str


class Said(NamedTuple):
    """What is said of a cause; the texts are filled with the values of `Words.values`.

    Without a `condition` waiting does not help, and `remedy` says what does.
    """

    sentence: str
    condition: str = ""
    remedy: str = "It never starts as it is: ask for less, or add a larger node."


CAUSES: Final[Mapping[Cause, Said]] = {
    # The application.
    Cause.NOT_STARTED: Said(
        "No queue can be called {queue!r}.",
        remedy="It can only be killed: submit it again to another queue.",
    ),
    Cause.QUEUE_GONE: Said(
        "{queue} is not a leaf queue of the configuration any longer: what runs there goes on, and"
        " nothing more is granted.",
        "it is moved to another queue (`fairshare move`), or the queue is added again",
    ),
    Cause.QUEUE_APPLICATIONS: Said(
        "{queue} runs {count:application}, as many as it may.",
        "one of {queue} ends and those that came earlier have started",
    ),
    Cause.USER_APPLICATIONS: Said(
        "{user} has {count:application} running, as many as {user} may.",
        "one of {user}'s ends",
    ),
    Cause.PASSED_OVER: Said(
        "{queue} and {user} run fewer applications than they may, since one was moved: as in"
        " Hadoop, that does not start what max-parallel-apps held back.",
        "the configuration is reloaded (`fairshare admin refresh-queues`), or one ends in a queue"
        " that runs as many as it may",
    ),
    Cause.QUEUE_MASTERS: Said(
        "The masters in {queue} use {used} of {limit}: {no_more}.",
        "another application of {queue} ends and those that came earlier have started, or the part"
        " that masters may have is raised (maxAMShare, maximum-am-resource-percent)",
    ),
    Cause.USER_MASTERS: Said(
        "{user}'s masters in {queue} use {used} of {limit}: {no_more}.",
        "another application of {user}'s in {queue} ends",
    ),
    Cause.MASTER_SILENT: Said(
        "Its master runs, and has not registered yet.",
        "the master registers, since its requests count from then on: see its log",
    ),
    Cause.GROUPS_AHEAD: Said(
        "The group waits for other groups of the same application.",
        "enough of their tasks have succeeded",
    ),
    Cause.HELD: Said("It is held.", "it is released: `fairshare release`"),
    Cause.APPLICATIONS_AHEAD: Said(
        "It starts after {first}{more}.",
        "{first}{more} {count:has ended|have ended} as it demands",
    ),
    Cause.BEGINS_LATER: Said("It begins at {due}.", "it is {due}"),
    Cause.TASKS_PAUSED: Said(
        "{containers:task} of the group failed at once, and {containers:waits|wait} before"
        " {containers:it is|they are} tried again.",
        "{containers:that pause is|the first of these pauses is} over{until:, *}",
    ),
    Cause.TASKS_AT_ONCE: Said(
        "At most {count:task} of the group may run at once, and {containers} more"
        " {containers:waits|wait}.",
        "one of those that run ends",
    ),
    # Places.
    Cause.SAFE_MODE: Said(
        "The cluster is in safe mode: nothing is granted.",
        "an administrator ends the safe mode: `fairshare admin safe-mode off`",
    ),
    Cause.DISK_FULL: Said(
        "The disk of the server is nearly full, or has nearly no inodes left, and nothing is"
        " launched (`fairshare status` shows which).",
        "there is room on it",
    ),
    Cause.NO_DATABASE: Said(
        "The database of the server does not answer, and nothing is decided.", "it does"
    ),
    Cause.NODES_FAILING: Said(
        "{nodes} could not start containers lately (`fairshare nodes` shows why).",
        "{node} is tried again{until:, *}, and starts one",
    ),
    Cause.NODES_DRAINED: Said(
        "{all_nodes} being drained: no new containers start there.",
        "a node joins, or when an administrator says `fairshare admin undrain {node}`",
    ),
    Cause.NO_CAPACITY: Said(
        "{queue} may use nothing of the partition {label!r}.",
        remedy="It never starts as it is: give {queue} a capacity there"
        " (accessible-node-labels.{label}.capacity), or ask for another partition.",
    ),
    Cause.NO_NODES: Said(
        "There is no node{where}.",
        "a node joins, or gets the label that it asks for",
    ),
    Cause.TOO_LARGE: Said(
        "One container of {wanted} is larger than every node{accepted}: {node} comes nearest with"
        " {available}.",
    ),
    Cause.GANG_TOO_LARGE: Said(
        "The {containers:container} of its gang start together, and all nodes that it accepts have"
        " room for {count}, even when they are empty.",
        remedy="It never starts as it is: ask for fewer or smaller containers, or add nodes.",
    ),
    Cause.PLACE_UNKNOWN: Said(
        "It accepts only places that are not in the cluster.",
        "such a node joins, or when it names other hosts or none",
    ),
    Cause.BLACKLISTED: Said(
        "It refuses all {count:node} that could serve it.",
        "another node joins, or its master takes one from its blacklist",
    ),
    # Limits.
    Cause.QUEUE_MAXIMUM: Said(
        "{queue} uses {used} of its maximum of {limit}: one more of {wanted} does not fit.",
        "enough containers of {queue} end, or its maximum is raised",
    ),
    Cause.USER_LIMIT: Said(
        "{user} has {used} in {queue}, above the limit of {limit} for one user{weight}.",
        "enough containers of {user}'s in {queue} end{others_want}, or {raised} is raised",
    ),
    Cause.BOOKED: Said(
        "{booking}, of which {used} is in use{free}",
        "{booking_ends}, or an administrator changes or cancels it (fairshare reserve)",
    ),
    Cause.SLOW_START: Said(
        "Its reduces wait for its maps, of which {count} have finished.",
        "the part of the maps has finished that slow start asks for",
    ),
    Cause.JOB_TASKS: Said(
        "It runs {count:task} of this kind, as many as it may.", "one of them ends"
    ),
    Cause.POOL_TASKS: Said(
        "{queue} runs {count:task} of this kind, its maximum.",
        "a task of {queue} of this kind ends",
    ),
    Cause.LIFETIME: Said(
        "Its lifetime ends{until: *}, at {due}: what has not ended then is killed.",
        remedy="It needs a longer lifetime if it is to wait for longer:"
        " `yarn application -updateLifetime`.",
    ),
    # Room and order of service.
    Cause.RESERVED_HERE: Said(
        "{node} is kept free for it, and has {available} of the {wanted} so far.",
        "enough containers on {node} have ended",
    ),
    Cause.KEPT_FOR_IT: Said(
        "{node} keeps {limit} free for it{kept: (for *)}, to which {queue} is entitled, and has"
        " {available} of the {wanted} so far.",
        "enough containers on {node} have ended",
    ),
    Cause.KEPT_FOR_ANOTHER: Said(
        "{node} has room, and keeps {limit} free for {first}{kept: (for *)}, whose queue is"
        " entitled to that.{lent}",
        "that one has started, or enough beyond that is free",
    ),
    Cause.RESERVED_FOR_OTHERS: Said(
        "{count:node} {count:has|have} room, and {count:is|are} kept free for {whom}.",
        "another node has room, or the reservation has been served",
    ),
    Cause.NO_ROOM: Said(
        "No node{accepted} has {wanted} free: {node} comes nearest with {available}.{holders}"
        "{behind}{preempting}",
        "enough containers on one node have ended and its turn comes",
    ),
    Cause.NEARER_NODE: Said(
        "It waits for a node near its data, and has passed over {count:offer}.",
        "such a node has room, or it has waited for long enough",
    ),
    Cause.OWN_FIRST: Said(
        "Its own request for {limit} is served first, and waits.",
        "that one has all its containers",
    ),
    Cause.OTHERS_FIRST: Said(
        "Others are served first.{behind}",
        "these have what they want, or their limits stop them",
    ),
    Cause.NEXT_OFFER: Said("Nothing is in its way.", "a node with room has its next heartbeat"),
    Cause.BUDGET: Said(
        "{budget}, and nothing new of it starts.",
        "the month is over, at {due}, or the budget is raised ([fairness] of fairshare.toml)",
    ),
    # Gangs.
    Cause.GANG_HOLDS: Said(
        "It holds {count} of the {gang:container} of its gang, which start together"
        "{until:, and gives them back *}.",
        "the {containers:missing container} {containers:is|are} allocated before that",
    ),
    Cause.GANG_PAUSED: Said(
        "Its gang did not get all of its {containers:container} in time, and gave them back.",
        "there is room for all of them; it requests them again as soon as that is so"
        "{until:, and * in any case}",
    ),
}

NEVER: Final[Mapping[Cause, Said]] = {
    Cause.QUEUE_APPLICATIONS: Said(
        "{queue} may run no applications: its maximum is 0.",
        remedy="It never starts there: move it to another queue (`fairshare move`), or raise the"
        " maximum of {queue}.",
    ),
    Cause.USER_APPLICATIONS: Said(
        "{user} may run no applications: the maximum of one user is 0.",
        remedy="It never starts as it is: raise the maximum of {user}.",
    ),
    Cause.QUEUE_MASTERS: Said(
        "The masters in {queue} may use {limit}, and its own takes {wanted}.",
        remedy="It never starts as it is: ask for a smaller master, or raise the part that masters"
        " may have (maxAMShare, maximum-am-resource-percent).",
    ),
    Cause.QUEUE_MAXIMUM: Said(
        "One container of {wanted} is larger than the maximum of {queue}: {most}.",
        remedy="It never starts as it is: ask for less, or raise the maximum of {queue}.",
    ),
}
"""What is said of limits into which nothing fits, so that waiting does not help."""

_RESERVED_FOR_NOTHING: Final = CAUSES[Cause.RESERVED_FOR_OTHERS]._replace(
    condition="the reservation has been served, or when an administrator switches reservations off:"
    ' reservations = "off" in [engine] of fairshare.toml, or'
    " yarn.scheduler.fair.reservable-nodes = 0"
)
"""For `RESERVED_FOR_OTHERS` where no other node has room."""

_WITHOUT_GPUS: Final = CAUSES[Cause.TOO_LARGE]._replace(
    sentence="It asks for {wanted}, and {node}, which comes nearest of all nodes{accepted}, has no"
    " GPUs.",
    remedy="It does not start as it is: ask for none, let the server assign those of its machine"
    " (gpus in [engine] of fairshare.toml; `fairshare doctor` says which it finds), or end the"
    " programs outside of fairshare that use them (`fairshare nodes` marks such GPUs).",
)
"""For `TOO_LARGE` where the node lacks GPUs altogether."""

OF_PAUSED_GANGS: Final = frozenset({Cause.GANG_TOO_LARGE, Cause.GANG_PAUSED})
"""Causes whose own sentences name the limits."""

_LIMITS: Final = frozenset({Cause.QUEUE_MAXIMUM, Cause.USER_LIMIT})
"""Causes that apply even if a node has room."""


def _kept_away(reason: Reason) -> tuple[str, str]:
    """That a node has room which cannot be used, after a space, and what would change that."""
    note = condition = ""
    if reason.drained:
        note += f" {reason.drained} has room, and is being drained."
        condition += (
            ", or when an administrator undrains that node (`fairshare admin undrain"
            f" {reason.drained}`)"
        )
    if reason.refused:
        note += f" {reason.refused} has room, and its master refuses it."
        condition += f", or its master takes {reason.refused} from its blacklist"
    return note, condition


def words_of(state: State, now_ms: int | None = None) -> "Words":
    """The wording for a cluster at an instant."""
    alone = state.counts_memory_alone
    return Words(state.types, state.epoch_ms, now_ms, memory_alone=alone, state=state)


_GANG_ABOVE_LIMITS: Final = CAUSES[Cause.GANG_TOO_LARGE]._replace(
    sentence="The {containers:container} of its gang start together, and {limits} admit {count}.",
    remedy="It never starts as it is: ask for fewer or smaller containers, or raise these limits.",
)
"""For `GANG_TOO_LARGE` where limits are too small."""

_GANG_BELOW_LIMITS: Final = CAUSES[Cause.GANG_PAUSED]._replace(
    sentence=CAUSES[Cause.GANG_PAUSED].sentence + " Now {limits} leave too little for them.",
)
"""For `GANG_PAUSED` where limits are in the way."""


class _Number(int):
    """`{count:task}` is "1 task" or "2 tasks", `{count:is|are}` the word that goes with it."""

    def __format__(self, form: str) -> str:
        one, divider, many = form.partition("|")
        if divider:
            return one if self == 1 else many
        return counted(int(self), form) if form else f"{int(self):,}"


MOST_HOLDERS: Final = 3
"""The most users, and applications of each, that are named as those that have what is lacking."""


class _Span(str):
    """`{until:, *}` is ", in 5 s", or empty if the present instant is not known."""

    def __format__(self, form: str) -> str:
        return form.replace("*", self) if self else ""


class Words:
    """The wording for one cluster: its resource types, and its identity in application names.

    `memory_alone`: the other types do not count there, and are left out.
    """

    def __init__(
        self,
        types: ResourceTypes,
        epoch_ms: int,
        now_ms: int | None = None,
        *,
        memory_alone: bool = False,
        state: State | None = None,
    ) -> None:
        self._types = types
        self._epoch_ms = epoch_ms
        self._memory_alone = memory_alone
        self._now_ms = now_ms  # for remaining times; None: they are left out
        self._state = state  # for what holds GPUs; None: it is left out

    def explain(self, reason: Reason) -> Explanation:
        """One reason in words.

        >>> words = Words(ResourceTypes(), 0)
        >>> reason = Reason(cause=Cause.USER_APPLICATIONS, user="ann", count=2)
        >>> words.explain(reason).sentence
        'ann has 2 applications running, as many as ann may.'
        >>> words.explain(reason).remedy
        "It starts when one of ann's ends."
        """
        sentence, condition, remedy = self._said(reason)
        if reason.preemption is not None:
            sentence += owed(reason.preemption, self.amount, self._left)
        note, more = _kept_away(reason)
        said = any(other.cause not in _LIMITS and _kept_away(other)[0] for other in reason.also)
        if reason.cause not in _LIMITS or not said:  # the obstacle beside the limit says it
            sentence += note
        if not condition:
            return Explanation(sentence, remedy)
        if reason.cause not in _LIMITS:
            condition += more
        if not reason.also or reason.cause in OF_PAUSED_GANGS:
            return Explanation(sentence, f"It starts when {condition}.")
        others = [self._beside(other) for other in reason.also]
        more = " ".join(dict.fromkeys(text for text, _, _ in others))
        for _, other, remedy in others:
            if not other:
                return Explanation(sentence, f"That is not all. {more} {remedy}")
        conditions = dict.fromkeys([condition, *(other for _, other, _ in others)])
        numbered = "; ".join(f"({place}) {text}" for place, text in enumerate(conditions, 1))
        return Explanation(
            sentence, f"That is not all. {more} It starts when all of this is so: {numbered}."
        )

    def _beside(self, reason: Reason) -> tuple[str, str, str]:
        """Sentence, condition and remedy of a cause beside another one."""
        sentence, condition, remedy = self._said(reason)
        note, more = ("", "") if reason.cause in _LIMITS else _kept_away(reason)
        return sentence + note, condition and condition + more, remedy

    def _said(self, reason: Reason) -> tuple[str, str, str]:
        """Sentence, condition and remedy of the cause itself."""
        said = (NEVER if reason.never else CAUSES)[reason.cause]
        if reason.cause is Cause.RESERVED_FOR_OTHERS and reason.node:
            said = _RESERVED_FOR_NOTHING
        elif reason.cause is Cause.TOO_LARGE and self._lacks_gpus(reason):
            said = _WITHOUT_GPUS
        elif reason.cause is Cause.GANG_TOO_LARGE and reason.also:
            said = _GANG_ABOVE_LIMITS
        elif reason.cause is Cause.GANG_PAUSED and reason.also:
            said = _GANG_BELOW_LIMITS
        values = self.values(reason)
        return (
            said.sentence.format_map(values),
            said.condition.format_map(values),
            said.remedy.format_map(values),
        )

    def _lacks_gpus(self, reason: Reason) -> bool:
        if GPU not in self._types.names or not reason.wanted or not reason.available:
            return False
        place = self._types.names.index(GPU)
        there = slice(place, place + 1)  # a vector may end before it
        return any(reason.wanted[there]) and not any(reason.available[there])

    def values(self, reason: Reason) -> dict[str, object]:
        """What the texts of causes may name of a reason."""
        count, amount = reason.count, self.amount(reason.wanted)
        names = [application_name(self._epoch_ms, number) for number in reason.ahead]
        first, more = ", ".join(names), count - len(names)
        weight = "" if reason.weight == 1 else f", whose weight is {reason.weight:g}"
        return {
            **{name: getattr(reason, name) for name in ("queue", "user", "node", "label")},
            "count": _Number(count),
            "containers": _Number(reason.containers),
            "gang": _Number(count + reason.containers),
            "wanted": amount,
            "used": self.amount(reason.used),
            "limit": self.amount(reason.limit),
            "most": self.amount(reason.limit, beside=reason.wanted),
            "available": self.amount(reason.available, beside=reason.wanted),
            "no_more": (
                "there is room now, and it starts next"
                if reason.wanted is None
                else f"one more of {amount} does not fit"
            ),
            "nodes": reason.node if count == 1 else f"All {count:,} nodes",
            "all_nodes": (
                f"{reason.node}, the only node that it could use, is"
                if count == 1
                else f"All {count:,} nodes that it could use, {reason.node} first, are"
            ),
            "accepted": " that it accepts" if reason.selective or reason.refused else "",
            "where": _where(reason),
            "limits": _listed([self._limit(one) for one in reason.also]),
            "first": first,
            "whom": f"{first}{f' and {more:,} more' if more > 0 else ''}" if first else "others",
            "more": f" and {more:,} more" if more else "",
            "holders": self._holders(reason) if reason.cause is Cause.NO_ROOM else "",
            "behind": _behind(count, first) + self._past(reason),
            "budget": "Its budget is used up" if reason.budget is None else _budget(reason.budget),
            "preempting": self._preempting(reason),
            "weight": weight,
            "others_want": (
                f", or the {counted(count, 'other user')} there"
                f" {'has' if count == 1 else 'have'} all they want"
                if count
                else ""
            ),
            "raised": "its user-limit-factor"
            + (", its minimum-user-limit-percent" if count else "")
            + (" or the user's weight" if weight else ""),
            "due": instant_text(reason.due_ms),
            "kept": _Span(
                ""
                if self._now_ms is None
                else f"{max(self._now_ms - reason.due_ms, 0) / 1_000:,.0f} s"
            ),
            "lent": self._lent(reason.lent_until_ms),
            **self._booking(reason),
            "until": _Span(
                ""
                if self._now_ms is None
                else f"in {max(reason.due_ms - self._now_ms, 0) / 1_000:,.0f} s"
            ),
        }

    def _booking(self, reason: Reason) -> dict[str, object]:
        """The words about a booking: what it keeps for which queue until when, and its end."""
        if reason.cause is not Cause.BOOKED:
            return {}
        limit, used = self.amount(reason.limit), "nothing"
        if reason.used is not None and reason.limit is not None:
            pairs = zip(reason.used, reason.limit, strict=True)
            used = self.amount(tuple(part if kept else 0 for part, kept in pairs))
        whose = f"{reason.user} in {reason.queue}" if reason.user else reason.queue
        start_ms, due = reason.lent_until_ms, instant_text(reason.due_ms)
        available = f"; {self.amount(reason.available, beside=reason.wanted)} is free."
        kept = f"The booking {reason.booking!r} keeps {limit} for {whose}"
        if not start_ms:
            return {
                "booking": f"{kept} until {due}",
                "used": used,
                "free": available,
                "booking_ends": f"that booking ends, at {due}",
            }
        begins = instant_text(start_ms)
        return {
            "booking": f"{kept} from {begins} on",
            "used": used,
            "free": f"{available} Until then only tasks that end by {begins} get that.",
            "booking_ends": f"its tasks get a time limit that ends by {begins} (--time-limit), or"
            f" that booking ends, at {due}",
        }

    def _holders(self, reason: Reason) -> str:
        """Which users have what is lacking on the nearest node, where that is a type of which few
        containers have any, such as GPUs."""
        node = None if self._state is None else self._state.nodes.get(reason.node)
        if self._state is None or node is None or not reason.wanted or reason.available is None:
            return ""
        free = dict(zip(self._types.names, reason.available, strict=False))
        lacking = [
            (place, name)
            for place, (name, wanted) in enumerate(
                zip(self._types.names, reason.wanted, strict=False)
            )
            if name not in (MEMORY, VCORES) and wanted > free.get(name, 0)
        ]
        if not lacking:
            return ""
        place, name = lacking[0]
        users: dict[str, list[ContainerAllocated]] = {}
        for container in node.containers.values():  # a vector may end before the type
            if any(container.resource[place : place + 1]):
                user = self._state.applications[container.application].user
                users.setdefault(user, []).append(container)
        parts = [
            f"{user} has {sum(sum(container.resource[place : place + 1]) for container in held):,}"
            f" ({self._held_by(held, self._state)})"
            for user, held in sorted(users.items(), key=lambda item: -len(item[1]))[:MOST_HOLDERS]
        ]
        more = len(users) - len(parts)
        if more > 0:
            parts.append(f"{counted(more, 'other user')} the rest")
        there = f"{sum(node.total[place : place + 1]):,} {name} there"
        return f" Of the {there} {', '.join(parts)}." if parts else ""

    def _held_by(self, containers: list[ContainerAllocated], state: State) -> str:
        """The applications of some containers, the one that has held its for longest first."""
        containers.sort(key=lambda container: container.allocated_ms)
        names = []
        for container in containers[:MOST_HOLDERS]:
            since_s = (
                0 if self._now_ms is None else (self._now_ms - container.allocated_ms) // 1_000
            )
            since = f" for {span(1_000 * since_s)}" if since_s > 0 else ""
            name = state.applications[container.application].submission.name
            names.append(f"{name or container.application}{since}")
        more = len(containers) - len(names)
        return ", ".join([*names, f"{more:,} more"] if more > 0 else names)

    def _past(self, reason: Reason) -> str:
        """What of the past puts it behind others."""
        if reason.budget is not None:
            return f" {_budget(reason.budget)}, and all others go first."
        past = reason.past
        if past is None:
            return ""
        name = f"{past.user} in {past.queue}" if past.user else past.queue
        average = ", ".join(
            f"{amount:,.5g} {_unit(name)}{'' if name == MEMORY else 's'}"
            for name, amount in past.average.items()
            if amount
        )
        return (
            f" Usage of the past puts {name} behind: {average} on average, which counts half after"
            f" {_span(past.half_life_s)}."
        )

    def _lent(self, until_ms: int) -> str:
        if self._now_ms is None or until_ms <= self._now_ms:
            return ""
        left_s = (until_ms - self._now_ms) / 1_000
        return f" Tasks with a time limit of less than {left_s:,.0f} s run there meanwhile."

    def _limit(self, reason: Reason) -> str:
        """A limit as a part of a sentence."""
        whose = reason.queue or "the job"
        if reason.cause is Cause.USER_LIMIT:
            return f"the limit of {reason.user} in {whose} ({self.amount(reason.limit)})"
        most = f"{reason.count:,}" if reason.limit is None else self.amount(reason.limit)
        return f"the maximum of {whose} ({most})"

    def _preempting(self, reason: Reason) -> str:
        if not reason.preempting:
            return ""
        when = ""
        if self._now_ms is not None:
            left_s = max(reason.kill_at_ms - self._now_ms, 0) / 1_000
            when = f", the first within {left_s:,.0f} s" if left_s >= 0.5 else ", the first now"
        are = "is" if reason.preempting == 1 else "are"
        containers = counted(reason.preempting, "container")
        return f" {containers} of others {are} being preempted{when}."

    def amount(self, resource: Resource | None, beside: Resource | None = None) -> str:
        """A vector in words: `2,048 MB, 1 vcore`; types with amount 0 are left out unless the
        vector `beside` has some.

        >>> words = Words(ResourceTypes(), 0)
        >>> words.amount((2048, 0)), words.amount((0, 3), beside=(512, 1))
        ('2,048 MB', '0 MB, 3 vcores')
        """
        if resource is None:
            return "nothing"
        parts = []
        shown = (
            resource if beside is None else [a or b for a, b in zip(resource, beside, strict=True)]
        )
        named = zip(self._types.names, self._types.units, resource, shown, strict=True)
        for name, unit, value, matters in named:
            if not matters or (self._memory_alone and name != MEMORY):
                continue
            if name == MEMORY:
                parts.append(f"{value:,} MB")
            elif name == VCORES:
                parts.append(f"{value:,} {'vcore' if value == 1 else 'vcores'}")
            else:
                parts.append(f"{value:,}{unit} {name}")
        return ", ".join(parts) or "nothing"

    def _left(self, due_ms: int) -> str:
        """The time until an instant that is still to come; empty if the present is not known."""
        if self._now_ms is None or due_ms <= self._now_ms:
            return ""
        return f"in {max(due_ms - self._now_ms, 1_000) / 1_000:,.0f} s"


def _unit(resource: str) -> str:
    return {GPU: "GPU", MEMORY: "MB", VCORES: "vcore"}.get(resource, resource)


def instant_text(at_ms: int) -> str:
    """`2026-11-27 21:00:00 UTC`."""
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _budget(budget: Budget) -> str:
    """`12 GPU-hours of the budget of 10 of root.vision are used`."""
    name = _unit(budget.resource)
    whose = " in ".join(part for part in (budget.user, budget.queue) if part)
    return (
        f"{hours_text(budget.used_hours)} {name}-hours of the budget of"
        f" {hours_text(budget.hours)} of {whose} are used in this month"
    )


def _span(seconds: int) -> str:
    """`7 days`, `12 hours` or `90 minutes`."""
    for length, unit in ((86_400, "day"), (3_600, "hour")):
        if (seconds >= 2 * length and seconds % length == 0) or seconds == length:
            return counted(seconds // length, unit)
    return counted(max(1, seconds // 60), "minute")


def _behind(count: int, first: str) -> str:
    if not count:
        return ""
    others = "1 other comes" if count == 1 else f"{count:,} others come"
    return f" {others} before it{f', first {first}' if first else ''}."


_SETTINGS: Final[Mapping[Entitlement, Mapping[str, str]]] = {
    Entitlement.FAIR_SHARE: {
        "on": "yarn.scheduler.fair.preemption",
        "timeout": "fairSharePreemptionTimeout, defaultFairSharePreemptionTimeout",
        "threshold": "fairSharePreemptionThreshold",
        "exempt": "allowPreemptionFrom",
    },
    Entitlement.GUARANTEED_CAPACITY: {
        "on": "yarn.resourcemanager.scheduler.monitor.enable",
        "observe": "yarn.resourcemanager.monitor.capacity.preemption.observe_only",
        "exempt": "disable_preemption",
    },
    Entitlement.POOL_SHARE: {
        "on": "mapred.fairscheduler.preemption",
        "observe": "mapred.fairscheduler.preemption.only.log",
        "timeout": "minSharePreemptionTimeout, fairSharePreemptionTimeout",
        "threshold": "fairSharePreemptionTimeout",
    },
}
"""The settings that decide, where they differ."""

_OBSTACLES: Final[Mapping[Obstacle, str]] = {
    Obstacle.OFF: "preemption is off ({on})",
    Obstacle.OBSERVE_ONLY: "what would be preempted is only logged or shown ({observe})",
    Obstacle.PROTECTED: "these queues are exempt from it ({exempt})",
    Obstacle.UTILIZATION: (
        "{percent:.0f} % of the cluster is used, and preemption begins above"
        " {threshold_percent:g} % (yarn.scheduler.fair.preemption.cluster-utilization-threshold)"
    ),
    Obstacle.NO_TIMEOUT: ("{queue} has no timeout after which it counts as starved ({timeout})"),
    Obstacle.ABOVE_THRESHOLD: (
        "it counts as starved below {threshold_percent:g} % of its share ({threshold})"
    ),
    Obstacle.SMALL_DEFICIT: (
        "what it lacks of {threshold_percent:g} % of its share ({threshold}), or its queue of its"
        " minimum, is less than one container"
    ),
    Obstacle.SMALL_EXCESS: (
        "an excess of up to {threshold_percent:g} % is tolerated"
        " (yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity)"
    ),
    Obstacle.NO_QUEUE_ABOVE: "no other has more than its share",
}


def owed(
    preemption: Preemption,
    amount: Callable[..., str],
    left: Callable[[int], str],
) -> str:
    """One or two sentences, each after a space. `amount` words a vector (with another `beside` it),
    `left` the time until an instant, or nothing if it has passed or the present is not known."""
    p, fair = preemption, preemption.entitlement is not Entitlement.GUARANTEED_CAPACITY
    whose = "It" if p.entitlement is Entitlement.FAIR_SHARE else p.queue
    share = "fair share" if fair else "guaranteed capacity"
    text = f" {whose} has {amount(p.used, p.share)} of its {share} of {amount(p.share)}"
    if p.above:
        named = [f"{one.queue} by {amount(one.amount)}" for one in p.above]
        more = p.above_count - len(p.above)
        if more:
            named.append(counted(more, "other queue"))
        text += f". Above theirs: {_listed(named)}"
    reason = _OBSTACLES.get(p.obstacle)
    if reason:
        numbers = msgspec.structs.asdict(p)
        text_of_reason = reason.format(**numbers, **_SETTINGS[p.entitlement])
        return f"{text}. Nothing is preempted for it: {text_of_reason}."
    due = left(p.due_ms) if p.obstacle is Obstacle.NOT_YET else ""
    if due:
        return f"{text}. Preemption for it begins {due}."
    return f"{text}. Preemption is on, and takes containers for it as far as its rules allow."


def _where(reason: Reason) -> str:
    """The partition that has no nodes."""
    if reason.label:
        return f" in the partition {reason.label!r}"
    if reason.queue:
        return " in the default partition, where its master would start"
    return " that it may use"


def _listed(parts: list[str]) -> str:
    return "".join(parts) if len(parts) < 2 else f"{', '.join(parts[:-1])} and {parts[-1]}"

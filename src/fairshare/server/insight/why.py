"""The wording of reasons to wait: one sentence with the numbers, and what would end the wait.

The core returns causes and vectors (`core/schedulers/reasons.py`); this module turns them into
English.

Each cause has a sentence and a condition. With a single cause the remedy is "It starts when
CONDITION."; if several causes hold back the same containers, the remedy names them all, since
removing one alone is not enough. A cause that waiting cannot remove has a remedy of its own.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from fairshare.core.model.identifiers import application_name
from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes, fits
from fairshare.core.schedulers.entitlement import Entitlement, Obstacle, Preemption
from fairshare.core.schedulers.reasons import Cause, Reason
from fairshare.wording import counted


class Explanation(msgspec.Struct, frozen=True):
    """One reason in words. `remedy` says what would end the wait."""

    sentence: str
    remedy: str


class Words:
    """The wording for one cluster: its resource types, and its identity in application names."""

    def __init__(self, types: ResourceTypes, epoch_ms: int, now_ms: int | None = None) -> None:
        self._types = types
        self._epoch_ms = epoch_ms
        self._now_ms = now_ms  # for remaining times; None: they are left out
        self._sentences: dict[Cause, Callable[[Reason], tuple[str, str]]] = {
            Cause.NOT_STARTED: self._not_started,
            Cause.QUEUE_GONE: self._queue_gone,
            Cause.QUEUE_APPLICATIONS: self._queue_applications,
            Cause.USER_APPLICATIONS: self._user_applications,
            Cause.QUEUE_MASTERS: self._queue_masters,
            Cause.USER_MASTERS: self._user_masters,
            Cause.MASTER_SILENT: self._master_silent,
            Cause.GROUPS_AHEAD: self._groups_ahead,
            Cause.HELD: self._held,
            Cause.APPLICATIONS_AHEAD: self._applications_ahead,
            Cause.BEGINS_LATER: self._begins_later,
            Cause.SAFE_MODE: self._safe_mode,
            Cause.DISK_FULL: self._disk_full,
            Cause.NODES_FAILING: self._nodes_failing,
            Cause.NODES_DRAINED: self._nodes_drained,
            Cause.NO_CAPACITY: self._no_capacity,
            Cause.NO_NODES: self._no_nodes,
            Cause.TOO_LARGE: self._too_large,
            Cause.GANG_TOO_LARGE: self._gang_too_large,
            Cause.PLACE_UNKNOWN: self._place_unknown,
            Cause.BLACKLISTED: self._blacklisted,
            Cause.QUEUE_MAXIMUM: self._queue_maximum,
            Cause.USER_LIMIT: self._user_limit,
            Cause.SLOW_START: self._slow_start,
            Cause.JOB_TASKS: self._job_tasks,
            Cause.POOL_TASKS: self._pool_tasks,
            Cause.RESERVED_HERE: self._reserved_here,
            Cause.RESERVED_FOR_OTHERS: self._reserved_for_others,
            Cause.NO_ROOM: self._no_room,
            Cause.NEARER_NODE: self._nearer_node,
            Cause.OTHERS_FIRST: self._others_first,
            Cause.NEXT_OFFER: self._next_offer,
            Cause.GANG_HOLDS: self._gang_holds,
            Cause.GANG_PAUSED: self._gang_paused,
            Cause.TASKS_PAUSED: self._tasks_paused,
            Cause.TASKS_AT_ONCE: self._tasks_at_once,
        }

    def explain(self, reason: Reason) -> Explanation:
        """One reason in words.

        >>> words = Words(ResourceTypes(), 0)
        >>> reason = Reason(cause=Cause.USER_APPLICATIONS, user="ann", count=2)
        >>> words.explain(reason).sentence
        'ann has 2 applications running, as many as ann may.'
        >>> words.explain(reason).remedy
        "It starts when one of ann's ends."
        """
        sentence, condition = self._sentences[reason.cause](reason)
        if reason.preemption is not None:
            sentence += owed(reason.preemption, self.amount, self._left)
        if reason.drained:
            sentence += f" {reason.drained} has room, and is being drained."
        if not condition:
            return Explanation(sentence, self._never(reason))
        if reason.drained and reason.cause not in _LIMITS:
            condition += (
                ", or when an administrator undrains that node (`fairshare admin undrain"
                f" {reason.drained}`)"
            )
        if not reason.also:
            return Explanation(sentence, f"It starts when {condition}.")
        others = [self._sentences[one.cause](one) for one in reason.also]
        more = " ".join(dict.fromkeys(text for text, _ in others))
        for one, (_, other) in zip(reason.also, others, strict=True):
            if not other:
                return Explanation(sentence, f"That is not all. {more} {self._never(one)}")
        conditions = dict.fromkeys([condition, *(other for _, other in others)])
        numbered = "; ".join(f"({place}) {text}" for place, text in enumerate(conditions, 1))
        return Explanation(
            sentence, f"That is not all. {more} It starts when all of this is so: {numbered}."
        )

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
            if not matters:
                continue
            if name == MEMORY:
                parts.append(f"{value:,} MB")
            elif name == VCORES:
                parts.append(f"{value:,} {'vcore' if value == 1 else 'vcores'}")
            else:
                parts.append(f"{value:,}{unit} {name}")
        return ", ".join(parts) or "nothing"

    # The application.

    def _not_started(self, r: Reason) -> tuple[str, str]:
        return (f"No queue can be called {r.queue!r}.", "")

    def _queue_gone(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} is not a leaf queue of the configuration any longer: what runs there goes"
            " on, and nothing more is granted.",
            "it is moved to another queue (`fairshare move`), or the queue is added again",
        )

    def _queue_applications(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} runs {r.count:,} {_plural(r.count, 'application')}, as many as it may.",
            f"one of {r.queue} ends and those that came earlier have started",
        )

    def _user_applications(self, r: Reason) -> tuple[str, str]:
        applications = _plural(r.count, "application")
        return (
            f"{r.user} has {r.count:,} {applications} running, as many as {r.user} may.",
            f"one of {r.user}'s ends",
        )

    def _queue_masters(self, r: Reason) -> tuple[str, str]:
        return (
            f"The masters in {r.queue} use {self.amount(r.used)} of {self.amount(r.limit)}: "
            f"{self._no_more(r)}.",
            f"another application of {r.queue} ends, or the part that masters may have is raised "
            "(maxAMShare, maximum-am-resource-percent)",
        )

    def _user_masters(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.user}'s masters in {r.queue} use {self.amount(r.used)} of {self.amount(r.limit)}: "
            f"{self._no_more(r)}.",
            f"another application of {r.user}'s in {r.queue} ends",
        )

    def _no_more(self, r: Reason) -> str:
        if r.wanted is None:
            return "there is room now, and it starts next"
        return f"one more of {self.amount(r.wanted)} does not fit"

    def _master_silent(self, r: Reason) -> tuple[str, str]:
        return (
            "Its master runs, and has not registered yet.",
            "the master registers, since its requests count from then on: see its log",
        )

    def _held(self, r: Reason) -> tuple[str, str]:
        return ("It is held.", "it is released: `fairshare release`")

    def _applications_ahead(self, r: Reason) -> tuple[str, str]:
        names = [application_name(self._epoch_ms, number) for number in r.ahead]
        more = r.count - len(names)
        named = ", ".join(names) + (f" and {more:,} more" if more else "")
        end = "has ended" if r.count == 1 else "have ended"
        return (f"It starts after {named}.", f"{named} {end} as it demands")

    def _begins_later(self, r: Reason) -> tuple[str, str]:
        at = datetime.fromtimestamp(r.due_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return (f"It begins at {at}.", f"it is {at}")

    def _tasks_paused(self, r: Reason) -> tuple[str, str]:
        one = r.containers == 1
        return (
            f"{counted(r.containers, 'task')} of the group failed at once, and"
            f" {'waits' if one else 'wait'} before {'it is' if one else 'they are'} tried again.",
            f"{'that pause is' if one else 'the first of these pauses is'} over"
            f"{self._until(r, ', {}')}",
        )

    def _disk_full(self, r: Reason) -> tuple[str, str]:
        return (
            "The disk of the server is nearly full, or has nearly no inodes left, and nothing is"
            " launched (`fairshare status` shows which).",
            "there is room on it",
        )

    def _nodes_failing(self, r: Reason) -> tuple[str, str]:
        nodes = r.node if r.count == 1 else f"All {r.count:,} nodes"
        return (
            f"{nodes} could not start containers lately (`fairshare nodes` shows why).",
            f"{r.node} is tried again{self._until(r, ', {}')}, and starts one",
        )

    def _tasks_at_once(self, r: Reason) -> tuple[str, str]:
        return (
            f"At most {counted(r.count, 'task')} of the group may run at once, and"
            f" {r.containers:,} more {'waits' if r.containers == 1 else 'wait'}.",
            "one of those that run ends",
        )

    def _groups_ahead(self, r: Reason) -> tuple[str, str]:
        return (
            "The group waits for other groups of the same application.",
            "enough of their tasks have succeeded",
        )

    # Places.

    def _safe_mode(self, r: Reason) -> tuple[str, str]:
        return (
            "The cluster is in safe mode: nothing is granted.",
            "an administrator ends the safe mode: `fairshare admin safe-mode off`",
        )

    def _nodes_drained(self, r: Reason) -> tuple[str, str]:
        nodes = f"{r.node} is" if r.count == 1 else f"All {r.count:,} nodes, {r.node} first, are"
        return (
            f"{nodes} being drained: no new containers start there.",
            f"a node joins, or when an administrator says `fairshare admin undrain {r.node}`",
        )

    def _no_capacity(self, r: Reason) -> tuple[str, str]:
        return (f"{r.queue} may use nothing of the partition {r.label!r}.", "")

    def _no_nodes(self, r: Reason) -> tuple[str, str]:
        where = f" in the partition {r.label!r}" if r.label else " that it may use"
        return (f"There is no node{where}.", "a node joins, or gets the label that it asks for")

    def _too_large(self, r: Reason) -> tuple[str, str]:
        nodes = "the only node that it accepts has" if r.count == 1 else "the largest nodes have"
        return (
            f"One container of {self.amount(r.wanted)} is larger than every node: {nodes} "
            f"{self.amount(r.available, beside=r.wanted)}.",
            "",
        )

    def _gang_too_large(self, r: Reason) -> tuple[str, str]:
        return (
            f"The {counted(r.containers, 'container')} of its gang start together, and all nodes"
            f" that it accepts have room for {r.count:,}, even when they are empty.",
            "",
        )

    def _place_unknown(self, r: Reason) -> tuple[str, str]:
        return (
            "It accepts only places that are not in the cluster.",
            "such a node joins, or when it names other hosts or none",
        )

    def _blacklisted(self, r: Reason) -> tuple[str, str]:
        return (
            f"It refuses all {r.count:,} {_plural(r.count, 'node')} that could serve it.",
            "another node joins, or its master takes one from its blacklist",
        )

    def _never(self, r: Reason) -> str:
        """The remedy for a cause that waiting cannot remove."""
        if r.cause is Cause.NOT_STARTED:
            return "It can only be killed: submit it again to another queue."
        if r.cause is Cause.NO_CAPACITY:
            return (
                f"It never starts as it is: give {r.queue} a capacity there "
                f"(accessible-node-labels.{r.label}.capacity), or ask for another partition."
            )
        if r.cause is Cause.GANG_TOO_LARGE:
            return "It never starts as it is: ask for fewer or smaller containers, or add nodes."
        if r.cause is Cause.QUEUE_MAXIMUM:
            return f"It never starts as it is: ask for less, or raise the maximum of {r.queue}."
        return "It never starts as it is: ask for less, or add a larger node."

    # Limits.

    def _queue_maximum(self, r: Reason) -> tuple[str, str]:
        if r.wanted is not None and r.limit is not None and not fits(r.wanted, r.limit):
            return (
                f"One container of {self.amount(r.wanted)} is larger than the maximum of "
                f"{r.queue}: {self.amount(r.limit, beside=r.wanted)}.",
                "",
            )
        return (
            f"{r.queue} uses {self.amount(r.used)} of its maximum of {self.amount(r.limit)}: "
            f"one more of {self.amount(r.wanted)} does not fit.",
            f"enough containers of {r.queue} end, or its maximum is raised",
        )

    def _user_limit(self, r: Reason) -> tuple[str, str]:
        weight = "" if r.weight == 1 else f", whose weight is {r.weight:g}"
        condition = f"enough containers of {r.user}'s in {r.queue} end"
        if r.count:
            active = counted(r.count, "other user")
            condition += (
                f", or the {active} there {'has' if r.count == 1 else 'have'} all they want"
            )
        raised = "its user-limit-factor"
        raised += ", its minimum-user-limit-percent" if r.count else ""
        raised += " or the user's weight" if r.weight != 1 else ""
        return (
            f"{r.user} has {self.amount(r.used)} in {r.queue}, above the limit of "
            f"{self.amount(r.limit)} for one user{weight}.",
            f"{condition}, or {raised} is raised",
        )

    def _slow_start(self, r: Reason) -> tuple[str, str]:
        return (
            f"Its reduces wait for its maps, of which {r.count:,} have finished.",
            "the part of the maps has finished that slow start asks for",
        )

    def _job_tasks(self, r: Reason) -> tuple[str, str]:
        return (
            f"It runs {r.count:,} {_plural(r.count, 'task')} of this kind, as many as it may.",
            "one of them ends",
        )

    def _pool_tasks(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} runs {r.count:,} {_plural(r.count, 'task')} of this kind, its maximum.",
            f"a task of {r.queue} of this kind ends",
        )

    # Room and order of service.

    def _reserved_here(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.node} is kept free for it, and has "
            f"{self.amount(r.available, beside=r.wanted)} of the "
            f"{self.amount(r.wanted)} so far.",
            f"enough containers on {r.node} have ended",
        )

    def _reserved_for_others(self, r: Reason) -> tuple[str, str]:
        nodes = f"{r.count:,} {_plural(r.count, 'node')}"
        verb = "has" if r.count == 1 else "have"
        sentence = (
            f"{nodes} {verb} room, and {'is' if r.count == 1 else 'are'} kept free for others."
        )
        if r.node:
            return (
                sentence,
                "the reservation has been served, or when an administrator switches reservations"
                ' off: reservations = "off" in [engine] of fairshare.toml, or'
                " yarn.scheduler.fair.reservable-nodes = 0",
            )
        return (sentence, "another node has room, or the reservation has been served")

    def _no_room(self, r: Reason) -> tuple[str, str]:
        return (
            f"No node has {self.amount(r.wanted)} free: {r.node} comes nearest with "
            f"{self.amount(r.available, beside=r.wanted)}.{self._behind(r)}{self._preempting(r)}",
            "enough containers on one node have ended and its turn comes",
        )

    def _preempting(self, r: Reason) -> str:
        if not r.preempting:
            return ""
        are = "is" if r.preempting == 1 else "are"
        when = ""
        if self._now_ms is not None:
            left_s = max(r.kill_at_ms - self._now_ms, 0) / 1_000
            when = f", the first within {left_s:,.0f} s" if left_s >= 0.5 else ", the first now"
        return f" {counted(r.preempting, 'container')} of others {are} being preempted{when}."

    def _nearer_node(self, r: Reason) -> tuple[str, str]:
        return (
            f"It waits for a node near its data, and has passed over {r.count:,} "
            f"{_plural(r.count, 'offer')}.",
            "such a node has room, or it has waited for long enough",
        )

    def _others_first(self, r: Reason) -> tuple[str, str]:
        return (
            f"Others are served first.{self._behind(r)}",
            "these have what they want, or their limits stop them",
        )

    def _next_offer(self, r: Reason) -> tuple[str, str]:
        return ("Nothing is in its way.", "a node with room has its next heartbeat")

    # Gangs.

    def _gang_holds(self, r: Reason) -> tuple[str, str]:
        total = r.count + r.containers
        return (
            f"It holds {r.count:,} of the {counted(total, 'container')} of its gang, which start"
            f" together{self._until(r, ', and gives them back {}')}.",
            f"the {counted(r.containers, 'missing container')} "
            f"{'is' if r.containers == 1 else 'are'} allocated before that",
        )

    def _gang_paused(self, r: Reason) -> tuple[str, str]:
        return (
            f"Its gang did not get all of its {counted(r.containers, 'container')} in time, and"
            " gave them back.",
            f"there is room for all of them; it requests them again as soon as that is so"
            f"{self._until(r, ', and {} in any case')}",
        )

    def _until(self, r: Reason, form: str) -> str:
        """When a gang is due, put into a form; empty if the present instant is not known."""
        if self._now_ms is None:
            return ""
        return form.format(f"in {max(r.due_ms - self._now_ms, 0) / 1_000:,.0f} s")

    def _left(self, due_ms: int) -> str:
        """The time until an instant that is still to come; empty if the present is not known."""
        if self._now_ms is None or due_ms <= self._now_ms:
            return ""
        return f"in {max(due_ms - self._now_ms, 1_000) / 1_000:,.0f} s"

    def _behind(self, r: Reason) -> str:
        if not r.count:
            return ""
        named = ", ".join(application_name(self._epoch_ms, number) for number in r.ahead)
        first = f", first {named}" if named else ""
        others = "1 other comes" if r.count == 1 else f"{r.count:,} others come"
        return f" {others} before it{first}."


_LIMITS = frozenset({Cause.QUEUE_MAXIMUM, Cause.USER_LIMIT})
"""Causes that apply even if a node has room."""


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


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


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"

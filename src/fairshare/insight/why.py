"""Owns the words for a reason to wait: one sentence with its numbers, and what would end the wait.

The core gives causes and vectors (`schedulers/reasons.py`); here they become English. Decides
nothing, and looks at nothing but the reason.
"""

from collections.abc import Callable

import msgspec

from fairshare.model.identifiers import application_name
from fairshare.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.schedulers.reasons import Cause, Reason


class Explanation(msgspec.Struct, frozen=True):
    """One reason in words. `remedy` says what would start what waits."""

    sentence: str
    remedy: str


class Words:
    """The words of one cluster: its resource types, and its name in those of applications."""

    def __init__(self, types: ResourceTypes, epoch_ms: int) -> None:
        self._types = types
        self._epoch_ms = epoch_ms
        self._sentences: dict[Cause, Callable[[Reason], tuple[str, str]]] = {
            Cause.NOT_STARTED: self._not_started,
            Cause.QUEUE_APPLICATIONS: self._queue_applications,
            Cause.USER_APPLICATIONS: self._user_applications,
            Cause.QUEUE_MASTERS: self._queue_masters,
            Cause.USER_MASTERS: self._user_masters,
            Cause.MASTER_SILENT: self._master_silent,
            Cause.GROUPS_AHEAD: self._groups_ahead,
            Cause.SAFE_MODE: self._safe_mode,
            Cause.NODES_DRAINED: self._nodes_drained,
            Cause.NO_CAPACITY: self._no_capacity,
            Cause.NO_NODES: self._no_nodes,
            Cause.TOO_LARGE: self._too_large,
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
        }

    def explain(self, reason: Reason) -> Explanation:
        """One reason in words.

        >>> words = Words(ResourceTypes(), 0)
        >>> reason = Reason(cause=Cause.USER_APPLICATIONS, user="ann", count=2)
        >>> words.explain(reason).sentence
        'ann has 2 applications running, as many as ann may.'
        """
        return Explanation(*self._sentences[reason.cause](reason))

    def amount(self, resource: Resource | None, beside: Resource | None = None) -> str:
        """A vector in words: `2,048 MB, 1 vcore`; types that are 0 are left out, but for those that
        the amount `beside` it has.

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
        return (
            f"No queue can be called {r.queue!r}.",
            "It can only be killed: submit it again to another queue.",
        )

    def _queue_applications(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} runs {r.count:,} {_plural(r.count, 'application')}, as many as it may.",
            f"It starts when one of {r.queue} ends, in the order in which they came.",
        )

    def _user_applications(self, r: Reason) -> tuple[str, str]:
        applications = _plural(r.count, "application")
        return (
            f"{r.user} has {r.count:,} {applications} running, as many as {r.user} may.",
            f"It starts when one of {r.user}'s ends.",
        )

    def _queue_masters(self, r: Reason) -> tuple[str, str]:
        return (
            f"The masters in {r.queue} use {self.amount(r.used)} of {self.amount(r.limit)}: "
            f"{self._no_more(r)}.",
            f"It starts when another application of {r.queue} ends, or when the part that masters "
            "may have is raised (maxAMShare, maximum-am-resource-percent).",
        )

    def _user_masters(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.user}'s masters in {r.queue} use {self.amount(r.used)} of {self.amount(r.limit)}: "
            f"{self._no_more(r)}.",
            f"It starts when another application of {r.user}'s there ends.",
        )

    def _no_more(self, r: Reason) -> str:
        if r.wanted is None:
            return "there is room now, and it starts next"
        return f"one more of {self.amount(r.wanted)} does not fit"

    def _master_silent(self, r: Reason) -> tuple[str, str]:
        return (
            "Its master runs, and has not registered yet.",
            "Its requests count as soon as the master registers: see its log.",
        )

    def _groups_ahead(self, r: Reason) -> tuple[str, str]:
        return (
            "The group waits for other groups of the same application.",
            "It starts when enough of their tasks have succeeded.",
        )

    # Never, as things are.

    def _safe_mode(self, r: Reason) -> tuple[str, str]:
        return (
            "The cluster is in safe mode: nothing is granted.",
            "It goes on when an administrator ends that: `fairshare admin safe-mode off`.",
        )

    def _nodes_drained(self, r: Reason) -> tuple[str, str]:
        nodes = f"{r.node} is" if r.count == 1 else f"All {r.count:,} nodes, {r.node} first, are"
        return (
            f"{nodes} being drained: no new containers start there.",
            "It starts when a node joins, or when an administrator says "
            f"`fairshare admin undrain {r.node}`.",
        )

    def _no_capacity(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} may use nothing of the partition {r.label!r}.",
            f"It never starts as it is: give {r.queue} a capacity there "
            f"(accessible-node-labels.{r.label}.capacity), or ask for another partition.",
        )

    def _no_nodes(self, r: Reason) -> tuple[str, str]:
        where = f" in the partition {r.label!r}" if r.label else " that it may use"
        return (
            f"There is no node{where}.",
            "It starts when a node joins, or gets the label that it asks for.",
        )

    def _too_large(self, r: Reason) -> tuple[str, str]:
        nodes = "the only node that it accepts has" if r.count == 1 else "the largest nodes have"
        return (
            f"One container of {self.amount(r.wanted)} is larger than every node: {nodes} "
            f"{self.amount(r.available)}.",
            "It never starts as it is: ask for less, or add a larger node.",
        )

    def _place_unknown(self, r: Reason) -> tuple[str, str]:
        return (
            "It accepts only places that are not in the cluster.",
            "It starts when such a node joins: otherwise name other hosts, or let it be anywhere.",
        )

    def _blacklisted(self, r: Reason) -> tuple[str, str]:
        return (
            f"It refuses all {r.count:,} {_plural(r.count, 'node')} that could serve it.",
            "It starts when another node joins, or its master takes one from its blacklist.",
        )

    # Limits.

    def _queue_maximum(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} uses {self.amount(r.used)} of its maximum of {self.amount(r.limit)}: "
            f"one more of {self.amount(r.wanted)} does not fit.",
            f"It starts when containers of {r.queue} end, or when its maximum is raised.",
        )

    def _user_limit(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.user} has {self.amount(r.used)} in {r.queue}, above the limit of "
            f"{self.amount(r.limit)} for one user.",
            f"It starts when containers of {r.user}'s there end, or other users leave.",
        )

    def _slow_start(self, r: Reason) -> tuple[str, str]:
        return (
            f"Its reduces wait for its maps, of which {r.count:,} have finished.",
            "They start when the part of the maps has finished that slow start asks for.",
        )

    def _job_tasks(self, r: Reason) -> tuple[str, str]:
        return (
            f"It runs {r.count:,} {_plural(r.count, 'task')} of this kind, as many as it may.",
            "The next one starts when one of them ends.",
        )

    def _pool_tasks(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.queue} runs {r.count:,} {_plural(r.count, 'task')} of this kind, its maximum.",
            f"The next one starts when one of {r.queue} ends.",
        )

    # Room and turn.

    def _reserved_here(self, r: Reason) -> tuple[str, str]:
        return (
            f"{r.node} is kept free for it, and has "
            f"{self.amount(r.available, beside=r.wanted)} of the "
            f"{self.amount(r.wanted)} so far.",
            f"It starts as soon as enough containers on {r.node} have ended.",
        )

    def _reserved_for_others(self, r: Reason) -> tuple[str, str]:
        nodes = f"{r.count:,} {_plural(r.count, 'node')}"
        verb = "has" if r.count == 1 else "have"
        return (
            f"{nodes} {verb} room, and {'is' if r.count == 1 else 'are'} kept free for others.",
            "It starts when room comes on another node, or the reservation is served.",
        )

    def _no_room(self, r: Reason) -> tuple[str, str]:
        return (
            f"No node has {self.amount(r.wanted)} free: {r.node} comes nearest with "
            f"{self.amount(r.available, beside=r.wanted)}.{self._behind(r)}",
            "It starts when enough containers on one node end, and it is its turn.",
        )

    def _nearer_node(self, r: Reason) -> tuple[str, str]:
        return (
            f"It waits for a node near its data, and has passed over {r.count:,} "
            f"{_plural(r.count, 'offer')}.",
            "It starts when such a node has room, or when it has waited for long enough.",
        )

    def _others_first(self, r: Reason) -> tuple[str, str]:
        return (
            f"Others are served first.{self._behind(r)}",
            "It starts when these have what they want, or their limits stop them.",
        )

    def _next_offer(self, r: Reason) -> tuple[str, str]:
        return ("Nothing is in its way.", "It starts at the next heartbeat of a node with room.")

    def _behind(self, r: Reason) -> str:
        if not r.count:
            return ""
        named = ", ".join(application_name(self._epoch_ms, number) for number in r.ahead)
        first = f", first {named}" if named else ""
        others = "1 other comes" if r.count == 1 else f"{r.count:,} others come"
        return f" {others} before it{first}."


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"

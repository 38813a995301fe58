"""Owns the reasons for waiting that only the Fair Scheduler knows. Changes nothing."""

from collections.abc import Iterable, Sequence
from typing import Any

from fairshare.model.asks import AskKey
from fairshare.model.identifiers import ApplicationId
from fairshare.model.nodes import Node
from fairshare.model.resources import Resource, add, fits, subtract
from fairshare.schedulers.fair.attempts import FairAttempt
from fairshare.schedulers.fair.limits import master_fits, master_limit, user_limit
from fairshare.schedulers.fair.state import FairState
from fairshare.schedulers.reasons import FEW, Cause, Reason, applications_before


class FairLimits:
    """The limits on one application (Hadoop: FSLeafQueue.canRunAppAM, MaxRunningAppsEnforcer)."""

    def __init__(self, state: FairState, attempt: FairAttempt) -> None:
        self._state = state
        self._attempt = attempt

    def of_application(self) -> Sequence[Reason]:
        """maxRunningApps of a user or of a queue, maxAMShare."""
        state, attempt = self._state, self._attempt
        leaf = attempt.leaf
        found: list[Reason] = []
        if not attempt.runnable:
            user = attempt.user
            most = user_limit(state, user)
            if state.users.running(user) >= most:
                found.append(Reason(cause=Cause.USER_APPLICATIONS, user=user, count=most))
            found += [
                Reason(cause=Cause.QUEUE_APPLICATIONS, queue=queue.name, count=queue.max_running)
                for queue in leaf.path
                if queue.running >= queue.max_running
            ]
            return found
        free = subtract(state.total, state.used)
        if attempt.charged and not master_fits(attempt, free):
            ask = attempt.asks.wanting[0].anywhere
            found.append(
                Reason(
                    cause=Cause.QUEUE_MASTERS,
                    queue=leaf.name,
                    used=leaf.master_used,
                    limit=master_limit(leaf, free),
                    wanted=None if ask is None else ask.resource,
                )
            )
        return found

    def of_ask(self, key: AskKey, size: Resource) -> Sequence[Reason]:
        """maxResources of the queue and its ancestors, except those of at least the whole
        cluster."""
        leaf = self._attempt.leaf
        return [
            Reason(
                cause=Cause.QUEUE_MAXIMUM,
                queue=queue.name,
                used=queue.used,
                limit=queue.max_share,
            )
            for queue in leaf.path
            if not fits(add(queue.used, size), queue.max_share)
            and not fits(self._state.total, queue.max_share)
        ]

    def partition(self, key: AskKey) -> Iterable[Node]:
        """All nodes."""
        return self._state.nodes.values()

    def ahead(self, key: AskKey) -> tuple[int, tuple[ApplicationId, ...]]:
        """Applications before it in its leaf, and queues before its ancestors."""
        attempt = self._attempt
        leaf = attempt.leaf
        if attempt.entry is None:
            return 0, ()
        entry_of = leaf.order.key
        siblings = (a for a in leaf.order.members if a is not None and a.entry is not None)
        before = applications_before(((a.id, entry_of(a)) for a in siblings), entry_of(attempt))
        queues = 0
        for queue in leaf.path:
            if queue.parent is not None and queue.entry is not None:
                entry_of, members = queue.parent.order.key, queue.parent.order.members
                entries = (entry_of(q) for q in members if q is not None and q.entry is not None)
                mine: Any = entry_of(queue)
                queues += sum(1 for entry in entries if entry < mine)
        return len(before) + queues, tuple(before[:FEW])

    def preempting(self) -> Sequence[int]:
        """The marked containers on the nodes that make room for it."""
        state, number = self._state, self._attempt.id
        if not state.kills:
            return ()
        promising = [node for node in state.nodes.values() if number in node.promised]
        return [
            state.kills[container]
            for node in promising
            for container in node.containers
            if container in state.kills
        ]


def run_limit(state: FairState, attempt: FairAttempt) -> Reason | None:
    """The limit on running applications that Hadoop names for an application that may not run: its
    user's, otherwise that of the first queue on the way up. None: it may run."""
    leaf, user = attempt.leaf, attempt.user
    if attempt.runnable:
        return None
    most = user_limit(state, user)
    if state.users.running(user) >= most:
        return Reason(cause=Cause.USER_APPLICATIONS, user=user, count=most)
    full = next((queue for queue in leaf.path if queue.running >= queue.max_running), leaf)
    return Reason(cause=Cause.QUEUE_APPLICATIONS, queue=full.name, count=full.max_running)

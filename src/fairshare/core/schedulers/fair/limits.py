"""What the Fair Scheduler allows: submission and administration by access lists, the number of
running applications, resources for masters; and the words of Hadoop's refusals, which its clients
and their logs contain.

Only queries; `scheduler.py` emits the events (Hadoop: FSQueue.hasAccess, FSLeafQueue.canRunAppAM,
MaxRunningAppsEnforcer).
"""

import math
from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from heapq import heappop as pop
from typing import TYPE_CHECKING

from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.model.resources import (
    UNBOUNDED,
    Resource,
    ResourceTypes,
    add,
    fits,
    resource_text,
)
from fairshare.core.model.work import ResourceRequest
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.fair.attempts import FairAttempt
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.settings import AllocationSettings

if TYPE_CHECKING:
    from fairshare.core.schedulers.fair.state import FairState


def may_submit(
    allocations: AllocationSettings, queue: str, user: str, groups: Sequence[str]
) -> bool:
    """Whether the access lists of a queue or of any queue above it let a user submit or
    administer."""
    return _may(allocations, queue, user, groups, submit=True)


def may_administer(
    allocations: AllocationSettings, queue: str, user: str, groups: Sequence[str]
) -> bool:
    """Whether a user may kill or move other users' applications in a queue."""
    return _may(allocations, queue, user, groups, submit=False)


def _may(
    allocations: AllocationSettings, queue: str, user: str, groups: Sequence[str], *, submit: bool
) -> bool:
    name = queue
    while name:
        settings = allocations.queues.get(name)
        unset = "*" if name == ROOT else (" " if settings is not None else None)
        lists = [unset if settings is None else settings.administer_acl or unset]
        if submit:
            lists.append(unset if settings is None else settings.submit_acl or unset)
        if any(acl is not None and allows(acl, user, groups) for acl in lists):
            return True
        name = parent_name(name)
    return False


Waiting = dict[ApplicationId, FairAttempt]


class Users:
    """Running and waiting applications by user."""

    def __init__(self) -> None:
        self._running: dict[str, int] = {}
        self._waiting: dict[str, Waiting] = {}

    def running(self, user: str) -> int:
        """The number of a user's runnable applications."""
        return self._running.get(user, 0)

    def waiting(self, user: str) -> Waiting:
        """The waiting applications of a user, in the order in which they began to wait."""
        return self._waiting.get(user, {})

    def start(self, attempt: FairAttempt) -> None:
        """Count an application as running."""
        self._running[attempt.user] = self.running(attempt.user) + 1

    def stop(self, attempt: FairAttempt) -> None:
        """Count an application as no longer running."""
        left = self.running(attempt.user) - 1
        if left:
            self._running[attempt.user] = left
        else:
            del self._running[attempt.user]

    def wait(self, attempt: FairAttempt) -> None:
        """Add a waiting application, behind the user's others."""
        self._waiting.setdefault(attempt.user, {})[attempt.id] = attempt

    def wait_no_longer(self, attempt: FairAttempt) -> None:
        """Remove a waiting application, which runs now or has left."""
        waiting = self._waiting[attempt.user]
        del waiting[attempt.id]
        if not waiting:
            del self._waiting[attempt.user]

    def put_back(self, user: str, waiting: Waiting) -> None:
        """Set the order of a user's waiting applications."""
        self._waiting[user] = waiting


def user_limit(state: "FairState", user: str) -> int:
    """How many applications of a user may run at once, over all queues."""
    allocations = state.settings.allocations
    return allocations.user_max_applications.get(user, allocations.user_max_applications_default)


def may_run(state: "FairState", user: str, leaf: FairQueue) -> bool:
    """Whether the limits of the user and of the queues allow one more application to run
    (Hadoop: MaxRunningAppsEnforcer.canAppBeRunnable)."""
    if state.users.running(user) >= user_limit(state, user):
        return False
    return all(queue.running < queue.max_running for queue in leaf.path)


def candidates_after_leaving(
    state: "FairState", leaf: FairQueue, user: str
) -> list[list[FairAttempt]]:
    """Lists of waiting applications that may run after a runnable one has left
    (Hadoop: MaxRunningAppsEnforcer.updateRunnabilityOnAppRemoval).

    They include empty lists: at most as many applications as there are lists may start.
    """
    highest: FairQueue | None = None
    for queue in leaf.path:
        if queue.running == queue.max_running - 1:
            highest = queue
    lists = list(_waiting_below(highest)) if highest is not None else []
    if state.users.running(user) == user_limit(state, user) - 1:
        lists.append(list(state.users.waiting(user).values()))
    return lists


def candidates_after_reload(state: "FairState") -> list[list[FairAttempt]]:
    """All lists of waiting applications below queues that have room."""
    return list(_waiting_below(state.root))


def _waiting_below(queue: FairQueue) -> Iterator[list[FairAttempt]]:
    if queue.running >= queue.max_running:
        return
    if queue.leaf:
        yield list(queue.waiting.values())
        return
    for child in queue.children.values():
        yield from _waiting_below(child)


def in_order_of_start(lists: list[list[FairAttempt]]) -> Iterator[FairAttempt]:
    """Merge lists by the start of their first applications; an immediate repetition is skipped."""
    heap = [(one[0].start_order, index, 0) for index, one in enumerate(lists) if one]
    heapify(heap)
    previous: FairAttempt | None = None
    while heap:
        _, index, place = heap[0]
        attempt = lists[index][place]
        if place + 1 < len(lists[index]):
            heapreplace(heap, (lists[index][place + 1].start_order, index, place + 1))
        else:
            pop(heap)
        if attempt is not previous:
            previous = attempt
            yield attempt


def master_limit(leaf: FairQueue, free: Resource) -> Resource | None:
    """The limit of all masters of a leaf together; None: no limit
    (Hadoop: FSLeafQueue.computeMaxAMResource).

    ceil(base x maxAMShare), where base is the leaf's fair share, and for types without a fair share
    the smaller of what the cluster has `free` and the leaf's maximum. Example: a share of 10240 MB
    and maxAMShare 0.2, which is 0.200000003 in 32 bits, give 2049 MB.
    """
    if abs(leaf.max_master_share + 1.0) < 0.0001:
        return None
    base = (
        share or min(available, maximum)
        for share, available, maximum in zip(leaf.fair_share, free, leaf.max_share, strict=True)
    )
    return tuple(math.ceil(amount * leaf.max_master_share) for amount in base)


def master_fits(attempt: FairAttempt, free: Resource) -> bool:
    """Whether the masters' limit allows the next container of an application to be its master
    (Hadoop: FSAppAttempt.isOverAMShareLimit).

    `free` is what the cluster had free at the beginning of the heartbeat: Hadoop updates it at the
    end.
    """
    wanting = attempt.asks.wanting
    leaf = attempt.leaf
    limit = master_limit(leaf, free)
    if limit is None or not wanting:
        return True
    ask = wanting[0].anywhere
    assert ask is not None
    return fits(add(leaf.master_used, ask.resource), limit)


def within_maximum(leaf: FairQueue, resource: Resource) -> bool:
    """Whether one more container keeps the leaf and its ancestors within their maximums."""
    return all(fits(add(queue.used, resource), queue.max_share) for queue in leaf.bounded)


def too_large(
    types: ResourceTypes, name: str, wanted: Resource, allowed: Resource, configured: Resource
) -> str:
    """A container that is larger than the queue's maximum."""
    return (
        "Invalid resource request! Cannot allocate containers as requested resource is greater"
        f" than maximum allowed allocation. Requested resource type=[{name}], Requested"
        f" resource={resource_text(wanted, types)}, maximum allowed"
        f" allocation={resource_text(allowed, types)}, please note that maximum allowed"
        " allocation is calculated by scheduler based on maximum resource of registered"
        " NodeManagers, which might be less than configured maximum"
        f" allocation={resource_text(configured, types)}"
    )


def zero_amount(
    types: ResourceTypes,
    epoch_ms: int,
    application: ApplicationId,
    queue: str,
    requests: Sequence[tuple[ResourceRequest, Sequence[str]]],
) -> str:
    """Requests for types (named with each) of which the queue's maximum is 0."""
    results = ", ".join(
        f"MaxResourceValidationResult{{resourceRequest={_request_text(types, request)},"
        f" invalidResources=[{', '.join(_type_text(types, name, request) for name in names)}]}}"
        for request, names in requests
    )
    return (
        f"Resource request is invalid for application {application_name(epoch_ms, application)}"
        f" because queue {queue} has 0 amount of resource for a resource type!"
        f" Validation result: [{results}]"
    )


def _request_text(types: ResourceTypes, request: ResourceRequest) -> str:
    relax = "true" if request.relax else "false"
    return (
        f"{{AllocationRequestId: {request.request}, Priority: {request.priority}, Capability:"
        f" {resource_text(request.resource, types)}, # Containers: {request.count}, Location:"
        f" {request.location}, Relax Locality: {relax}, Execution Type Request: {{Execution Type:"
        " GUARANTEED, Enforce Execution Type: false}, Node Label Expression: }"
    )


def _type_text(types: ResourceTypes, name: str, request: ResourceRequest) -> str:
    place = types.names.index(name)
    return (
        f"name: {name}, units: {types.units[place]}, type: COUNTABLE, value:"
        f" {request.resource[place]}, minimum allocation: 0, maximum allocation: {UNBOUNDED},"
        " tags: [], attributes {}"
    )

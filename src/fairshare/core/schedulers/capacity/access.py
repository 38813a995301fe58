"""Owns access to queues: submission, administration and priorities
(Hadoop: AbstractCSQueue.hasAccess, AppPriorityACLsManager)."""

from collections.abc import Sequence

from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.settings import PriorityRule


def may_submit(queue: CapacityQueue, user: str, groups: Sequence[str]) -> bool:
    """Whether the access lists of a queue, or of a queue above it, let a user submit
    applications."""
    return _may(queue, user, groups, submit=True)


def may_administer(queue: CapacityQueue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user may kill, move or change other users' applications in a queue."""
    return _may(queue, user, groups, submit=False)


def _may(queue: CapacityQueue, user: str, groups: Sequence[str], *, submit: bool) -> bool:
    for above in queue.path:
        unset = "*" if above.parent is None else " "
        own = above.settings
        lists = [own.administer_acl if own.administer_acl is not None else unset]
        if submit:
            lists.append(own.submit_acl if own.submit_acl is not None else unset)
        if any(allows(acl, user, groups) for acl in lists):
            return True
    return False


def sorted_rules(queue: CapacityQueue) -> list[PriorityRule]:
    """The rules of a leaf's priority list, the highest maximum first, as in Hadoop."""
    return sorted(queue.priority_rules, key=lambda rule: rule.maximum_priority, reverse=True)


def may_use_priority(
    queue: CapacityQueue, user: str, groups: Sequence[str], priority: int, most: int
) -> bool:
    """Whether some rule allows a user this priority; without rules every user may have it
    (Hadoop: AppPriorityACLsManager)."""
    if not queue.priority_rules:
        return True
    return any(
        allows(rule.acl, user, groups) and priority <= min(rule.maximum_priority, most)
        for rule in queue.priority_rules
    )


def default_priority(queue: CapacityQueue, user: str, groups: Sequence[str]) -> int | None:
    """The default priority that the rules give a user: that of the rule with the lowest maximum."""
    found: int | None = None
    for rule in sorted_rules(queue):
        if allows(rule.acl, user, groups):
            found = max(rule.default_priority, 0)
    return found

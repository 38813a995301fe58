"""Owns who may submit to a queue, administer it, or use a priority (spec/capacity.md 7.6, 7.9)."""

from collections.abc import Sequence

from fairshare.schedulers.access_lists import allows
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.settings import PriorityRule


def may_submit(queue: CapacityQueue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user may submit to a queue: its lists or those of a queue above name the user."""
    return _may(queue, user, groups, submit=True)


def may_administer(queue: CapacityQueue, user: str, groups: Sequence[str]) -> bool:
    """Whether a user may kill, move or change others' applications of a queue."""
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
    """Whether some rule lets a user have a priority; without rules everybody may (7.9)."""
    if not queue.priority_rules:
        return True
    return any(
        allows(rule.acl, user, groups) and priority <= min(rule.maximum_priority, most)
        for rule in queue.priority_rules
    )


def default_priority(queue: CapacityQueue, user: str, groups: Sequence[str]) -> int | None:
    """The default that the rules give to a user: that of the rule with the lowest maximum."""
    found: int | None = None
    for rule in sorted_rules(queue):
        if allows(rule.acl, user, groups):
            found = max(rule.default_priority, 0)
    return found

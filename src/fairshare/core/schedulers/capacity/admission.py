"""What an application must satisfy to enter a leaf, at its submission and at a move: access, limits
of applications, its priority, its lifetime. Refusals are in Hadoop's words (Hadoop:
AbstractCSQueue.hasAccess, LeafQueue.validateSubmitApplication,
CapacityScheduler.preValidateMoveApplication, CapacityScheduler.checkAndGetApplicationPriority,
AppPriorityACLsManager, CapacityScheduler.checkAndGetApplicationLifetime)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.capacity import management, naming
from fairshare.core.schedulers.capacity.events import UserNoted
from fairshare.core.schedulers.capacity.queues import RUNNING, CapacityQueue
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.protocol import Refusal

if TYPE_CHECKING:
    from fairshare.core.schedulers.protocol import Step


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
        settings = above.settings
        lists = [settings.administer_acl if settings.administer_acl is not None else unset]
        if submit:
            lists.append(settings.submit_acl if settings.submit_acl is not None else unset)
        if any(allows(acl, user, groups) for acl in lists):
            return True
    return False


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
    priority: int | None = None
    rules = sorted(queue.priority_rules, key=lambda rule: rule.maximum_priority, reverse=True)
    for rule in rules:
        if allows(rule.acl, user, groups):
            priority = max(rule.default_priority, 0)
    return priority


def check_system(state: CapacityState) -> None:
    """Check that the whole system has room for one more application."""
    if state.root.number_of_applications >= state.settings.maximum_applications:
        raise Refusal(
            "system-limit",
            "Maximum system application limit reached, cannot accept submission: there are"
            f" {state.root.number_of_applications} applications",
        )


def check_leaf(step: "Step", leaf: CapacityQueue, user: str) -> None:
    """Check that a leaf and its ancestors accept one more application of a user.

    As in Hadoop a leaf has a record of the user as soon as it counts the user's applications, even
    if it refuses; and a leaf of the older auto-creation has no maximum of applications.
    """
    if leaf.state != RUNNING:
        raise _stopped(leaf)
    limited = not management.is_made(leaf)
    accepted = len(leaf.waiting) + len(leaf.active) + len(leaf.held)
    if limited and accepted >= leaf.maximum_applications:
        raise Refusal(
            "queue-limit",
            f"Queue {leaf.name} already has {accepted} applications, cannot accept submission of"
            f" another one (the maximum is {leaf.maximum_applications})",
        )
    record = leaf.users.get(user)
    applications = 0 if record is None else record.applications
    stopped = next((above for above in leaf.path[1:] if above.state != RUNNING), None)
    exceeded = limited and applications >= leaf.maximum_per_user
    if record is None and (exceeded or stopped is not None):
        step.emit(UserNoted(leaf.name, user))
    if exceeded:
        raise Refusal(
            "user-limit",
            f"Queue {leaf.name} already has {applications} applications from user {user}, cannot"
            f" accept submission of another one (the maximum is {leaf.maximum_per_user})",
        )
    if stopped is not None:
        raise _stopped(stopped)


def _stopped(queue: CapacityQueue) -> Refusal:
    name = queue.name
    reason = f"Queue {name} is STOPPED. Cannot accept submission of applications"
    return Refusal("queue-stopped", reason, name)


def resolve_priority(
    requested: int | None, granted: int | None, leaf_default: int, most: int
) -> int:
    """The requested priority, else the user's default, else the leaf's; at most the cluster's
    maximum.

    >>> resolve_priority(None, None, 4, 10), resolve_priority(15, None, 4, 10)
    (4, 10)
    >>> resolve_priority(-1, None, 9, 5)
    -1
    """
    priority = requested
    if priority is None:
        priority = granted
    if priority is None:
        priority = leaf_default
    return min(priority, most)


def priority_of(
    settings: CapacitySettings,
    leaf: CapacityQueue,
    user: str,
    groups: Sequence[str],
    requested: int | None,
) -> int:
    """The priority of a submission; raises Refusal when the leaf's list does not allow it."""
    most = settings.maximum_application_priority
    granted = default_priority(leaf, user, groups) if settings.acl_enabled else None
    priority = resolve_priority(requested, granted, leaf.default_priority, most)
    check_priority(settings, leaf, user, groups, priority)
    return priority


def workflow_priority(
    state: CapacityState, leaf: CapacityQueue, submission: SubmitApplication, priority: int
) -> int:
    """The priority of an application's workflow in its queue or above, if workflow priorities
    override.

    The tag `workflowid:nightly` names the workflow. An application whose user may not use that
    priority keeps its own (Hadoop: WorkflowPriorityMappingsManager).
    """
    settings = state.settings
    if not (settings.workflow_priorities_override and settings.workflow_priorities):
        return priority
    prefix = settings.workflow_tag_prefix
    tags = [
        tag.strip().removeprefix(prefix)
        for tag in submission.tags
        if tag.strip().startswith(prefix)
    ]
    workflow = tags[-1].lower() if tags else ""
    for queue in leaf.path:
        for mapping in settings.workflow_priorities:
            target = naming.find(state, mapping.queue)
            if queue.name != ROOT and target is queue and mapping.workflow == workflow:
                mapped = min(mapping.priority, settings.maximum_application_priority)
                try:
                    check_priority(settings, leaf, submission.user, submission.groups, mapped)
                except Refusal:
                    return priority
                return mapped
    return priority


def check_priority(
    settings: CapacitySettings, leaf: CapacityQueue, user: str, groups: Sequence[str], priority: int
) -> None:
    """Raise Refusal when a leaf's priority list does not allow a user this priority."""
    most = settings.maximum_application_priority
    if settings.acl_enabled and not may_use_priority(leaf, user, groups, priority, most):
        raise Refusal(
            "access-denied",
            f"User {user} does not have permission to submit/update an application of queue"
            f" {leaf.name} for priority {priority}",
        )


def lifetime_s(leaf: CapacityQueue, requested_s: int) -> int:
    """The lifetime that a leaf grants for a requested one; 0 or less means no limit for both.

    With a maximum of 10 and a default of 5, requests of 100, 9 and -1 get 10, 9 and 5.
    """
    most = leaf.maximum_lifetime_s
    if most <= 0:
        return requested_s if requested_s > 0 else leaf.default_lifetime_s
    if requested_s <= 0:
        return leaf.default_lifetime_s
    return min(requested_s, most)

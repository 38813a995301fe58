"""Owns the resolution of applications' priorities
(Hadoop: CapacityScheduler.checkAndGetApplicationPriority, AppPriorityACLsManager)."""

from collections.abc import Sequence

from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.capacity import access, naming
from fairshare.core.schedulers.capacity.queues import CapacityQueue
from fairshare.core.schedulers.capacity.settings import CapacitySettings
from fairshare.core.schedulers.capacity.state import CapacityState
from fairshare.core.schedulers.protocol import Refusal


def resolve(requested: int | None, granted: int | None, leaf_default: int, most: int) -> int:
    """The requested priority, else the user's default, else the leaf's; at most the cluster's
    maximum.

    >>> resolve(None, None, 4, 10), resolve(15, None, 4, 10), resolve(-1, None, 9, 5)
    (4, 10, -1)
    """
    wanted = requested
    if wanted is None:
        wanted = granted
    if wanted is None:
        wanted = leaf_default
    return min(wanted, most)


def priority_of(
    settings: CapacitySettings,
    leaf: CapacityQueue,
    user: str,
    groups: Sequence[str],
    requested: int | None,
) -> int:
    """The priority of a submission; raises Refusal when the leaf's list does not allow it."""
    most = settings.maximum_application_priority
    granted = access.default_priority(leaf, user, groups) if settings.acl_enabled else None
    priority = resolve(requested, granted, leaf.default_priority, most)
    check(settings, leaf, user, groups, priority)
    return priority


def of_workflow(
    state: CapacityState, leaf: CapacityQueue, given: SubmitApplication, priority: int
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
        tag.strip().removeprefix(prefix) for tag in given.tags if tag.strip().startswith(prefix)
    ]
    workflow = tags[-1].lower() if tags else ""
    for queue in leaf.path:
        for mapping in settings.workflow_priorities:
            target = naming.find(state, mapping.queue)
            if queue.name != ROOT and target is queue and mapping.workflow == workflow:
                mapped = min(mapping.priority, settings.maximum_application_priority)
                try:
                    check(settings, leaf, given.user, given.groups, mapped)
                except Refusal:
                    return priority
                return mapped
    return priority


def check(
    settings: CapacitySettings, leaf: CapacityQueue, user: str, groups: Sequence[str], priority: int
) -> None:
    """Raise Refusal when a leaf's priority list does not allow a user this priority."""
    most = settings.maximum_application_priority
    if settings.acl_enabled and not access.may_use_priority(leaf, user, groups, priority, most):
        raise Refusal(
            "access-denied",
            f"User {user} does not have permission to submit/update an application of queue"
            f" {leaf.name} for priority {priority}",
        )

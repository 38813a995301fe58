"""Owns access to queues: submission and administration (Hadoop: FSQueue.hasAccess)."""

from collections.abc import Sequence

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.schedulers.access_lists import allows
from fairshare.core.schedulers.fair.settings import AllocationSettings


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

"""The elements of a queue that stand for themselves (applications, masters, containers, lists), and
its scheduling policy (Hadoop: AllocationFileQueueParser, CapacitySchedulerConfiguration).

Policies become orders in queues, and one calculator for all of them. The Capacity Scheduler orders
sibling queues by how much of their capacity they use, and has no other way (Hadoop:
PriorityUtilizationQueueOrderingPolicy); a leaf orders its applications (Hadoop: FifoOrderingPolicy,
FairOrderingPolicy); what counts, memory or the dominant resource, is one choice for the whole
cluster (`yarn.scheduler.capacity.resource-calculator`).
"""

from typing import Final

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import NO_LIMIT, smallest
from fairshare.core.schedulers.access_lists import allows_all
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.texts import plain_number, resource_text
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.scheduler_settings import CALCULATOR
from fairshare.settings.manager import ACL_ENABLED

_JAVA: Final = "org.apache.hadoop.yarn.util.resource."
_DOMINANT: Final = _JAVA + "DominantResourceCalculator"
_MEMORY: Final = _JAVA + "DefaultResourceCalculator"


def policy_of(source: Source, queue: Queue) -> str:
    """The policy that a queue has: its own, else the file's."""
    return queue.own.policy or source.settings.allocations.default_policy


def is_dominant(source: Source, tree: Tree, options: Options) -> bool:
    """Whether the calculator must look at all types."""
    if len(source.settings.types.names) > 2:
        return True  # the one for memory does not start with further types
    if options.calculator != "auto":
        return options.calculator == "dominant"
    if options.mode in ("absolute", "vectors"):
        return True  # vcores are written, which the one for memory does not look at
    return any(
        policy_of(source, queue) == "drf" or queue.own.max_container is not None
        for queue in tree.root.below()
    )


def convert_policies(source: Source, tree: Tree, dominant: bool, draft: Draft) -> None:
    """Write the calculator and the orders of all leaves."""
    draft.set(CALCULATOR.removeprefix(PREFIX), _DOMINANT if dominant else _MEMORY)
    for queue in tree.root.below():
        name = policy_of(source, queue)
        if queue.leaf:
            became = set_order(source, queue.path, name, draft)
        else:
            became = ""
        outcome, why = _verdict(queue, name, dominant)
        written = queue.own.policy is not None
        element = "schedulingPolicy" if written else "defaultQueueSchedulingPolicy"
        place = source.place(queue.name if written else "", element)
        draft.note(queue.name, "policy", element, name, outcome, became, why, place)
    _note_calculator(source, dominant, draft)


def order_text(name: str) -> str:
    """The order of a leaf's applications: `order_text("drf") == "fair"`."""
    return "fifo" if name == "fifo" else "fair"


def set_order(source: Source, path: str, policy: str, draft: Draft, prefix: str = "") -> str:
    """Write the order of a leaf's applications, with `prefix` that of a template's leaves; returns
    what became of the policy."""
    order = order_text(policy)
    became = draft.set_queue(path, f"{prefix}ordering-policy", order)
    if order == "fair" and source.settings.size_based_weight:
        size = f"{prefix}ordering-policy.fair.enable-size-based-weight"
        draft.set_queue(path, size, "true")
    return became


def _verdict(queue: Queue, name: str, dominant: bool) -> tuple[Outcome, str]:
    if name not in ("fair", "drf", "fifo"):
        why = "a policy of your own has no place there: applications are ordered by memory"
        return "lost", why
    if not queue.leaf:
        if name == "drf" and not dominant:
            return "lost", "only memory counts for all queues, with the calculator that was chosen"
        if name == "fair" and dominant:
            return "changed", (
                "queues are ordered by how much of their capacity they use, in the resource that"
                " they use most of: the calculator is one for all queues"
            )
        return "changed", "queues are ordered by how much of their capacity they use"
    if name == "fifo":
        return "kept", "applications in the order of their coming, by priority first"
    if name == "drf":
        return "changed", "applications are ordered by memory alone: there is no order by drf"
    return "kept", "the application with the least memory comes first"


def _note_calculator(source: Source, dominant: bool, draft: Draft) -> None:
    if dominant:
        why = "all resource types count"
        outcome: Outcome = "kept"
    else:
        why = (
            "only memory counts: a node may run more vcores than it has, which the Fair Scheduler"
            " never does; --calculator dominant counts them"
        )
        outcome = "changed"
    became = f"resource-calculator={_DOMINANT if dominant else _MEMORY}"
    place = source.place(ROOT)
    draft.note("", "calculator", "resources that count", "", outcome, became, why, place)


_NOT_LIMITED: Final = -1.0

MASTER_BASE: Final = (
    "a part of what the queue can reach at most, not of its fair share, and the first application"
    " always starts"
)


def convert_elements(source: Source, tree: Tree, draft: Draft) -> None:
    """Write them for all queues."""
    convert_access(source, draft)
    for queue in tree.root.below():
        _applications(source, queue, draft)
        _masters(source, queue, draft)
        _largest_container(source, queue, draft)
        _lists(source, queue, draft)
        if queue.leaf:
            # There is no limit for a user in a queue of the Fair Scheduler but the queue's own.
            draft.set_queue(queue.path, "user-limit-factor", "-1")
        if queue.own.reservable:
            draft.note(
                queue.name,
                "reservation",
                "reservation",
                "",
                "lost",
                "",
                "the queue becomes an ordinary one: plans have to be written again",
                source.place(queue.name, "reservation"),
            )


def _applications(source: Source, queue: Queue, draft: Draft) -> None:
    most = queue.own.max_running_applications
    if most is None:
        return
    became = draft.set_queue(queue.path, "max-parallel-apps", str(max(most, 0)))
    draft.note(
        queue.name,
        "running-applications",
        "maxRunningApps",
        str(most),
        "kept",
        became,
        "what is above the limit waits in the queue",
        source.place(queue.name, "maxRunningApps"),
    )


def master_part(share: float) -> tuple[str, Outcome, str]:
    """A maxAMShare as maximum-am-resource-percent, and what that changes.

    >>> master_part(-1.0)[0], master_part(0.5)[0]
    ('1', '0.5')
    """
    if abs(share - _NOT_LIMITED) < 0.0001:
        return "1", "changed", "there was no limit, and 1 is the largest that can be set"
    if share <= 0:
        return "0", "changed", "nothing ever started, and the first application starts now"
    return plain_number(share), "changed", MASTER_BASE


def _masters(source: Source, queue: Queue, draft: Draft) -> None:
    share = queue.own.max_master_share
    if share is None:
        return
    if not queue.leaf:
        outcome: Outcome = "kept"
        became, why = "", "it counts for leaf queues alone: it had no effect here"
    else:
        text, outcome, why = master_part(share)
        became = draft.set_queue(queue.path, "maximum-am-resource-percent", text)
    draft.note(
        queue.name,
        "master-share",
        "maxAMShare",
        plain_number(share),
        outcome,
        became,
        why,
        source.place(queue.name, "maxAMShare"),
    )


def _largest_container(source: Source, queue: Queue, draft: Draft) -> None:
    most = queue.own.max_container
    if most is None:
        return
    settings = source.settings
    types = settings.types
    bounded = smallest(most, settings.maximum_allocation)
    if len(types.names) == 2:
        became = draft.set_queue(queue.path, "maximum-allocation-mb", str(bounded[0]))
        became += ", " + draft.set_queue(queue.path, "maximum-allocation-vcores", str(bounded[1]))
    else:
        pairs = zip(types.names, bounded, strict=True)
        text = ",".join(f"{name}={amount}" for name, amount in pairs)
        became = draft.set_queue(queue.path, "maximum-allocation", text)
    outcome: Outcome = "kept"
    why = "asks for more are refused, here and in the queues below"
    if any(amount <= 0 for amount in bounded[:2]):
        why, outcome = "a container of this size is empty: nothing can be requested", "changed"
    elif bounded != most:
        why += "; no more than the scheduler's own maximum, as before"
    draft.note(
        queue.name,
        "largest-container",
        "maxContainerAllocation",
        resource_text(types, most),
        outcome,
        became,
        why,
        source.place(queue.name, "maxContainerAllocation"),
    )


def _lists(source: Source, queue: Queue, draft: Draft) -> None:
    for text, suffix, element in (
        (queue.own.submit_acl, "acl_submit_applications", "aclSubmitApps"),
        (queue.own.administer_acl, "acl_administer_queue", "aclAdministerApps"),
    ):
        if text is None:
            continue
        became = draft.set_queue(queue.path, suffix, text)
        why = "the same lists of users and groups, and the queues above count as well"
        place = source.place(queue.name, element)
        draft.note(queue.name, "access", element, text, "kept", became, why, place)


def convert_access(source: Source, draft: Draft) -> None:
    """Lists count there only with yarn.acl.enable; the Fair Scheduler refuses submissions without
    it, too. Where its lists exclude users, it is switched on."""
    if source.settings.acl_enabled:
        return
    known = source.subject.has_site
    root = source.settings.allocations.queues.get(ROOT)
    lists = (root.submit_acl, root.administer_acl) if root is not None else (None, None)
    # Where all users may submit to root, they may to every queue.
    excluding = not any(text is None or allows_all(text) for text in lists)
    written = source.subject.written("aclSubmitApps", "aclAdministerApps")
    if not excluding and (known or not written):
        return
    became = draft.set_site(ACL_ENABLED, "true")
    why = (
        "whether lists of administrators are heeded is not known without yarn-site.xml: they are,"
        " so that none is opened unseen"
        if not known
        else "the Fair Scheduler refuses submissions by its lists whatever this says, the Capacity"
        " Scheduler only with it; now the lists also decide who kills others' applications"
    )
    place = source.site.place(ACL_ENABLED)
    value = "false" if known else "not known"
    draft.note("", "access", ACL_ENABLED, value, "changed", became, why, place)


def convert_limits(source: Source, tree: Tree, draft: Draft) -> None:
    """The limits of the whole file: applications of queues and users, masters, waiting."""
    allocations = source.settings.allocations

    def keep(kind: str, element: str, most: int, key: str, why: str, at: str) -> None:
        became = draft.set(key, str(max(most, 0)))
        draft.note("", kind, element, str(most), "kept", became, why, source.place("", at))

    name, most = "queueMaxAppsDefault", allocations.queue_max_applications_default
    if most != NO_LIMIT:
        why = "holds for every queue that says nothing itself, root and parents too"
        keep("running-applications", name, most, "max-parallel-apps", why, name)
    kind, why = "users-applications", "counts over all queues"
    name, most = "userMaxAppsDefault", allocations.user_max_applications_default
    if most != NO_LIMIT:
        keep(kind, name, most, "user.max-parallel-apps", why, name)
    for user, most in allocations.user_max_applications.items():
        key = f"user.{user}.max-parallel-apps"
        keep(kind, f"user {user} maxRunningApps", most, key, why, "user")
    share = allocations.queue_max_master_share_default
    text, outcome, why = master_part(share)
    became = draft.set("maximum-am-resource-percent", text)
    draft.note(
        "",
        "master-share",
        "queueMaxAMShareDefault",
        plain_number(share),
        outcome,
        became,
        why,
        source.place("", "queueMaxAMShareDefault"),
    )
    _waiting(source, tree, draft)


def _waiting(source: Source, tree: Tree, draft: Draft) -> None:
    """The Capacity Scheduler refuses applications when too many wait; the Fair Scheduler never."""
    became = draft.set("maximum-applications", str(NO_LIMIT))
    draft.set("global-queue-max-application", str(NO_LIMIT))
    for queue in tree.leaves:
        if draft.capacity.get(f"yarn.scheduler.capacity.{queue.path}.capacity", "")[:1] == "[":
            draft.set_queue(queue.path, "maximum-applications", str(NO_LIMIT))
    draft.note(
        "",
        "waiting-applications",
        "applications that wait",
        "no limit",
        "kept",
        became,
        "its own default refuses whatever is beyond 10000, and each queue has a part of that",
        source.place(""),
    )

"""What becomes of scheduling policies: orders in queues, and one calculator for all of them.

The Capacity Scheduler orders sibling queues by how much of their capacity they use, and has no
other way (Hadoop: PriorityUtilizationQueueOrderingPolicy); a leaf orders its applications (Hadoop:
FifoOrderingPolicy, FairOrderingPolicy); what counts, memory or the dominant resource, is one choice
for the whole cluster (`yarn.scheduler.capacity.resource-calculator`).
"""

from typing import Final

from fairshare.core.model.queues import ROOT
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree
from fairshare.settings.capacity.names import PREFIX
from fairshare.settings.capacity.scheduler_settings import CALCULATOR

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
    return "kept", "who has least memory comes first"


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

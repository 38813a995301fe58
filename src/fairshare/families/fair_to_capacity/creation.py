"""Owns queues that are made on demand: who makes them, what they are given, when they go.

The newer way of the Capacity Scheduler (`auto-queue-creation-v2`). A
queue that is made has weight 1 there, as in the Fair Scheduler.
"""

from typing import Final

from fairshare.families.fair_to_capacity.draft import Draft
from fairshare.families.fair_to_capacity.elements import master_part
from fairshare.families.fair_to_capacity.maximums import Maximums
from fairshare.families.fair_to_capacity.policies import order_text
from fairshare.families.fair_to_capacity.source import Source
from fairshare.families.fair_to_capacity.tree import Queue, Tree

_CREATION: Final = "auto-queue-creation-v2."
_EXPIRATION_S: Final = 10
"""The Fair Scheduler looks for empty queues so often."""


def convert_creation(source: Source, tree: Tree, maximums: Maximums, draft: Draft) -> bool:
    """Write who makes queues, and their templates; whether there is anybody."""
    for queue in tree.root.below():
        if not queue.makes_queues and not queue.leaf and not queue.children:
            queue.makes_queues = True
            draft.note(
                queue.name,
                "empty-parent",
                "type",
                "parent",
                "changed",
                f"{_CREATION}enabled=true",
                "a queue without queues in it is a leaf, unless it makes them on demand",
                source.place(queue.name),
            )
        if queue.makes_queues:
            draft.set_queue(queue.path, f"{_CREATION}enabled", "true")
            _templates(source, queue, maximums, draft)
        elif queue.own.max_child_share is not None:
            maximums.template(queue)
    makers = any(queue.makes_queues for queue in tree.root.below())
    if makers:
        draft.set(f"{_CREATION}queue-expiration-time", str(_EXPIRATION_S))
    return makers


def _templates(source: Source, queue: Queue, maximums: Maximums, draft: Draft) -> None:
    allocations = source.settings.allocations
    order = order_text(allocations.default_policy)
    share, _, _ = master_part(allocations.queue_max_master_share_default)
    for owner in (queue.path, f"{queue.path}.*"):  # the second level, such as users of a group
        template = f"{_CREATION}leaf-template."
        draft.set_queue(owner, f"{template}ordering-policy", order)
        if order == "fair" and source.settings.size_based_weight:
            size = f"{template}ordering-policy.fair.enable-size-based-weight"
            draft.set_queue(owner, size, "true")
        draft.set_queue(owner, f"{template}maximum-am-resource-percent", share)
    largest = maximums.template(queue)
    if largest is not None:
        draft.set_queue(queue.path, f"{_CREATION}leaf-template.maximum-capacity", largest)

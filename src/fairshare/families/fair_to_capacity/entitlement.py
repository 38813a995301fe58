"""Owns what each queue is entitled to in the Fair Scheduler on a cluster of a known size.

The steady fair share (Hadoop: ComputeFairShares.computeSteadyShares), made to sum up: Hadoop's
shares may exceed the whole by a few units, and guarantees must not. Knows nothing of the Capacity
Scheduler.
"""

from collections.abc import Sequence

from fairshare.families.fair_to_capacity.source import Source
from fairshare.families.fair_to_capacity.tree import Queue, Tree
from fairshare.model.resources import Resource
from fairshare.schedulers.shares import Claim, fair_shares

LEAST_MB = 1
"""An amount without memory counts as none at all, so that each leaf has this much."""


def entitlements(source: Source, tree: Tree, cluster: Resource) -> dict[str, Resource]:
    """The share of each queue by name, type by type; the children's sum never exceeds their
    parent's. Minimums are kept as far as the parent's share goes."""
    shares = {tree.root.name: cluster}
    for parent in tree.root.below():
        if not parent.children:
            continue
        by_type = [
            _divide(source, parent, position, shares[parent.name][position])
            for position in range(len(cluster))
        ]
        for number, child in enumerate(parent.children):
            shares[child.name] = tuple(parts[number] for parts in by_type)
    return shares


def _divide(source: Source, parent: Queue, position: int, whole: int) -> list[int]:
    claims = []
    for child in parent.children:
        minimum = child.own.min_share
        claims.append(
            Claim(
                child.own.weight,
                minimum[position] if minimum else 0,
                source.subject.maximum(child.own)[position],
            )
        )
    parts = fair_shares(whole, claims)
    least = [_leaves(child) * LEAST_MB if position == 0 else 0 for child in parent.children]
    return fitted(parts, least, whole)


def fitted(parts: Sequence[int], least: Sequence[int], whole: int) -> list[int]:
    """Parts that do not exceed the whole, each at least what it must be.

    What is too much is taken in proportion from what is above the least, the rest from the largest.

    >>> fitted([3414, 3414, 3414], [1, 1, 1], 10240)
    [3414, 3413, 3413]
    >>> fitted([8000, 4000, 0], [1, 1, 1], 6000)
    [4000, 1999, 1]
    """
    raised = [max(part, low) for part, low in zip(parts, least, strict=True)]
    above = [part - low for part, low in zip(raised, least, strict=True)]
    excess = sum(raised) - whole
    if excess <= 0 or not any(above):
        return raised
    room = max(whole - sum(least), 0)
    kept = [low + part * room // sum(above) for low, part in zip(least, above, strict=True)]
    for _ in range(max(whole - sum(kept), 0)):
        # What rounding has left over goes to whom it was taken from most.
        taken = [part - now for part, now in zip(raised, kept, strict=True)]
        kept[taken.index(max(taken))] += 1
    return kept


def _leaves(queue: Queue) -> int:
    return sum(not one.children for one in queue.below())

"""What becomes of weights and minimums: the `capacity` of each queue.

    weights, vectors   weight 3 -> 3w
    percentage         3 of 4 -> 75; with a known cluster the steady fair share, so that minimums
                       and maximums are in it: of 100 GB with a minimum of 90 GB -> 90
    absolute           the steady fair share on that cluster: [memory=76800,vcores=60]

The steady fair share (Hadoop: ComputeFairShares.computeSteadyShares) is made to sum up: Hadoop's
shares may exceed the whole by a few units, and guarantees must not. Knows neither maximums nor
other properties (`yarn.scheduler.capacity.<queue>.capacity`).
"""

from collections.abc import Sequence
from typing import Final

from fairshare.core.model.resources import Resource, fits
from fairshare.core.schedulers.capacity.checks import HEAVIEST
from fairshare.core.schedulers.shares import Claim, fair_shares
from fairshare.documents.literals import to_single
from fairshare.lab.convert.fair_to_capacity.draft import Draft, Options, Outcome
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.lab.convert.fair_to_capacity.texts import (
    percent_text,
    plain_number,
    resource_text,
    vector_text,
)
from fairshare.lab.convert.fair_to_capacity.tree import Queue, Tree

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
    least = [
        sum(not one.children for one in child.below()) * LEAST_MB if position == 0 else 0
        for child in parent.children
    ]
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


_WHOLE: Final = 100_000
"""Percentages have three decimals, so that 100 percent are this many steps."""

Guarantees = dict[str, Resource]


def convert_capacities(source: Source, tree: Tree, options: Options, draft: Draft) -> Guarantees:
    """Write all capacities; gives each queue's guarantee on the cluster, if that is known."""
    shares: Guarantees = {}
    if options.cluster is not None:
        shares = entitlements(source, tree, options.cluster)
    guarantees: Guarantees = {tree.root.name: options.cluster} if options.cluster else {}
    for parent in tree.root.below():
        if not parent.children:
            continue
        if options.mode == "absolute":
            fractions = None
            for child in parent.children:
                text = vector_text(source.settings.types, shares[child.name])
                became = draft.set_queue(child.path, "capacity", text)
                guarantees[child.name] = shares[child.name]
                _note_weight(source, child, became, "its steady fair share on this cluster", draft)
        elif options.mode == "percentage":
            fractions = _percentages(source, parent, shares, draft)
        else:
            fractions = _weights(source, parent, draft)
        if fractions is not None and parent.name in guarantees:
            above = guarantees[parent.name]
            for child, part in zip(parent.children, fractions, strict=True):
                guarantees[child.name] = tuple(int(amount * part) for amount in above)
    for queue in tree.root.below():
        _note_minimum(source, queue, options, guarantees, draft)
    return guarantees


def _weights(source: Source, parent: Queue, draft: Draft) -> list[float]:
    """`3w` for each child; gives the parts of their parent."""
    weights = [child.own.weight for child in parent.children]
    factor = min(1.0, HEAVIEST / max(max(weights), 1.0))
    for child in parent.children:
        text = plain_number(to_single(child.own.weight * factor)) + "w"
        became = draft.set_queue(child.path, "capacity", text)
        if factor < 1:
            why = f"weights end at {HEAVIEST:g}: all of {parent.name} are scaled down together"
        else:
            why = "a weight beside the same siblings' weights"
        _note_weight(source, child, became, why, draft)
    total = sum(weights)
    return [weight / total if total else 0.0 for weight in weights]


def _percentages(source: Source, parent: Queue, shares: Guarantees, draft: Draft) -> list[float]:
    """Percentages with three decimals that sum to exactly 100; gives the parts of the parent."""
    claims = [child.own.weight for child in parent.children]
    why = "its part of the siblings' weights"
    default = source.settings.allocations.queue_max_share_default
    bounded = any(
        child.own.min_share is not None or (child.own.max_share or default) is not None
        for child in parent.children
    )
    if shares and bounded:  # more than weights decides what they are entitled to
        claims = [float(shares[child.name][0]) for child in parent.children]
        why = "its part of the memory that its siblings get together on this cluster, by weight"
        why += ", minimum and maximum"
    steps = in_steps(claims, _WHOLE)
    for child, step in zip(parent.children, steps, strict=True):
        became = draft.set_queue(child.path, "capacity", percent_text(step / _WHOLE))
        _note_weight(source, child, became, why, draft)
    zero_parent = parent.parent is not None and draft_capacity(draft, parent) == "0"
    if not any(steps) or zero_parent:
        draft.set_queue(parent.path, "allow-zero-capacity-sum", "true")
    return [step / _WHOLE for step in steps]


def draft_capacity(draft: Draft, queue: Queue) -> str:
    """The capacity that was written of a queue."""
    return draft.capacity.get(f"yarn.scheduler.capacity.{queue.path}.capacity", "")


def in_steps(claims: list[float], whole: int) -> list[int]:
    """The whole divided in proportion, to the step: what rounding leaves goes to the largest rests.

    >>> in_steps([1, 1, 1], 100000), in_steps([0, 0], 100000)
    ([33334, 33333, 33333], [0, 0])
    """
    total = sum(claims)
    if total <= 0:
        return [0] * len(claims)
    exact = [claim * whole / total for claim in claims]
    steps = [int(part) for part in exact]
    order = sorted(range(len(claims)), key=lambda n: (steps[n] - exact[n], n))
    for number in order[: whole - sum(steps)]:
        steps[number] += 1
    return steps


def _note_weight(source: Source, queue: Queue, became: str, why: str, draft: Draft) -> None:
    weight = queue.own.weight
    outcome: Outcome = "kept"
    if weight == 0:
        outcome = "changed"
        why += "; without any capacity it is served after all queues that have one"
    elif queue.added:
        why = "no file names this queue, but the rules of placement need it"
    draft.note(
        queue.name,
        "weight",
        "weight",
        plain_number(weight),
        outcome,
        became,
        why,
        source.place(queue.name, "weight"),
    )


def _note_minimum(
    source: Source, queue: Queue, options: Options, guarantees: Guarantees, draft: Draft
) -> None:
    minimum = queue.own.min_share
    if minimum is None or not any(minimum):
        return
    types = source.settings.types
    guaranteed = guarantees.get(queue.name)
    covered = guaranteed is not None and fits(minimum, guaranteed)
    if guaranteed is None:
        why = (
            "there is no minimum beside the capacity. Say how large the cluster is (--cluster), and"
            " --mode percentage or absolute puts it into the capacity"
        )
    elif covered:
        why = f"its capacity is worth {resource_text(types, guaranteed)}, which covers it"
    elif options.mode in ("weights", "vectors"):
        why = (
            f"a weight is all that counts, and it is worth {resource_text(types, guaranteed)} on"
            " this cluster: --mode percentage or absolute puts the minimum into the capacity"
        )
    else:
        why = (
            f"its capacity is worth {resource_text(types, guaranteed)}: the queues above have not"
            " enough, or only memory counts for a percentage"
        )
    draft.note(
        queue.name,
        "minimum",
        "minResources",
        resource_text(types, minimum),
        "kept" if covered else "lost",
        "capacity" if covered else "",
        why,
        source.place(queue.name, "minResources"),
    )

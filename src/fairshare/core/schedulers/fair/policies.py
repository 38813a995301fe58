"""The policies of the Fair Scheduler, each as a sort key and a division of shares.

A key is a total order that ends in the sibling's rank: lower is served first (Hadoop:
SchedulingPolicy.getComparator). Other packages add theirs with `register`; this module does not
know where they come from.
"""

import math
from collections.abc import Callable
from typing import Any, Protocol

from fairshare.core.model.resources import Resource, add, fits
from fairshare.core.model.usage import MOST_CHARGE
from fairshare.core.schedulers.calculators import (
    Calculator,
    dominant_calculator,
    memory_calculator,
    single,
)
from fairshare.core.schedulers.ordering import RANK_BITS, Entry


class Sibling(Protocol):
    """The attributes that a policy may use."""

    rank: int
    used: Resource
    weight: float
    demand: Resource
    min_share: Resource


Key = Callable[[Sibling], Entry]

_SCALE_BITS = 80
_SCALE = 2.0**_SCALE_BITS
# Bands of the integer key: needy siblings, the others, those of weight 0, those without demand. A
# value is at most 2^53 * 2^80, so the bands cannot overlap. The used part of a needy sibling's
# minimum is in the bits above; equal parts are ordered like the other siblings.
_NEEDY = -(1 << 300)
_PART_BITS = 210
_NO_WEIGHT = 1 << 200
_NO_DEMAND = 1 << 300
_SCALE_AND_RANK_BITS = _SCALE_BITS + RANK_BITS


def fair_key(sibling: Sibling) -> int:
    """Memory used per weight; siblings below the minimum share first, by the used part of it
    (Hadoop: FairSharePolicy).

    The quotient is scaled by 2^80 and truncated: exact for the double that Hadoop compares, as long
    as it is 0 or at least 2^-28. Example: 2048 MB at weight 2 comes before 1536 MB at weight 1.
    """
    used = sibling.used[0]
    demand = sibling.demand[0]
    weight = sibling.weight
    if weight == 1.0 and demand and used >= sibling.min_share[0]:  # the common case
        return used << _SCALE_AND_RANK_BITS | sibling.rank
    if demand:
        band = 0
        need = sibling.min_share[0]
        if used < need:
            need = min(need, demand)
            if used < need:
                band = _NEEDY + (int(used / max(need, 1) * _SCALE) << _PART_BITS)
    else:
        band = _NO_DEMAND
    if weight == 1.0:
        return (band + (used << _SCALE_BITS)) << RANK_BITS | sibling.rank
    if weight > 0.0:
        return (band + int(used / weight * _SCALE)) << RANK_BITS | sibling.rank
    return (band + _NO_WEIGHT + (used << _SCALE_BITS)) << RANK_BITS | sibling.rank


def fifo_key(sibling: Sibling) -> int:
    """The order of arrival alone (Hadoop: FifoPolicy)."""
    return sibling.rank


def drf_key(cluster: Resource) -> Key:
    """The dominant share per weight, then the other shares; needy siblings first
    (Hadoop: DominantResourceFairnessPolicy).

    Example: in a cluster (8000, 8), a sibling that uses (4000, 3) comes before one that uses (2000,
    5). With two types doubles are compared, with more 32-bit floats, as in Hadoop.
    """
    if len(cluster) == 2:
        return _drf_key_of_two(*cluster)
    return _drf_key_of_many(cluster)


def _drf_key_of_two(memory: int, vcores: int) -> Key:
    if not memory or not vcores:
        return _drf_key_of_odd_cluster(memory, vcores)

    def key(sibling: Sibling) -> Entry:
        used = sibling.used
        a = used[0] / memory
        b = used[1] / vcores
        minimum = sibling.min_share
        if b > a:
            if used[1] < minimum[1]:
                return (0, used[1] / minimum[1], _divide(used[0], minimum[0]), sibling.rank)
            a, b = b, a
        elif used[0] < minimum[0]:
            return (0, used[0] / minimum[0], _divide(used[1], minimum[1]), sibling.rank)
        weight = sibling.weight
        if weight == 1.0:
            return (1, a, b, sibling.rank)
        return (1, _divide(a, weight), _divide(b, weight), sibling.rank)

    return key


def _drf_key_of_odd_cluster(*cluster: int) -> Key:
    """A cluster with 0 of a type: the ratio is infinite, or NaN for 0 of 0."""

    def key(sibling: Sibling) -> Entry:
        used = sibling.used
        minimum = sibling.min_share
        ratios = [_divide(u, c) for u, c in zip(used, cluster, strict=True)]
        order = sorted(range(len(ratios)), key=lambda i: (-ratios[i], i))
        if used[order[0]] < minimum[order[0]]:
            return (0, *(_divide(used[i], minimum[i]) for i in order), sibling.rank)
        return (1, *(_divide(ratios[i], sibling.weight) for i in order), sibling.rank)

    return key


def _drf_key_of_many(cluster: Resource) -> Key:
    def key(sibling: Sibling) -> Entry:
        used = sibling.used
        minimum = sibling.min_share
        ratios = [single(_divide(u, c)) for u, c in zip(used, cluster, strict=True)]
        order = sorted(range(len(ratios)), key=lambda i: (-ratios[i], i))
        if used[order[0]] < minimum[order[0]]:
            parts = (single(_divide(used[i], minimum[i])) for i in order)
            return (0, *parts, sibling.rank)
        parts = (single(_divide(ratios[i], sibling.weight)) for i in order)
        return (1, *parts, sibling.rank)

    return key


def _divide(a: float, b: float) -> float:
    # 0 / 0 is NaN in Hadoop and compares equal to everything, which no order can reproduce; as 0 it
    # is at least equal to other siblings with the smallest use.
    if b:
        return a / b
    return math.inf if a else 0.0


class Policy:
    """A policy by name: its key, its calculator, and which types it divides.

    Hadoop's three policies and those of other packages derive from this class, override what
    differs, and pass to `__init__` a `name` (lower case, without blanks: the allocation file uses
    it) and a `title` (for display). `calculator`, one of `schedulers.calculators`, compares two
    amounts where a share is checked. `leaf_only` forbids the policy for parents.
    """

    __slots__ = ("calculator", "leaf_only", "name", "title")

    depends_on_cluster = True
    """Whether the key changes with the size of the cluster."""

    def __init__(self, name: str, title: str, calculator: Calculator, leaf_only: bool) -> None:
        self.name = name
        self.title = title
        self.calculator = calculator
        self.leaf_only = leaf_only

    def key(self, cluster: Resource) -> tuple[Key, bool]:
        """The sort key for a cluster of this size, and whether it is an integer; by default that of
        `fair`.

        The key must depend only on the attributes of a `Sibling`, because it is recomputed only
        when these change. It returns a tuple of numbers that ends in `sibling.rank`, and the flag
        is False; the flag is True for integers that hold the rank in their last bits.
        """
        return fair_key, True

    def is_needy(self, sibling: Sibling, entry: Entry) -> bool:
        """Whether this is the key of a sibling that comes first as it is below its minimum share:
        its past does not count. By default with less than the minimum of any type."""
        return not fits(sibling.min_share, sibling.used)

    def shared_types(self, types: int) -> int:
        """How many of the resource types are divided, the first ones; by default all.

        With 0 the application that has waited longest gets the whole share of its queue.
        """
        return types

    def allows_child(self, child: "Policy") -> bool:
        """Whether a parent with this policy may have a child with that one
        (Hadoop: SchedulingPolicy.isChildPolicyAllowed)."""
        return not self.leaf_only


class FairPolicy(Policy):
    """Only memory is divided and compared (Hadoop: FairSharePolicy)."""

    __slots__ = ()

    depends_on_cluster = False

    def __init__(self) -> None:
        super().__init__("fair", "fair", memory_calculator, leaf_only=False)

    def is_needy(self, sibling: Sibling, entry: Entry) -> bool:
        return isinstance(entry, int) and entry < 0

    def shared_types(self, types: int) -> int:
        return 1

    def allows_child(self, child: Policy) -> bool:
        """Any policy but DRF, which divides types that this policy ignores."""
        return not isinstance(child, DominantPolicy)


class FifoPolicy(Policy):
    """Applications in the order of their arrival (Hadoop: FifoPolicy)."""

    __slots__ = ()

    depends_on_cluster = False

    def __init__(self) -> None:
        super().__init__("fifo", "FIFO", memory_calculator, leaf_only=True)

    def key(self, cluster: Resource) -> tuple[Key, bool]:
        return fifo_key, True

    def shared_types(self, types: int) -> int:
        """None: the first application has the whole share."""
        return 0


class DominantPolicy(Policy):
    """Dominant resource fairness: all types are divided, the dominant share is compared
    (Hadoop: DominantResourceFairnessPolicy)."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("drf", "DRF", dominant_calculator, leaf_only=False)

    def key(self, cluster: Resource) -> tuple[Key, bool]:
        """The shares of a cluster of this size."""
        return drf_key(cluster), False

    def is_needy(self, sibling: Sibling, entry: Entry) -> bool:
        return isinstance(entry, tuple) and entry[0] == 0


class Charged:
    """A sibling as it is compared with others: with its charge among what it uses."""

    __slots__ = ("demand", "min_share", "rank", "used", "weight")

    def __init__(self, sibling: Sibling, charge: Resource, nothing: Resource) -> None:
        self.rank = sibling.rank
        self.used = add(sibling.used, charge)
        self.weight = sibling.weight
        self.demand = sibling.demand
        self.min_share = nothing


class Remembering:
    """A policy whose siblings are compared by what they use and what they used in the past
    (`usage.Ledger`). Minimum shares keep their place before all others."""

    __slots__ = ("policy",)

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def key(self, cluster: Resource) -> tuple[Callable[[Any], Entry], bool]:
        """The policy's own key of siblings without a charge."""
        key, whole_numbers = self.policy.key(cluster)
        if isinstance(self.policy, FifoPolicy):
            return _fifo_key_with_budgets, whole_numbers
        if key is fair_key:
            return _charged_fair_key, whole_numbers
        if isinstance(self.policy, DominantPolicy) and len(cluster) == 2 and all(cluster):
            return _charged_drf_key_of_two(key, *cluster), whole_numbers
        is_needy, nothing = self.policy.is_needy, (0,) * len(cluster)

        def charged_key(sibling: Any) -> Entry:
            charge: Resource | None = sibling.charge
            entry = key(sibling)
            if charge is None or is_needy(sibling, entry):
                return entry
            return key(Charged(sibling, charge, nothing))

        return charged_key, whole_numbers


def _fifo_key_with_budgets(attempt: Any) -> int:
    """The order of arrival; behind all others, those whose budget is used up."""
    charge: Resource | None = attempt.charge
    rank: int = attempt.rank
    return rank | 1 << RANK_BITS if charge is not None and charge[0] >= MOST_CHARGE else rank


def _charged_fair_key(sibling: Any) -> int:
    """`fair_key` of `Charged`, written out for the common case, as each container comes here."""
    charge: Resource | None = sibling.charge
    if charge is None:
        return fair_key(sibling)
    used: int = sibling.used[0]
    if used >= sibling.min_share[0]:
        weight: float = sibling.weight
        rank: int = sibling.rank
        if weight == 1.0 and sibling.demand[0]:
            return used + charge[0] << _SCALE_AND_RANK_BITS | rank
        return fair_key(Charged(sibling, charge, (0,)))
    entry = fair_key(sibling)
    return entry if entry < 0 else fair_key(Charged(sibling, charge, (0,)))


def _charged_drf_key_of_two(key: Key, memory: int, vcores: int) -> Callable[[Any], Entry]:
    """The same for two types."""

    def charged_key(sibling: Any) -> Entry:
        charge: Resource | None = sibling.charge
        if charge is None:
            return key(sibling)
        a, b = sibling.min_share
        if a or b:
            entry = key(sibling)
            if isinstance(entry, tuple) and entry[0] == 0:
                return entry
        a, b = sibling.used
        more = (a + charge[0]) / memory
        less = (b + charge[1]) / vcores
        if less > more:
            more, less = less, more
        weight: float = sibling.weight
        if weight == 1.0:
            return (1, more, less, sibling.rank)
        return (1, _divide(more, weight), _divide(less, weight), sibling.rank)

    return charged_key


POLICIES: dict[str, Policy] = {
    policy.name: policy for policy in (FairPolicy(), DominantPolicy(), FifoPolicy())
}
"""The policies by the name in the allocation file. A new one is one entry here."""


def policy_named(name: str) -> Policy:
    """The policy of this name. Raises LookupError if none is registered."""
    try:
        return POLICIES[name]
    except KeyError:
        raise LookupError(f"the policy {name!r} is not installed") from None


def register(policy: Policy) -> None:
    """Add a policy of another package. Once for each process, before settings name it.

    Raises ValueError if its name is invalid in a file, or belongs to another policy.
    """
    check_name(policy.name)
    if POLICIES.setdefault(policy.name, policy) is not policy:
        raise ValueError(f"there is another policy {policy.name!r}")


def check_name(name: str) -> None:
    """Raise ValueError unless the allocation file can use this name for a policy."""
    if not name or name != name.lower() or name.split() != [name]:
        raise ValueError(f"{name!r} is not a name for a policy: write lower case, without blanks")

"""The textual dump of the queues, as Hadoop writes it to its debug log
(Hadoop: FSQueue.dumpState).

A function of the state alone. The shell decides where and how often to write it.
"""

import math
from collections.abc import Mapping

from fairshare.core.model.resources import Resource, resource_text, subtract
from fairshare.core.schedulers.calculators import single
from fairshare.core.schedulers.fair.limits import master_limit
from fairshare.core.schedulers.fair.queues import FairQueue
from fairshare.core.schedulers.fair.sharing import steady_shares
from fairshare.core.schedulers.fair.state import FairState


def dump_queues(state: FairState) -> str:
    """All queues, root first, each in braces, parents before their children.

    For example `{Name: root, Weight: 1.0, Policy: fair, FairShare: <memory:4096, vCores:4>, ...},
    {Name: root.a, ...}`. The shares are those of the last update.
    """
    return ", ".join(_dump(state, state.root, steady_shares(state)))


def _dump(state: FairState, queue: FairQueue, steady: Mapping[str, Resource]) -> list[str]:
    types = state.types
    fields = {
        "Name": queue.name,
        "Weight": float_text(queue.weight),
        "Policy": queue.policy.title,
        "FairShare": resource_text(queue.fair_share, types),
        "SteadyFairShare": resource_text(steady[queue.name], types),
        "MaxShare": resource_text(queue.max_share, types),
        "MinShare": resource_text(queue.min_share, types),
        "ResourceUsage": resource_text(queue.used, types),
        "Demand": resource_text(queue.demand, types),
    }
    if queue.leaf:
        fields |= _leaf_fields(state, queue)
    else:
        fields["MaxAMShare"] = float_text(queue.max_master_share)
        fields["Runnable"] = str(queue.running)
    dumped = ["{" + ", ".join(f"{name}: {value}" for name, value in fields.items()) + "}"]
    for child in queue.children.values():
        dumped += _dump(state, child, steady)
    return dumped


def _leaf_fields(state: FairState, leaf: FairQueue) -> dict[str, str]:
    """Pending applications are the runnable ones that had no container yet, and those held back."""
    limit = master_limit(leaf, subtract(state.total, state.used))
    fresh = sum(a.runnable and not a.peak_containers for a in leaf.attempts.values())
    return {
        "Runnable": str(leaf.running),
        "NumPendingApps": str(fresh + len(leaf.waiting)),
        "NonRunnable": str(len(leaf.waiting)),
        "MaxAMShare": float_text(leaf.max_master_share),
        "MaxAMResource": resource_text(
            state.types.unbounded if limit is None else limit, state.types
        ),
        "AMResourceUsage": resource_text(leaf.master_used, state.types),
        "LastTimeAtMinShare": str(leaf.last_at_min_share_ms),
    }


def float_text(value: float) -> str:
    """A 32-bit number with the fewest digits that distinguish it from its neighbours, in Java's
    format.

    >>> float_text(1.0), float_text(single(0.1)), float_text(1e7), float_text(single(0.00025))
    ('1.0', '0.1', '1.0E7', '2.5E-4')
    """
    if value == 0 or not math.isfinite(value):
        return "0.0" if value == 0 else str(value)
    digits = next(n for n in range(1, 18) if single(float(f"{value:.{n - 1}e}")) == value)
    mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
    if 1e-3 <= abs(value) < 1e7:
        return f"{value:.{max(digits - 1 - int(exponent), 1)}f}"
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"

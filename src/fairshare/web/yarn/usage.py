"""Owns YARN's two percentages of an application's use: of its queue, and of the cluster.

The Fair Scheduler and FIFO count memory alone; the Capacity Scheduler counts as its calculator
does. All divisions are rounded to 32 bits, as Hadoop's are.
"""

from fairshare.families.yarn.resources import percent
from fairshare.model.applications import Application
from fairshare.schedulers.capacity.calculators import larger
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.state import CapacityState
from fairshare.schedulers.fair.queues import FairQueue
from fairshare.schedulers.rounding import single
from fairshare.web.yarn.gateway import Gateway


def usage_percentages(gateway: Gateway, application: Application) -> tuple[float, float]:
    """The use as percentages of the queue's part of the cluster, and of the cluster. 0 once the
    application has left the queue.

    For example 5120 MB in a queue with a fair share of 12288 MB, in a cluster of 40960 MB, are
    41.666664 and 12.5.
    """
    state = gateway.scheduler.state
    used, cluster = application.used, state.total
    queue = state.queues.get(application.queue)
    if not application.active or not cluster[0] or queue is None or not any(used):
        return 0.0, 0.0
    if isinstance(state, CapacityState) and isinstance(queue, CapacityQueue):
        dominant = state.settings.dominant
        amounts = used if dominant else used[:1]
        ratio = max(
            (single(amount / most) for amount, most in zip(amounts, cluster, strict=False) if most),
            default=0.0,
        )
        c, minimum = state.calculator, state.settings.minimum_allocation
        guarantee = larger(c, cluster, queue.share.effective_minimum, minimum)
        return percent(c.divide(cluster, used, guarantee)), percent(ratio)
    ratio = single(used[0] / cluster[0])
    if isinstance(queue, FairQueue):
        capacity = single(queue.fair_share[0] / cluster[0])
        base = int(cluster[0] * capacity)
        part = single(used[0] / base) if base else 0.0
        return percent(part), percent(ratio)
    return percent(ratio), percent(ratio)

"""Owns what clients of YARN's RPC see of a Capacity Scheduler's queue (Hadoop:
AbstractCSQueue.getQueueInfo)."""

from fairshare.families.yarn.queue_reports import PartitionReport, QueueReport
from fairshare.schedulers.capacity.queues import CapacityQueue
from fairshare.schedulers.capacity.state import CapacityState

NO_LIMIT = 2**31 - 1


def queue_report(state: CapacityState, queue: CapacityQueue) -> QueueReport:
    """One queue, with its capacities in each partition that it has access to."""
    share = queue.share
    labels = [label for label in queue.shares if not label or label in queue.accessible]
    return QueueReport(
        name=queue.short_name,
        path=queue.name,
        children=tuple(child.name for child in queue.children.values()),
        capacity=share.capacity,
        maximum_capacity=share.maximum_capacity,
        current_capacity=share.used_capacity,
        state=queue.state,
        labels=tuple(sorted(queue.accessible)),
        default_label=queue.default_label or None,
        preemption_disabled=not queue.preemptable,
        intra_queue_preemption_disabled=not queue.intra_preemptable,
        weight=share.weight,
        max_parallel=min(queue.maximum_parallel, NO_LIMIT),
        scheduler_type="CapacityScheduler",
        partitions=tuple(_partition(state, queue, label) for label in labels),
        available=tuple(
            max(0, most - used)
            for most, used in zip(share.effective_minimum, share.used, strict=True)
        ),
    )


def _partition(state: CapacityState, queue: CapacityQueue, label: str) -> PartitionReport:
    share = queue.shares[label]
    return PartitionReport(
        label=label,
        capacity=share.capacity,
        absolute_capacity=share.absolute_capacity,
        maximum_capacity=share.maximum_capacity,
        absolute_maximum=share.absolute_maximum,
        masters=share.master_share,
        effective_minimum=share.effective_minimum,
        effective_maximum=share.effective_maximum,
        configured_minimum=share.configured_minimum or state.none,
        configured_maximum=share.configured_maximum or state.none,
    )

"""All metrics of a server: what each means, and its labels."""

from typing import Final

from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

QUEUE_VECTORS: Final = {
    "used": "What containers have",
    "reserved": "What nodes are reserved for",
    "demand": "What containers have and applications wait for",
    "pending": "What applications wait for",
    "min_share": "The guaranteed resources",
    "max_share": "The maximum resources",
    "fair_share": "The fair share at the last update",
    "steady_fair_share": "The fair share if all queues were busy",
}
"""The amounts of resources of each queue."""

QUEUE_NUMBERS: Final = {
    "weight": "The weight",
    "running_applications": "Applications that may run",
    "pending_applications": "Applications that a limit holds back",
    "containers": "Containers that live",
    "reserved_containers": "Nodes that are reserved",
}
QUEUE_CAPACITIES: Final = (
    "capacity",
    "max_capacity",
    "absolute_capacity",
    "absolute_max_capacity",
    "used_capacity",
    "absolute_used_capacity",
)
"""Of each queue under the Capacity Scheduler."""

_BUDGET: Final = ("budget", "queue", "user", "resource")
_BOOKING: Final = ("booking", "queue", "user", "resource")
_GPU: Final = ("node", "gpu")
_ONLY_PAST: Final = "Only while the past counts."

GAUGES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "cluster_offered": ("What all nodes offer together.", ("resource",)),
    "cluster_used": ("What containers have.", ("resource",)),
    "cluster_available": ("What is free on nodes.", ("resource",)),
    "cluster_pending": ("What applications wait for.", ("resource",)),
    "containers": ("Containers that live.", ()),
    "safe_mode": ("1 in safe mode, in which nothing is admitted and granted.", ()),
    "applications": ("Applications that the server knows.", ("state",)),
    "nodes": ("Nodes: RUNNING, DRAINING, DRAINED or DECOMMISSIONING.", ("state",)),
    "event_streams": ("Open event streams.", ()),
    "journal_sequence": ("The number of the last record of the journal.", ()),
    **{
        f"queue_{name}": (f"{text}.", ("queue", "resource")) for name, text in QUEUE_VECTORS.items()
    },
    **{f"queue_{name}": (f"{text}.", ("queue",)) for name, text in QUEUE_NUMBERS.items()},
    **{
        f"queue_{name}_percent": (
            f"{name.replace('_', ' ').capitalize()}, 0 to 100, under the Capacity Scheduler.",
            ("queue",),
        )
        for name in QUEUE_CAPACITIES
    },
    "queue_past": (f"What was used on average in the past. {_ONLY_PAST}", ("queue", "resource")),
    "queue_past_factor": (
        f"The share with the past divided by the share without. {_ONLY_PAST}",
        ("queue",),
    ),
    "budget_used_hours": ("Hours used in this month.", _BUDGET),
    "budget_hours": ("Hours in a month.", _BUDGET),
    "booking_promised": ("What a booking that is on promises.", _BOOKING),
    "booking_used": ("What the holder of a booking that is on uses.", _BOOKING),
    "user_containers": (
        "Containers that live. The 200 users with most containers have metrics of their own;"
        " `(others)` are the sums of the rest.",
        ("user",),
    ),
    "user_applications": (
        "Applications that have not ended: running with containers, waiting without.",
        ("user", "state"),
    ),
    "user_used": ("What containers have.", ("user", "resource")),
    "user_pending": ("What applications wait for.", ("user", "resource")),
    "owed": (
        "What leaf queues are entitled to and do not have, of the resource that they use most of,"
        " by kind of cause, as `fairshare why QUEUE` explains it.",
        ("queue", "resource", "cause"),
    ),
    "pending_by_reason": (
        "Applications that wait for containers, by the most important reason, as `fairshare why`"
        " reports it.",
        ("reason",),
    ),
    "gpu_memory_bytes": ("The memory of an assigned GPU.", _GPU),
    "gpu_memory_used_bytes": ("Memory in use on a GPU, at most 10 seconds ago.", _GPU),
    "gpu_utilization_ratio": ("How busy a GPU is, 0 to 1, at most 10 seconds ago.", _GPU),
    "gpu_idle_seconds": ("For how long the container that has a GPU has not used it.", _GPU),
    "gpu_used_elsewhere": ("1 for a GPU that others use, and that is not assigned.", _GPU),
    "gpu_held": ("1 for a GPU that a container of a user has.", (*_GPU, "user")),
}
"""By the name without `fairshare_`: what a metric means, and its labels."""

COUNTERS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "applications_submitted": ("Applications that were accepted.", ()),
    "applications_rejected": ("Applications that were rejected.", ("code",)),
    "applications_ended": ("Applications that ended.", ("state",)),
    "containers_allocated": ("Containers that were granted.", ("locality",)),
    "containers_completed": ("Containers that ended.", ("outcome",)),
    "containers_marked": ("Containers that were selected for preemption.", ()),
    "containers_preempted": ("Containers that were preempted.", ()),
    "queue_preempted": ("Containers of a queue that were preempted.", ("queue",)),
    "ledger_owed": (
        "What leaf queues were owed since the ledger began, in units times seconds, by cause; of"
        " the 200 queues that were owed most. About 20 s old.",
        ("queue", "resource", "cause"),
    ),
    "requests_refused": ("Requests that the scheduler refused.", ("code",)),
    "inputs": ("Inputs that were decided.", ()),
    "journal_records": ("Records that were committed.", ()),
    "snapshots": ("Snapshots that were taken.", ()),
    "http_requests": (
        "HTTP requests that were answered, by the pattern of their path.",
        ("method", "path", "status"),
    ),
}
"""By the name without `fairshare_` and `_total`; since the start of the server."""

SHORT_S: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
LONG_S: Final = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

HISTOGRAMS: Final[dict[str, tuple[str, tuple[str, ...], tuple[float, ...]]]] = {
    "decision_seconds": (
        "One turn of the writer, without the disk: inputs, shares, grants.",
        (),
        SHORT_S,
    ),
    "journal_commit_seconds": ("The time until a batch is on disk.", (), SHORT_S),
    "loop_lag_seconds": ("The delay of the event loop, which delays everything.", (), SHORT_S),
    "http_request_seconds": ("From a request to its answer.", ("method", "path"), LONG_S),
}
"""By the name without `fairshare_`: what a duration is of, the labels, and the buckets."""


def gauge(name: str) -> GaugeMetricFamily:
    """A family of `GAUGES`, without samples."""
    text, labels = GAUGES[name]
    return GaugeMetricFamily(f"fairshare_{name}", text, labels=labels)


def counter(name: str) -> CounterMetricFamily:
    """A family of `COUNTERS`, without samples."""
    text, labels = COUNTERS[name]
    return CounterMetricFamily(f"fairshare_{name}", text, labels=labels)

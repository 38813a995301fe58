"""How the cluster looks in a scenario: the keys of `expect`, and the `state` of a record.

Everything is read from the scheduler's views, its reasons and the state; nothing is computed here
but a few percentages. Resources are mappings of all types by name.
"""

import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from fairshare.api.queues import CapacityFields, QueueFields
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ApplicationState, ContainerAllocated
from fairshare.core.model.identifiers import ApplicationId, attempt_of, number_of
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import MEMORY, NO_LIMIT, Resource, ResourceTypes, total
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.core.schedulers.reasons import Cause, reasons
from fairshare.core.schedulers.views import QueueView
from fairshare.lab.scenarios.cluster import Applications, Cluster

NOTHING: Final = "nothing"
"""The cause of an application that waits for nothing."""

CAUSES: Final = frozenset({NOTHING, *(str(cause) for cause in Cause)})

KEYS: Final = frozenset(
    {
        "cause",
        "queue",
        "user",
        "node",
        "label",
        "ahead",
        "also",
        "preempting",
        "preemption",
        "drained",
    }
)
"""What can be checked of the weightiest reason. `ahead` names the applications that come first,
`also` what else must be lifted, each as its cause and its queue; `preempting` counts containers,
`preemption` is what keeps preemption away."""


def describe_reason(
    scheduler: Scheduler, number: ApplicationId, names: Mapping[ApplicationId, str]
) -> dict[str, Any]:
    """The weightiest reason for which an application waits; `cause` is always there."""
    application = scheduler.state.applications[number]
    found = reasons(application, scheduler.limits_of(number), scheduler.state)
    if not found:
        return {"cause": NOTHING}
    first = found[0]
    described = {
        "cause": str(first.cause),
        "queue": first.queue,
        "user": first.user,
        "node": first.node,
        "label": first.label,
        "ahead": [names[one] for one in first.ahead if one in names],
        "also": sorted(f"{one.cause} {one.queue}".rstrip() for one in first.also),
        "preempting": first.preempting,
        "preemption": "" if first.preemption is None else str(first.preemption.obstacle),
        "drained": first.drained,
    }
    return {key: value for key, value in described.items() if value or key == "also"}


def add_reasons(
    described: dict[str, Any], scheduler: Scheduler, names: Mapping[ApplicationId, str]
) -> None:
    """Add `why` to each application of a description."""
    for number, name in names.items():
        described["apps"][name]["why"] = describe_reason(scheduler, number, names)


Description = dict[str, Any]


def _same(text: str) -> dict[str, str]:
    """Fields that scenarios call as views do."""
    return {name: name for name in text.split()}


# What is read from views as it is: keys of scenarios, and the fields of the view that have them.
_RENAMED: Final = {
    "running_applications": "running_apps",
    "pending_applications": "pending_apps",
    "master_used": "am_used",
    "master_limit": "am_limit",
    "max_master_share": "max_am_share",
    "min_share_timeout_ms": "min_share_preemption_timeout",
    "fair_share_timeout_ms": "fair_share_preemption_timeout",
    "fair_share_threshold": "fair_share_preemption_threshold",
}
_NO_KEYS: Final = _same(
    "name leaf parent children max_running_applications containers reserved_containers"
    " active_applications waiting_applications capacity pool"
)
"""Fields of a queue that scenarios see in another form, or not at all."""

QUEUE: Final = {
    _RENAMED.get(field, field): field
    for field in QueueFields.__struct_fields__
    if field not in _NO_KEYS
}
"""Each further field of a queue is a key of scenarios by itself."""

CAPACITIES: Final = (
    *("capacity", "max_capacity", "absolute_capacity", "absolute_max_capacity"),
    *("used_capacity", "absolute_used_capacity"),
)
CAPACITY: Final = {
    **_same("state priority normalized_weight effective_min effective_max max_allocation"),
    "max_parallel_apps": "max_parallel_applications",
    "non_runnable_apps": "non_runnable_applications",
}
CAPACITY_OF_LEAF: Final = {
    "max_apps_per_user": "max_applications_per_user",
    "user_limit": "user_limit_percent",
    **_same("user_limit_factor active_users"),
}
_CAPACITIES_OF_PARTITION: Final = (
    *("capacity", "absolute_capacity", "absolute_max_capacity", "used_capacity"),
    "absolute_used_capacity",
)
_PARTITION: Final = {
    **_same("used reserved pending effective_min effective_max"),
    "am_used": "master_used",
    "am_limit": "master_limit",
}
_USER: Final = {
    **_same("used max_resource weight active"),
    "am_used": "master_used",
    "am_limit": "master_limit",
    "running_apps": "running_applications",
    "pending_apps": "pending_applications",
}
APPLICATION: Final = _same(
    "user diagnostics containers used pending demand fair_share headroom to_preempt priority"
)
APPLICATION_OF_QUEUE: Final = _same("queue attempt preempted")


def describe(cluster: Cluster, applications: Applications) -> Description:
    """The whole cluster: `time` (ms), `apps`, `queues`, `nodes`, `cluster`."""
    state = cluster.state
    types = state.types
    apps = {
        name: describe_application(cluster, applications, number)
        for number, name in applications.names.items()
    }
    return {
        "time": cluster.elapsed_ms,
        "apps": apps,
        "queues": {
            view.name: describe_queue(types, view, state.total)
            for view in cluster.scheduler.queue_views(cluster.now_ms)
        },
        "nodes": {
            node.name: _describe_node(types, node, applications) for node in state.nodes.values()
        },
        "cluster": {
            "total": types.mapping(state.total),
            "used": types.mapping(state.used),
            "containers": sum(len(node.containers) for node in state.nodes.values()),
            "apps_running": sum(app["state"] == ApplicationState.RUNNING for app in apps.values()),
        },
    }


def describe_application(cluster: Cluster, applications: Applications, number: int) -> Description:
    """One application. A rejected one is in no queue and has no attempt.

    What it uses and asks for is that of all partitions; `reserved`, as in Hadoop, that of the
    default one.
    """
    types = cluster.state.types
    view = cluster.scheduler.application_view(number)
    application = cluster.state.applications[number]
    reservations = (
        reservation.resource
        for node, reservation in application.attempt.reservations.items()
        if not cluster.state.label_of(cluster.state.nodes[node])
    )
    described: Description = {
        "state": str(applications.state_of(application)),
        "on": dict(Counter(container.node for container in application.containers.values())),
        "list": [
            describe_container(types, application.containers[container], application)
            for container in sorted(application.containers)
        ],
        "reserved": types.mapping(total(reservations, len(types.names))),
        **_described(types, view, APPLICATION),
    }
    if view.missed is not None:
        described["missed"] = {str(priority): count for priority, count in view.missed.items()}
    if view.state != ApplicationState.REJECTED:
        described |= _described(types, view, APPLICATION_OF_QUEUE)
    return described


def describe_container(
    types: ResourceTypes, record: ContainerAllocated, application: Application
) -> Description:
    """A container, numbered within its attempt, which is named from the second on."""
    described: Description = {
        "container": number_of(record.container),
        "node": record.node,
        "resource": types.mapping(record.resource),
        "priority": record.priority,
    }
    if attempt_of(record.container) > 1:
        described["attempt"] = attempt_of(record.container)
    if record.container == application.attempt.master:
        described["am"] = True
    return described


def describe_queue(types: ResourceTypes, view: QueueView, total: Resource) -> Description:
    """One queue; what its scheduler does not have is not there.

    `capacity` is the fair share of the cluster's memory, `used_capacity` the use of the fair
    share's memory, in percent (Hadoop: FSQueue.getQueueInfo).
    """
    memory = types.names.index(MEMORY)
    share = view.fair_share[memory]
    limit = view.max_running_applications
    described: Description = {
        "type": "leaf" if view.leaf else "parent",
        "state": "RUNNING",
        "max_apps": NO_LIMIT if limit is None else limit,
        "capacity": share / total[memory] * 100 if total[memory] else 0.0,
        "used_capacity": view.used[memory] / share * 100 if share else 0.0,
        **_described(types, view, QUEUE),
    }
    if view.capacity is not None:
        described |= _describe_capacity(types, view, view.capacity)
    return described


def _described(types: ResourceTypes, view: object, fields: Mapping[str, str]) -> Description:
    """Fields of a view by their keys: amounts by type, other numbers as Java prints its floats."""
    described: Description = {}
    for key, field in fields.items():
        value = getattr(view, field)
        if isinstance(value, tuple):
            described[key] = types.mapping(value)
        elif isinstance(value, float):
            described[key] = shortest_single(value)
        elif value is not None:
            described[key] = value
    return described


def _describe_capacity(
    types: ResourceTypes, view: QueueView, capacity: CapacityFields[Resource]
) -> Description:
    """What only the capacity scheduler says of a queue, and what it means otherwise.

    As everything there but `partitions` itself, what is used, reserved and asked for is that
    of the default partition.
    """
    described = _percentages(capacity, CAPACITIES) | _described(types, capacity, CAPACITY)
    if len(capacity.partitions) > 1:
        described["partitions"] = {
            part.label: _percentages(part, _CAPACITIES_OF_PARTITION)
            | _described(types, part, _PARTITION)
            for part in capacity.partitions
        }
        default = described["partitions"][""]
        described |= {key: default[key] for key in ("used", "reserved", "pending")}
    if not view.leaf:
        return described
    described |= {key: getattr(capacity, field) for key, field in CAPACITY_OF_LEAF.items()}
    described["users"] = {user.name: _described(types, user, _USER) for user in capacity.users}
    if capacity.pending_after_user_limits is not None:
        described["pending_after_user_limits"] = types.mapping(capacity.pending_after_user_limits)
    return described


def _percentages(view: object, names: Iterable[str]) -> Description:
    return {name: round(shortest_single(getattr(view, name) / 100) * 100, 6) for name in names}


def _describe_node(types: ResourceTypes, node: Node, applications: Applications) -> Description:
    reservation = node.reservation
    return {
        "rack": node.rack,
        "total": types.mapping(node.total),
        "used": types.mapping(node.used),
        "available": types.mapping(node.available),
        "containers": len(node.containers),
        "reserved_for": (
            None if reservation is None else applications.names.get(reservation.application)
        ),
    }


def shortest_single(value: float) -> float:
    """The shortest decimal that is this number in 32 bits, as Java prints its floats.

    >>> shortest_single(0.20000000298023224)
    0.2
    """
    return _shortest_single(value) if value else value  # 0.0 and -0.0 are equal for a cache


@lru_cache(maxsize=4096)  # the shares of queues are the same at nearly every step
def _shortest_single(value: float) -> float:
    single = struct.pack("<f", value)
    for digits in range(1, 10):
        rounded = float(f"{value:.{digits}g}")
        if struct.pack("<f", rounded) == single:
            return rounded
    return value

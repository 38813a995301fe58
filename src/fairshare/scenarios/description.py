"""Owns how the cluster looks in a scenario: the keys of `expect`, and the `state` of a record.

Everything is read from the scheduler's views and from the state; nothing is computed here but a
few percentages. Resources are mappings of all types by name.
"""

import struct
from typing import Any

from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState, ContainerAllocated
from fairshare.model.identifiers import attempt_of, number_of
from fairshare.model.nodes import Node
from fairshare.model.resources import MEMORY, Resource, ResourceTypes, total
from fairshare.model.state import ClusterState
from fairshare.scenarios.applications import Applications
from fairshare.scenarios.cluster import Cluster
from fairshare.schedulers.views import PartitionView, QueueView, UserView

Description = dict[str, Any]

NO_LIMIT = 2**31 - 1
"""How Hadoop writes a limit on applications that is none."""


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
    described: Description = {
        "state": str(applications.state_of(application)),
        "user": view.user,
        "diagnostics": view.diagnostics,
        "containers": view.containers,
        "on": _count_by_node(application),
        "list": [
            describe_container(types, application.containers[container], application)
            for container in sorted(application.containers)
        ],
        "used": types.mapping(view.used),
        "reserved": types.mapping(_reserved(cluster.state, application)),
        "pending": types.mapping(view.pending),
        "demand": types.mapping(view.demand),
        "fair_share": types.mapping(view.fair_share),
        "headroom": types.mapping(view.headroom),
        "to_preempt": view.to_preempt,
        "priority": view.priority,
    }
    if view.missed is not None:
        described["missed"] = {str(priority): count for priority, count in view.missed.items()}
    if view.state != ApplicationState.REJECTED:
        described["queue"] = view.queue
        described["attempt"] = view.attempt
        described["preempted"] = view.preempted
    return described


def _reserved(state: ClusterState[Any, Any], application: Application) -> Resource:
    """What is reserved for it on nodes of the default partition."""
    found = (
        reservation.resource
        for node, reservation in application.attempt.reservations.items()
        if not state.label_of(state.nodes[node])
    )
    return total(found, len(state.types.names))


def _count_by_node(application: Application) -> dict[str, int]:
    counts: dict[str, int] = {}
    for record in application.containers.values():
        counts[record.node] = counts.get(record.node, 0) + 1
    return counts


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
        "policy": view.policy,
        "dynamic": view.dynamic,
        "preemptable": view.preemptable,
        "state": "RUNNING",
        "used": types.mapping(view.used),
        "reserved": types.mapping(view.reserved),
        "demand": types.mapping(view.demand),
        "pending": types.mapping(view.pending),
        "fair_share": types.mapping(view.fair_share),
        "steady_fair_share": types.mapping(view.steady_fair_share),
        "min_share": types.mapping(view.min_share),
        "max_share": types.mapping(view.max_share),
        "weight": shortest_single(view.weight),
        "running_apps": view.running_applications,
        "pending_apps": view.pending_applications,
        "max_apps": NO_LIMIT if limit is None else limit,
        "preempted": view.preempted,
        "capacity": share / total[memory] * 100 if total[memory] else 0.0,
        "used_capacity": view.used[memory] / share * 100 if share else 0.0,
    }
    described |= {
        key: types.mapping(amounts)
        for key, amounts in (
            ("max_container", view.max_container),
            ("am_used", view.master_used),
            ("am_limit", view.master_limit),
        )
        if amounts is not None
    }
    if view.max_master_share is not None:
        described["max_am_share"] = shortest_single(view.max_master_share)
    if view.min_share_timeout_ms is not None:
        described["min_share_preemption_timeout"] = view.min_share_timeout_ms
    if view.fair_share_timeout_ms is not None:
        described["fair_share_preemption_timeout"] = view.fair_share_timeout_ms
    if view.fair_share_threshold is not None:
        described["fair_share_preemption_threshold"] = shortest_single(view.fair_share_threshold)
    if view.capacity is not None:
        described |= _describe_capacity(types, view)
    return described


def _describe_capacity(types: ResourceTypes, view: QueueView) -> Description:
    """What only the capacity scheduler says of a queue, and what it means otherwise.

    As everything there but `partitions` itself, what is used, reserved and asked for is that
    of the default partition.
    """
    capacity = view.capacity
    assert capacity is not None
    described: Description = {
        "state": capacity.state,
        "priority": capacity.priority,
        "capacity": _percent(capacity.capacity),
        "max_capacity": _percent(capacity.max_capacity),
        "absolute_capacity": _percent(capacity.absolute_capacity),
        "absolute_max_capacity": _percent(capacity.absolute_max_capacity),
        "used_capacity": _percent(capacity.used_capacity),
        "absolute_used_capacity": _percent(capacity.absolute_used_capacity),
        "normalized_weight": shortest_single(capacity.normalized_weight),
        "effective_min": types.mapping(capacity.effective_min),
        "effective_max": types.mapping(capacity.effective_max),
        "max_allocation": types.mapping(capacity.max_allocation),
        "max_parallel_apps": capacity.max_parallel_applications,
        "non_runnable_apps": capacity.non_runnable_applications,
    }
    if len(capacity.partitions) > 1:
        described["partitions"] = {
            part.label: _describe_partition(types, part) for part in capacity.partitions
        }
        default = described["partitions"][""]
        described |= {key: default[key] for key in ("used", "reserved", "pending")}
    if not view.leaf:
        return described
    described |= {
        "max_apps_per_user": capacity.max_applications_per_user,
        "user_limit": capacity.user_limit_percent,
        "user_limit_factor": capacity.user_limit_factor,
        "active_users": capacity.active_users,
        "users": {user.name: _describe_user(types, user) for user in capacity.users},
    }
    if capacity.pending_after_user_limits is not None:
        described["pending_after_user_limits"] = types.mapping(capacity.pending_after_user_limits)
    return described


def _describe_partition(types: ResourceTypes, part: PartitionView) -> Description:
    """A queue's part of one partition; the default one is called ""."""
    described: Description = {
        "used": types.mapping(part.used),
        "reserved": types.mapping(part.reserved),
        "pending": types.mapping(part.pending),
        "capacity": _percent(part.capacity),
        "absolute_capacity": _percent(part.absolute_capacity),
        "absolute_max_capacity": _percent(part.absolute_max_capacity),
        "used_capacity": _percent(part.used_capacity),
        "absolute_used_capacity": _percent(part.absolute_used_capacity),
        "effective_min": types.mapping(part.effective_min),
        "effective_max": types.mapping(part.effective_max),
        "am_used": types.mapping(part.master_used),
    }
    if part.master_limit is not None:
        described["am_limit"] = types.mapping(part.master_limit)
    return described


def _percent(value: float) -> float:
    """A percentage of a fraction in 32 bits, as its shortest decimal says."""
    return round(shortest_single(value / 100) * 100, 6)


def _describe_user(types: ResourceTypes, user: UserView) -> Description:
    return {
        "used": types.mapping(user.used),
        "am_used": types.mapping(user.master_used),
        "max_resource": types.mapping(user.max_resource),
        "am_limit": types.mapping(user.master_limit),
        "weight": shortest_single(user.weight),
        "active": user.active,
        "running_apps": user.running_applications,
        "pending_apps": user.pending_applications,
    }


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
    single = struct.pack("<f", value)
    for digits in range(1, 10):
        rounded = float(f"{value:.{digits}g}")
        if struct.pack("<f", rounded) == single:
            return rounded
    return value

"""The table of kinds: which function answers the facts of a kind. A new kind is one line here."""

from . import capacity_limits, capacity_orders, decisions, dumps, files, nodes, sharing
from .fact import Evaluator, Fact

KINDS: dict[str, Evaluator] = {
    "allocation_file": files.allocation_file,
    "compare": sharing.compare,
    "compute_shares": sharing.compute_shares,
    "container_limit": decisions.container_limit,
    "headroom": sharing.headroom_told,
    "locality_level": decisions.locality_level,
    "lowest_common_ancestor": decisions.lowest_common_ancestor,
    "normalise": files.normalise,
    "parse_resource": files.parse_resource,
    "policy_pair": sharing.policy_pair,
    "start": files.start,
    "state_dump": dumps.state_dump,
    "visited_requests": decisions.visited_requests,
    # of the Capacity Scheduler
    "am-limit": capacity_limits.master_limits,
    "app-order": capacity_orders.application_order,
    "application-limit": capacity_limits.application_limit,
    "calculators": capacity_orders.calculators,
    "effective-capacity": capacity_limits.effective_capacity,
    "lifetime": capacity_limits.lifetime,
    "locality-delay": capacity_orders.locality_delay,
    "max-resource-approximation": capacity_limits.max_resource_approximation,
    "node-enforcement": nodes.node_enforcement,
    "priority": capacity_orders.priority,
    "queue-order": capacity_orders.queue_order,
    "user-limit": capacity_limits.user_limit,
    "users-table": capacity_limits.users_table,
    "utilisation": capacity_orders.utilisation,
    "vcores": nodes.vcores,
    "victim-order": capacity_orders.victim_order,
}

# Two schedulers have facts of one kind; a field tells them apart.
TOLD_BY = {"locality_level": "script"}


def evaluator_of(kind: str, fact: Fact) -> Evaluator | None:
    """The function for a fact; None: no scheduler here answers that kind."""
    field = TOLD_BY.get(kind)
    if field is not None and field not in fact:
        return None
    return KINDS.get(kind)

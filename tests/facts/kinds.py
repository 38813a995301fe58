"""The table of kinds: which function answers the facts of a kind. A new kind is one line here."""

from . import (
    capacity_limits,
    capacity_orders,
    decisions,
    dumps,
    files,
    nodes,
    papers,
    pools,
    sharing,
    simulations,
)
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
    # of MapReduce's Fair Scheduler
    "boost": pools.boost,
    "deficit": pools.deficit,
    "fair_shares": pools.fair_shares,
    "guarantee_split": pools.guarantee_split,
    "heartbeat_interval": pools.heartbeat_interval,
    "node_cap": pools.node_cap,
    "order": pools.order,
    "pool_name": pools.pool_of_job,
    "pools_file": pools.pools_file,
    "preemption_need": pools.preemption_need,
    "priority_factor": pools.priority_factor,
    "reload_gate": pools.reload_gate,
    "size_weight": pools.size_of_job,
    "slow_start": pools.slow_start,
    "tasks_per_heartbeat": pools.tasks_of_heartbeat,
    # of papers
    "allocation_rules": papers.allocation_rules,
    "delay_locality": papers.delay_locality,
    "delay_offers": papers.delay_offers,
    "delay_skips": papers.delay_skips,
    "simulations": simulations.simulations,
    "workloads": papers.workloads,
}

# Two schedulers have facts of one kind; a field tells them apart.
TOLD_BY: dict[str, tuple[str, Evaluator]] = {"locality_level": ("last", pools.locality_level)}


def evaluator_of(kind: str, fact: Fact) -> Evaluator | None:
    """The function for a fact; None: no scheduler here answers that kind."""
    field, other = TOLD_BY.get(kind, ("", None))
    if other is not None and field in fact:
        return other
    return KINDS.get(kind)

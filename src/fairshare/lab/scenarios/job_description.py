"""Owns how the cluster looks in a scenario of MapReduce: pools by their plain names, slots alone.

Everything is read from the scheduler's views; nothing is computed here.
"""

from typing import Any

from fairshare.api.queues import PoolFigures
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.schedulers.views import ApplicationView, QueueView
from fairshare.lab.scenarios.cluster import Cluster
from fairshare.lab.scenarios.description import Description
from fairshare.lab.scenarios.job_steps import JOBS

DEFICITS = ("0.19", "0.20")


def describe_jobs(cluster: Cluster, names: dict[ApplicationId, str]) -> Description:
    """The whole cluster: `time` (ms), `apps`, `queues`, `nodes`, `cluster`."""
    state, types = cluster.state, cluster.state.types
    views = cluster.scheduler.queue_views(cluster.now_ms)
    root = next(view for view in views if not view.parent).pool
    assert root is not None
    found: Description = {
        "time": cluster.elapsed_ms,
        "apps": {
            name: _describe_job(cluster.scheduler.application_view(number), root)
            for number, name in names.items()
        },
        "queues": {
            JOBS.pool_of(view.name): _describe_pool(view, view.pool)
            for view in views
            if view.parent and view.pool is not None
        },
        "nodes": {
            node.name: {
                "rack": node.rack,
                "total": _slots(types.mapping(node.total)),
                "used": _slots(types.mapping(node.used)),
                "containers": len(node.containers),
            }
            for node in state.nodes.values()
        },
        "cluster": {
            "total": _slots(types.mapping(state.total)),
            "used": _slots(types.mapping(state.used)),
        },
    }
    if root.delays_ms is not None:
        found["cluster"]["node_delay"], found["cluster"]["rack_delay"] = root.delays_ms
    return found


def _slots(amounts: dict[str, int]) -> dict[str, int]:
    return {name: amounts[name] for name in JOBS.slots}


def _pair(maps: Any, reduces: Any) -> dict[str, Any]:
    return dict(zip(JOBS.slots, (maps, reduces), strict=True))


def _describe_job(view: ApplicationView, root: PoolFigures) -> Description:
    job = view.job
    assert job is not None
    maps, reduces = job.maps, job.reduces
    described: Description = {
        "state": str(view.state),
        "user": view.user,
        "priority": job.priority,
        "diagnostics": view.diagnostics,
        "runnable": view.runnable,
        "used": _pair(maps.running, reduces.running),
        "fair_share": _pair(maps.fair_share, reduces.fair_share),
        "weight": _pair(maps.weight, reduces.weight),
    }
    if view.state != "REJECTED":
        described["queue"] = JOBS.pool_of(view.queue)
    if root.generation in DEFICITS:
        described["needed"] = _pair(maps.needed, reduces.needed)
        described["min_share"] = _pair(maps.min_share, reduces.min_share)
        described["deficit"] = _pair(maps.deficit, reduces.deficit)
    else:
        described["demand"] = _pair(maps.demand, reduces.demand)
        described["initialized"] = job.initialized
        described["locality"] = {
            "level": job.level,
            "waited_ms": job.waited_ms,
            "skipped": job.passed_over,
        }
    return described


def _describe_pool(view: QueueView, pool: PoolFigures) -> Description:
    maps, reduces = pool.maps, pool.reduces
    described: Description = {
        "apps": pool.jobs,
        "used": _pair(maps.running, reduces.running),
        "min_share": _pair(maps.min_share, reduces.min_share),
    }
    if pool.generation not in DEFICITS:
        described |= {
            "demand": _pair(maps.demand, reduces.demand),
            "fair_share": _pair(maps.fair_share, reduces.fair_share),
            "max_share": _pair(maps.max_share, reduces.max_share),
            "weight": view.weight,
            "policy": view.policy,
            "max_apps": view.max_running_applications,
            "to_preempt": _pair(maps.to_preempt, reduces.to_preempt),
        }
    return described

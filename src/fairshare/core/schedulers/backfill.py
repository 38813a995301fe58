"""Backfill: tasks that end before what is kept for an ask can be of use have it until then. Time
limits say by when tasks end; without them nothing is known, and nothing is lent.
"""

from collections.abc import Mapping

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.asks import AskKey
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.nodes import Node
from fairshare.core.model.resources import Resource
from fairshare.core.model.tasks import GROUP_REQUESTS


def due_ms(applications: Mapping[ApplicationId, Application], node: Node) -> int | None:
    """By when the time limits of the tasks on a node free what its reservation in part lacks there;
    None: they do not, or nothing is kept.

    With 1 of 4 GPUs free for an ask of 3, and tasks of one GPU each on the others with limits that
    end at 10, 20 and 30 s, it is 20,000.
    """
    reservation = node.reservation
    if reservation is None or not reservation.kept:
        return None
    missing = {
        place: reservation.resource[place] - node.available[place] for place in reservation.kept
    }
    ends: list[tuple[int, Resource]] = [(0, record.resource) for record in node.ending.values()]
    for container, record in node.containers.items():
        application = applications[record.application]
        assignment = application.tasks.assigned.get(container)
        launched_ms = application.attempt.launched.get(container)
        if assignment is None or launched_ms is None:
            continue
        limit_ms = application.tasks.groups[assignment.group].spec.time_limit_ms
        if limit_ms is not None:
            ends.append((launched_ms + limit_ms, record.resource))
    for end_ms, resource in sorted(ends):
        for place in missing:
            missing[place] -= resource[place]
        if max(missing.values()) <= 0:
            return end_ms
    return None


def ends_by(attempt: Attempt, key: AskKey, now_ms: int, due_ms: int) -> bool:
    """Whether what an ask gets now ends by then, since it is for tasks with such a time limit."""
    group = key.order[1] - GROUP_REQUESTS
    if group < 0:
        return False
    spec = attempt.application.tasks.groups[group].spec
    limit_ms = spec.time_limit_ms
    return limit_ms is not None and not spec.gang and now_ms + limit_ms <= due_ms

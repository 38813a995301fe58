"""Which containers that wait may make a Ray cluster grow. Pure: reads queues and asks of one
instant.
"""

from collections.abc import Iterable, Mapping

from fairshare.core.model.applications import Application
from fairshare.core.model.resources import VCORES, Resource, ResourceTypes
from fairshare.core.schedulers.views import QueueView

MOST_BUNDLES = 1_000
"""The most containers that are asked for at once."""


def waiting_room(
    queues: Iterable[QueueView],
    applications: Iterable[Application],
    types: ResourceTypes,
    present_vcores: int,
    most_vcores: int,
) -> dict[Resource, int]:
    """The containers that wait, by their size: so many as a cluster of `most_vcores` and the limits
    of their queues admit. A limit in percent counts as that part of `most_vcores`."""
    place = types.names.index(VCORES)
    views = {queue.name: queue for queue in queues}
    left = {
        queue.name: _limit(queue, place, most_vcores) - queue.used[place]
        for queue in views.values()
    }
    room, wanted, count = most_vcores - present_vcores, dict[Resource, int](), 0
    for application in applications:
        path = _path(application.queue, views)
        if not application.attempt.runnable or not path:
            continue
        for key in application.attempt.asks.wanting:
            ask = key.anywhere
            if ask is None or ask.count < 1:
                continue
            each = max(1, ask.resource[place])
            most = min(
                ask.count,
                MOST_BUNDLES - count,
                *(one // each for one in (room, *(left[name] for name in path))),
            )
            if most < 1:
                continue
            wanted[ask.resource] = wanted.get(ask.resource, 0) + most
            count, room = count + most, room - most * each
            for name in path:
                left[name] -= most * each
    return wanted


def _limit(queue: QueueView, place: int, most_vcores: int) -> int:
    if queue.capacity is not None:
        return int(most_vcores * queue.capacity.absolute_max_capacity / 100)
    return queue.max_share[place] if queue.max_share else most_vcores


def _path(name: str, views: Mapping[str, QueueView]) -> list[str]:
    """A queue and those above it; none if it is gone."""
    path = []
    while name in views:
        path.append(name)
        name = views[name].parent
    return path

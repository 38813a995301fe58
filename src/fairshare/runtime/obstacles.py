"""Owns what an application waits for, as far as it can be seen from sizes, rooms and limits.

Looked at when somebody asks, never while deciding. Reasons are kinds with numbers; words for them
belong to whoever shows them. Changes nothing.
"""

import enum
from collections.abc import Sequence

import msgspec

from fairshare.model.applications import Application
from fairshare.model.asks import AskKey
from fairshare.model.nodes import Node
from fairshare.model.queues import parent_name
from fairshare.model.resources import Resource, add, fits, largest
from fairshare.schedulers.protocol import State
from fairshare.schedulers.views import QueueView


class Kind(enum.StrEnum):
    """What is in the way, what is hardest to remove first."""

    NO_NODE = "no-node"  # there are no nodes, or none that it accepts
    TOO_LARGE = "too-large"  # no node is large enough, even an empty one
    QUEUE_TOO_SMALL = "queue-too-small"  # one container is more than its queue may ever have
    HELD_BACK = "held-back"  # a limit on running applications, or on what masters use
    QUEUE_FULL = "queue-full"  # its queue may not have more now
    NO_ROOM = "no-room"  # no node has so much free now
    OTHERS_FIRST = "others-first"  # there is room: others are served first, or a user's limit


FOR_EVER = frozenset((Kind.NO_NODE, Kind.TOO_LARGE, Kind.QUEUE_TOO_SMALL))
"""As long as cluster and configuration stay what they are."""


class Obstacle(msgspec.Struct, frozen=True):
    """Why nothing is granted now. `wanted` is the size of a container and `count` how many are
    wanted; `available` is the most that there is of each type: on one node (TOO_LARGE, NO_ROOM), or
    in `queue` for all its containers (QUEUE_TOO_SMALL, QUEUE_FULL). `dominant` is the type that
    lacks most."""

    kind: Kind
    wanted: Resource
    count: int
    available: Resource | None = None
    queue: str | None = None
    dominant: str | None = None

    @property
    def for_ever(self) -> bool:
        """Whether waiting does not help."""
        return self.kind in FOR_EVER


def obstacle_of(
    state: State, queues: Sequence[QueueView], application: Application
) -> Obstacle | None:
    """What is in the way of an application's next container; None if it wants none.

    `queues` are the scheduler's views. Of several asks the one counts that can hardest be served,
    of those that are alike the first: a container of 4096 MB on nodes of 2048 MB is
    (TOO_LARGE, wanted (4096, 1), available (2048, 8), dominant memory-mb).
    """
    wanting = application.asks.wanting
    if application.over or not wanting:
        return None
    by_name = {view.name: view for view in queues}
    found = [_of_key(state, by_name, application, key) for key in wanting]
    kinds = tuple(Kind)
    return min(found, key=lambda obstacle: kinds.index(obstacle.kind))


def _of_key(
    state: State, queues: dict[str, QueueView], application: Application, key: AskKey
) -> Obstacle:
    assert key.anywhere is not None
    size, count = key.anywhere.resource, key.anywhere.count
    nodes = [node for node in state.nodes.values() if _accepted(state, application, key, node)]
    if not nodes:
        return Obstacle(Kind.NO_NODE, size, count)

    def lacking(kind: Kind, available: Resource, queue: str | None = None) -> Obstacle:
        return Obstacle(kind, size, count, available, queue, _dominant(state, size, available))

    if not any(fits(size, node.total) for node in nodes):
        return lacking(Kind.TOO_LARGE, _most([node.total for node in nodes]))
    above = _line(queues, application.queue)
    for view in above:
        if not fits(size, view.max_share):
            return lacking(Kind.QUEUE_TOO_SMALL, view.max_share, view.name)
    if not application.runnable:
        return Obstacle(Kind.HELD_BACK, size, count, None, application.queue)
    for view in above:
        if not fits(add(view.used, size), view.max_share):
            return lacking(Kind.QUEUE_FULL, view.max_share, view.name)
    rooms = [state.room(node) for node in nodes]
    if not any(fits(size, room) for room in rooms):
        return lacking(Kind.NO_ROOM, _most(rooms))
    return Obstacle(Kind.OTHERS_FIRST, size, count, None, application.queue)


def _accepted(state: State, application: Application, key: AskKey, node: Node) -> bool:
    """Whether the application takes a container on this node at all."""
    if node.name in application.blacklist or node.rack in application.blacklist:
        return False
    if state.label_of(node) != key.label and (key.label or not state.lends):
        return False
    if key.anywhere is None or key.anywhere.relax:
        return True
    at_rack = key.places.get(node.rack)
    return node.name in key.places or (at_rack is not None and at_rack.relax)


def _line(queues: dict[str, QueueView], name: str) -> list[QueueView]:
    """A queue and all above it that are known."""
    line = []
    while name:
        view = queues.get(name)
        if view is not None:
            line.append(view)
        name = parent_name(name)
    return line


def _most(amounts: Sequence[Resource]) -> Resource:
    most = amounts[0]
    for amount in amounts[1:]:
        most = largest(most, amount)
    return most


def _dominant(state: State, wanted: Resource, available: Resource) -> str | None:
    """The type of which the largest part is missing; None if no type by itself is in the way."""
    missing = [
        ((want - have) / want, name)
        for name, want, have in zip(state.types.names, wanted, available, strict=True)
        if want > have
    ]
    return max(missing, key=lambda one: one[0])[1] if missing else None

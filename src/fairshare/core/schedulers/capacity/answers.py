"""Owns what queues and applications exchange during one walk: the room passed down, and the answer
returned."""

import enum

from fairshare.core.model.resources import Resource


class Answer(enum.IntEnum):
    """The result of offering a node to a queue or an application."""

    NOTHING = 0
    SKIPPED = 1  # by the application: try the next one
    QUEUE_LIMIT = 2  # the queue has too little left for the next container
    OFF_SWITCH = 3  # granted, on any node
    NEAR = 4  # granted, on a host or rack that was asked for
    RESERVED = 5


class ResourceLimits:
    """The room that a queue may use in one attempt, and the results.

    `limit` is passed down; `headroom` is what the queue has left below it; `blocked` is kept free
    for children that wait for more room than there is; `need` is the amount of reservations that an
    application must release before it may take more.
    """

    __slots__ = ("blocked", "headroom", "limit", "may_kill", "need")

    def __init__(self, limit: Resource, none: Resource) -> None:
        self.limit = limit
        self.headroom = none
        self.blocked = none
        self.need = none
        self.may_kill = False

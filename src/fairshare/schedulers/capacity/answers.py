"""Owns what passes between the queues and applications of one walk: the room that is handed down,
and the answer that comes back."""

import enum

from fairshare.model.resources import Resource


class Answer(enum.IntEnum):
    """What a queue or an application made of a node."""

    NOTHING = 0
    SKIPPED = 1  # the application: try the next one
    QUEUE_LIMIT = 2  # the queue has too little left for the container that is next
    OFF_SWITCH = 3  # granted, anywhere
    NEAR = 4  # granted, on a host or rack that was asked for
    RESERVED = 5


class Room:
    """What a queue may use in one attempt, and what came of it.

    `limit` is handed down; `headroom` is what the queue has left below it; `blocked` is kept aside
    for children that wait for more room than there is; `need` is what an application must give
    back of its reservations before it may take more.
    """

    __slots__ = ("blocked", "headroom", "limit", "may_kill", "need")

    def __init__(self, limit: Resource, none: Resource) -> None:
        self.limit = limit
        self.headroom = none
        self.blocked = none
        self.need = none
        self.may_kill = False

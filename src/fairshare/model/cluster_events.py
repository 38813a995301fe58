"""Owns what can happen to the cluster itself: its configuration, nodes, partitions and queues.

A part of `events.py`, which has all events and says what they are.
"""

import msgspec

from fairshare.model.identifiers import ApplicationId, ContainerId
from fairshare.model.resources import Resource
from fairshare.model.tags import tag_of


class RecordedEvent(msgspec.Struct, frozen=True, array_like=True, gc=False, tag=tag_of):
    """What all events have in common: they are small, frozen, and known by their names."""


class ConfigurationLoaded(RecordedEvent, frozen=True):
    """The scheduler has new settings (`LoadConfiguration`)."""

    settings: bytes
    epoch_ms: int


class NodeAdded(RecordedEvent, frozen=True):
    """A node offers its resources."""

    node: str
    total: Resource
    rack: str
    attributes: dict[str, str]


class NodeRemoved(RecordedEvent, frozen=True):
    """A node is gone; its containers completed before."""

    node: str


class PreemptedRoomChanged(RecordedEvent, frozen=True):
    """How much of a node's room is kept for an application that others were preempted for."""

    node: str
    application: ApplicationId
    resource: Resource


class RoomFreed(RecordedEvent, frozen=True):
    """A node reported the end of a container that was over already: what it held is free."""

    container: ContainerId
    node: str


class NodeTotalChanged(RecordedEvent, frozen=True):
    """A node offers another amount."""

    node: str
    total: Resource


class NodeDrained(RecordedEvent, frozen=True):
    """A node takes no new containers; undrained, it would offer `total`.

    At `deadline_ms` it leaves, or as soon as it is empty; None: it stays.
    """

    node: str
    total: Resource
    deadline_ms: int | None = None


class NodeUndrained(RecordedEvent, frozen=True):
    """A node takes containers again, or may join again."""

    node: str


class NodeOvercommitted(RecordedEvent, frozen=True):
    """A node runs more than it offers: at `deadline_ms` containers are taken until the rest fits.
    None: that is over, or what runs may stay."""

    node: str
    deadline_ms: int | None


class SafeModeChanged(RecordedEvent, frozen=True):
    """Nothing is admitted and granted any more, or again."""

    on: bool
    user: str = ""


class LabelsChanged(RecordedEvent, frozen=True):
    """The partitions that administrators have made: by name, whether each is exclusive."""

    labels: dict[str, bool]


class NodesLabelled(RecordedEvent, frozen=True):
    """Administrators have put nodes into partitions; empty: into the default one."""

    nodes: dict[str, str]


class QueueCreated(RecordedEvent, frozen=True):
    """A queue exists. `dynamic`: no file names it."""

    queue: str
    leaf: bool
    dynamic: bool


class QueueEntitled(RecordedEvent, frozen=True):
    """A queue that was made on demand has its template's capacity on these partitions alone.

    `in_round`: given or taken by a round of the policy. As in Hadoop nothing else is computed then:
    what follows from it waits until the cluster or the settings change.
    """

    queue: str
    labels: tuple[str, ...]
    in_round: bool = False


class QueueRemoved(RecordedEvent, frozen=True):
    """A queue without children and applications is gone."""

    queue: str


class QueueDynamicChanged(RecordedEvent, frozen=True):
    """A reload names a queue, or no longer names it."""

    queue: str
    dynamic: bool


class QueuesConfigured(RecordedEvent, frozen=True):
    """All queues took their settings from the configuration in force.

    `policies` are those whose policy the configuration may change: where a parent's and a child's
    cannot go together, the queues keep what they have.
    """

    policies: tuple[str, ...]


class QueueConversionPending(RecordedEvent, frozen=True):
    """A queue shall become a leaf, or a parent, as soon as what is in the way is empty.

    `pending` False: it has become one, or nobody wants it any longer.
    """

    queue: str
    leaf: bool
    pending: bool


class QueueExpiring(RecordedEvent, frozen=True):
    """A round found a queue that was made on demand empty: it may go if the next one does so too.

    `empty` False: the count of rounds starts again.
    """

    queue: str
    empty: bool = True


class QueueLimited(RecordedEvent, frozen=True):
    """A heartbeat told a leaf how much it can reach at most as long as the others keep theirs."""

    queue: str
    limit: Resource


class SharesUpdated(RecordedEvent, frozen=True):
    """Demand, fair shares and starvation were computed from the state as it was."""

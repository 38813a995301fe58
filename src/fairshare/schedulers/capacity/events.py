"""Owns the events of the Capacity Scheduler alone. The rules of `model/events.py` hold here too."""

from fairshare.model.events import BookkeepingEvent, Event
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource


class QueueEntitled(Event, frozen=True):
    """A queue that was made on demand has its template's capacity on these partitions alone.

    `in_round`: given or taken by a round of the policy. As in Hadoop nothing else is computed then:
    what follows from it waits until the cluster or the settings change.
    """

    queue: str
    labels: tuple[str, ...]
    in_round: bool = False


class QueueExpiring(BookkeepingEvent, frozen=True):
    """A round found a queue that was made on demand empty: it may go if the next one does so too.

    `empty` False: the count of rounds starts again.
    """

    queue: str
    empty: bool = True


class QueueLimited(BookkeepingEvent, frozen=True):
    """A heartbeat told a leaf how much it can reach at most as long as the others keep theirs."""

    queue: str
    limit: Resource


class LimitsComputed(BookkeepingEvent, frozen=True):
    """What the queues below one may reach was computed anew, though they have the same settings."""

    queue: str


class UserLimitsComputed(BookkeepingEvent, frozen=True):
    """What users may have in a leaf was computed, outside of any heartbeat."""

    queue: str


class HeadroomComputed(Event, frozen=True):
    """A scheduler considered an application, which knows from now on what it could still get."""

    application: ApplicationId


class ApplicationsOrdered(BookkeepingEvent, frozen=True):
    """A scheduler looked at a leaf, and its applications stand where what they use puts them."""

    queue: str


class UserNoted(BookkeepingEvent, frozen=True):
    """A leaf knows a user though it refused the user's application."""

    queue: str
    user: str


CapacityEvent = (
    QueueEntitled
    | QueueExpiring
    | QueueLimited
    | LimitsComputed
    | UserLimitsComputed
    | HeadroomComputed
    | ApplicationsOrdered
    | UserNoted
)

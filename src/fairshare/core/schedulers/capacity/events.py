"""The events of the Capacity Scheduler alone. The rules of `core/model/events.py` hold here too."""

from typing import Final

from fairshare.core.model.events import BookkeepingEvent, Event
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource


class QueueEntitled(Event, frozen=True):
    """A queue created on demand has its template's capacity on exactly these partitions.

    `in_round`: a round of the policy gave or took it. As in Hadoop nothing else is recomputed then:
    the consequences wait until the cluster or the settings change.
    """

    queue: str
    labels: tuple[str, ...]
    in_round: bool = False


class QueueExpiring(BookkeepingEvent, frozen=True):
    """A round found a queue created on demand empty: it may be removed if the next one does too.

    `empty` False: the count of rounds starts again.
    """

    queue: str
    empty: bool = True


class QueueLimited(BookkeepingEvent, frozen=True):
    """A heartbeat computed the most that a leaf can reach while the other queues keep what they
    have."""

    queue: str
    limit: Resource


class LimitsComputed(BookkeepingEvent, frozen=True):
    """The limits of the queues below one were recomputed with unchanged settings."""

    queue: str


class UserLimitsComputed(BookkeepingEvent, frozen=True):
    """The limits of a leaf's users were computed outside a heartbeat."""

    queue: str


class HeadroomComputed(Event, frozen=True):
    """The scheduler considered an application and computed its headroom."""

    application: ApplicationId


class ApplicationsOrdered(BookkeepingEvent, frozen=True):
    """The scheduler examined a leaf and re-sorted its applications by their use."""

    queue: str


class UserNoted(BookkeepingEvent, frozen=True):
    """A leaf has a record of a user although it refused the user's application."""

    queue: str
    user: str


EVENTS: Final = (
    QueueEntitled,
    QueueExpiring,
    QueueLimited,
    LimitsComputed,
    UserLimitsComputed,
    HeadroomComputed,
    ApplicationsOrdered,
    UserNoted,
)

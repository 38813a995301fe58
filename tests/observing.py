"""A projection that follows records one by one, as at recovery."""

from collections.abc import Callable

from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.projection import Projection
from fairshare.runtime.projections.projections import Projections


def follower(followed: Projection | Projections, scheduler: Scheduler) -> Callable[[Record], None]:
    """What is to be called with each record."""
    observers = Observers()
    followed.subscribe(observers, scheduler)
    return lambda record: observers.observe((record,))

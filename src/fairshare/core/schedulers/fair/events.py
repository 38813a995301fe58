"""Owns the events of the Fair Scheduler alone. The rules of `core/model/events.py` hold here."""

from typing import Final

from fairshare.core.model.events import Event


class QueueConversionPending(Event, frozen=True):
    """A queue will become a leaf, or a parent, as soon as the queues in the way are empty.

    `pending` False: it has been converted, or the conversion is no longer configured.
    """

    queue: str
    leaf: bool
    pending: bool


EVENTS: Final = (QueueConversionPending,)

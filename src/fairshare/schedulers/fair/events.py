"""Owns the events of the Fair Scheduler alone. The rules of `model/events.py` hold here too."""

from fairshare.model.events import Event


class QueueConversionPending(Event, frozen=True):
    """A queue shall become a leaf, or a parent, as soon as what is in the way is empty.

    `pending` False: it has become one, or nobody wants it any longer.
    """

    queue: str
    leaf: bool
    pending: bool


FairEvent = QueueConversionPending

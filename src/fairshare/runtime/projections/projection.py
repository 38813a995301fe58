"""`Projection`: data derived from the records of the journal alone.

The core's state has only the present. A projection adds what readers also need: the past, or values
that the core does not keep. It follows the records in their order, live and at recovery, is part of
snapshots, and decides nothing.
"""

from abc import ABC, abstractmethod
from typing import Self

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.runtime.observers import Observers


class Projection(ABC):
    """One projection. `projections.py` lists the fields that snapshots have of it."""

    @classmethod
    def empty(cls, types: ResourceTypes) -> Self:
        """A projection of no records, for a cluster with these resource types."""
        return cls()

    @abstractmethod
    def subscribe(self, observers: Observers, scheduler: Scheduler) -> None:
        """Follow the records, which come in the journal's order. The scheduler's state already has
        their events."""

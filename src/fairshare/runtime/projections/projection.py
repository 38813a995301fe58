"""`Projection`: data derived from the records of the journal alone.

The core's state has only the present. A projection adds what readers also need: the past, or values
that the core does not keep. It follows the records in their order, live and at recovery, is part of
snapshots, and decides nothing.
"""

from abc import ABC, abstractmethod
from typing import Self

from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler


class Projection(ABC):
    """One projection. `projections.py` lists the fields that snapshots have of it."""

    @classmethod
    def empty(cls, types: ResourceTypes) -> Self:
        """A projection of no records, for a cluster with these resource types."""
        return cls()

    @abstractmethod
    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record. The scheduler's state already has its events; records come in the
        journal's order."""

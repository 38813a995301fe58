"""Owns the views of queues and applications: frozen, the same for all schedulers.

Their fields are those of the REST records (`api`), with vectors in the order of the state's types.
A field is None where a scheduler does not have it. REST, pages, command line, scenarios and reports
read these and compute nothing themselves.
"""

from collections.abc import Callable
from typing import NamedTuple

from fairshare.api.applications import ApplicationFields
from fairshare.api.queues import CapacityFields, PartitionFields, QueueFields, UserFields
from fairshare.model.applications import Application
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource


class UserView(UserFields[Resource], frozen=True):
    """One user of a leaf of the Capacity Scheduler."""


class PartitionView(PartitionFields[Resource], frozen=True):
    """A queue's part of one partition (node label)."""


class CapacityView(CapacityFields[Resource], frozen=True):
    """The fields of a queue that only the Capacity Scheduler has."""

    users: tuple[UserView, ...] = ()
    partitions: tuple[PartitionView, ...] = ()


class QueueView(QueueFields[Resource, Resource], frozen=True):
    """One queue in its current state."""

    weight: float = 0.0
    capacity: CapacityView | None = None


class ApplicationView(ApplicationFields[ApplicationId, Resource], frozen=True, kw_only=True):
    """One application in its current state; the shares of an ended one are 0."""

    state: ApplicationState


class VolatileFields(NamedTuple):
    """The fields of an application's view that may change without an event that names it."""

    demand: Resource
    fair_share: Resource
    headroom: Resource
    diagnostics: str


VolatileFieldsOf = Callable[[Application], VolatileFields]
"""Reads the volatile fields of an application; valid until the state changes."""

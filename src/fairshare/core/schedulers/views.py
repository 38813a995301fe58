"""The views of queues and applications: frozen, the same for all schedulers.

Their fields are those of the REST records (`api`), with vectors in the order of the state's types.
A field is None where a scheduler does not have it. REST, pages, command line, scenarios and reports
read these and compute nothing themselves.
"""

from collections.abc import Callable
from typing import NamedTuple

from fairshare.api.applications import ApplicationFields, JobFigures
from fairshare.api.queues import CapacityFields, PartitionFields, QueueFields, UserFields
from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource


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
    job: JobFigures | None = None


VolatileFieldsOf = Callable[[Application], VolatileFields]
"""Reads the volatile fields of an application; valid until the state changes."""


def application_view(
    application: Application,
    attempt: Attempt,
    fields: VolatileFields,
    *,
    used: Resource,
    reserved: Resource,
    missed: dict[int, int] | None = None,
) -> ApplicationView:
    """An application with what its scheduler says of it."""
    return ApplicationView(
        id=application.id,
        name=application.submission.name,
        user=application.user,
        queue=application.queue,
        state=application.shown_state,
        priority=application.priority,
        attempt=attempt.number,
        runnable=attempt.runnable,
        submitted_ms=application.submitted_ms,
        started_ms=attempt.started_ms,
        began_ms=application.started_ms,
        finished_ms=application.finished_ms,
        containers=len(attempt.containers),
        used=used,
        reserved=reserved,
        pending=attempt.asks.pending,
        demand=fields.demand,
        fair_share=fields.fair_share,
        headroom=fields.headroom,
        to_preempt=len(attempt.to_preempt),
        preempted=application.preempted,
        diagnostics=fields.diagnostics,
        cause=application.cause,
        missed=missed,
        job=fields.job,
    )

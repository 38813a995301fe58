"""Owns the path of the queues: their present state, and past states."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.errors import InputError
from fairshare.insight.shares import Share, Shares
from fairshare.live.moments import Moment
from fairshare.model.resources import Resource, ResourceTypes
from fairshare.schedulers.views import CapacityView, QueueView, UserView
from fairshare.web.answers import answer, named
from fairshare.web.requests import read_parameters, server_of, whole_number


async def list_queues(request: Request) -> Response:
    """GET /queues: root first, parents before children; each beside its share.

    `at`: a past instant in milliseconds; the answer is the last remembered state before it, whose
    instant is `at_ms`. 404 if no remembered state is that old.
    """
    parameters = read_parameters(request, "at")
    server = server_of(request)
    service = server.service
    types = service.state.types
    if "at" not in parameters:
        queues, total = service.views.queues, service.views.cluster.total
        return answer({"at_ms": None, **_content(queues, total, types)})
    moment = moment_at(request, whole_number(parameters, "at", 0, 2**63 - 1))
    return answer({"at_ms": moment.at_ms, **_content(moment.queues, moment.cluster.total, types)})


def moment_at(request: Request, at_ms: int) -> Moment:
    """The remembered state at an instant; raises InputError (`unknown-moment`)."""
    moments = server_of(request).moments
    moment = moments.at(at_ms)
    if moment is None:
        raise InputError(
            "unknown-moment",
            f"nothing is remembered of {at_ms}: this server began at {moments.began_ms}",
        )
    return moment


def _content(
    queues: tuple[QueueView, ...], total: Resource, types: ResourceTypes
) -> dict[str, Any]:
    shares = Shares(queues, total, types)
    rows = [queue_row(view, shares.of(view), types) for view in queues]
    return {"total": types.mapping(total), "queues": rows}


def queue_row(view: QueueView, share: Share, types: ResourceTypes) -> dict[str, Any]:
    """One queue beside its share, with named amounts."""
    row = named(view, types)
    row["share"] = named(share, types)
    if view.capacity is not None:
        row["capacity"] = capacity_row(view.capacity, types)
    return row


def capacity_row(view: CapacityView, types: ResourceTypes) -> dict[str, Any]:
    """The fields of a queue that only the Capacity Scheduler has, with named amounts."""
    row = named(view, types)
    row["users"] = [user_row(user, types) for user in view.users]
    row["partitions"] = [named(part, types) for part in view.partitions]
    return row


def user_row(view: UserView, types: ResourceTypes) -> dict[str, Any]:
    """One user of a leaf."""
    return named(view, types)


ROUTES = [Route("/queues", list_queues)]

"""The path of the queues: their present state, and past states."""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.queues import CapacityFigures, PartitionFigures, Queue, Queues, UserFigures
from fairshare.api.queues import Share as NamedShare
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.schedulers.views import CapacityView, QueueView
from fairshare.errors import InputError
from fairshare.server.insight.shares import Share, Shares
from fairshare.server.past_views import PastView
from fairshare.server.slices import made_in_slices, sliced
from fairshare.server.views import filled
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import AT, serve
from fairshare.server.web.requests import read_parameters, server_of, whole_number


async def list_queues(request: Request) -> Response:
    """GET /queues: root first, parents before children; each beside its share.

    `at`: a past instant in milliseconds; the answer is the last remembered state before it, whose
    instant is `at_ms`. 404 if no remembered state is that old.
    """
    parameters = read_parameters(request)
    server = server_of(request)
    service = server.service
    types = service.state.types
    if "at" not in parameters:
        queues = await made_in_slices(service.views.queues_in_steps())
        total = service.views.cluster.total
        return answer(await _queues(None, queues, total, types))
    moment = moment_at(request, whole_number(parameters, "at", 0, 2**63 - 1))
    return answer(await _queues(moment.at_ms, moment.queues, moment.cluster.total, types))


def moment_at(request: Request, at_ms: int) -> PastView:
    """The remembered state at an instant; raises InputError (`unknown-moment`)."""
    moments = server_of(request).past_views
    moment = moments.at(at_ms)
    if moment is None:
        raise InputError(
            "unknown-moment",
            f"nothing is remembered of {at_ms}: this server began at {moments.began_ms}",
        )
    return moment


async def _queues(
    at_ms: int | None, queues: tuple[QueueView, ...], total: Resource, types: ResourceTypes
) -> Queues:
    """The rows, made in slices of views that stay as they are."""
    shares = Shares(queues, total, types)
    rows = [queue_row(view, shares.of(view), types) async for view in sliced(queues)]
    return Queues(at_ms=at_ms, total=types.mapping(total), queues=tuple(rows))


def queue_row(view: QueueView, share: Share, types: ResourceTypes) -> Queue:
    """One queue beside its share, with named amounts."""
    capacity = None if view.capacity is None else _capacity_row(view.capacity, types)
    measured = filled(NamedShare, share, types)
    return filled(Queue, view, types, capacity=capacity, share=measured)


def _capacity_row(view: CapacityView, types: ResourceTypes) -> CapacityFigures:
    return filled(
        CapacityFigures,
        view,
        types,
        users=tuple(filled(UserFigures, user, types) for user in view.users),
        partitions=tuple(filled(PartitionFigures, part, types) for part in view.partitions),
    )


ROUTES = [serve(routes.LIST_QUEUES, list_queues, "queues", AT)]

"""Owns the path of the queues."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.web.answers import answer, named
from fairshare.web.requests import read_parameters, server_of


async def list_queues(request: Request) -> Response:
    """GET /queues: root first, parents before children."""
    read_parameters(request)
    service = server_of(request).service
    types = service.state.types
    return answer({"queues": [named(view, types) for view in service.views.queues]})


ROUTES = [Route("/queues", list_queues)]

"""Owns the paths of queues that only the pages use: their names, and what a gap consists of."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.model.queues import parent_name
from fairshare.web.answers import answer
from fairshare.web.requests import read_parameters, server_of


async def list_names(request: Request) -> Response:
    """GET /pages/queues: the names of all queues in the order of their names, and which are leaves;
    without their shares, for lists and colours."""
    read_parameters(request)
    queues = server_of(request).service.state.queues
    rows = [
        {"name": name, "parent": parent_name(name), "leaf": queues[name].leaf}
        for name in sorted(queues)
    ]
    return answer({"queues": rows})


ROUTES = [Route("/pages/queues", list_names)]

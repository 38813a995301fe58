"""Owns the paths of the configuration: how it stands, and the order to read it again."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare.errors import ConfigurationError
from fairshare.web.actors import check_administrator
from fairshare.web.answers import answer
from fairshare.web.bodies import ActorBody
from fairshare.web.requests import read_body, read_parameters, server_of


async def show_configuration(request: Request) -> Response:
    """GET /configuration: what is in force, and why the files are not, if they are not."""
    read_parameters(request)
    return answer(server_of(request).configuration.view())


async def refresh_queues(request: Request) -> Response:
    """POST /admin/refresh-queues: 200 with what could not change; 400 with all problems of files
    that are wrong, 409 if the scheduler refuses what they say. Then nothing has changed."""
    await check_administrator(request, await read_body(request, ActorBody))
    configuration = server_of(request).configuration
    try:
        found = await configuration.refresh()
    except ConfigurationError as error:
        content = {
            "code": "bad-configuration",
            "message": str(error),
            "problems": msgspec.to_builtins(error.problems),
        }
        return answer(content, 400)
    view = configuration.view()
    return answer(
        {
            "file": view.file,
            "loaded_ms": view.loaded_ms,
            "version": view.version,
            "needs_restart": found.needs_restart,
            "problems": found.problems,
        }
    )


ROUTES = [
    Route("/configuration", show_configuration),
    Route("/admin/refresh-queues", refresh_queues, methods=["POST"]),
]

"""The path that reports the current user to a page, so that it offers what the user may do.

Each call is authorized again where it is handled.
"""

from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.cluster import Session
from fairshare.server.users.groups import own_user
from fairshare.server.web.actors import groups_of, identity_of
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import get
from fairshare.server.web.requests import read_parameters, server_of


async def show_session(request: Request) -> Response:
    """GET /session: the user's name, whether it is authenticated, and what the user administers.

    `administrator`: the whole cluster. `administers`: queues, without those below one of them.
    Without access lists and authentication every user may do everything.
    """
    read_parameters(request)
    server = server_of(request)
    identity = identity_of(request)
    user = own_user() if identity is None else identity.user
    if identity is not None and identity.administrator:
        everything = True
    elif not server.controls_access:
        everything = identity is None
    else:
        everything = server.may_administer("", user, await groups_of(server, user))
    administered: list[str] = []
    if not everything and server.controls_access:
        groups = await groups_of(server, user)
        for view in server.service.views.queues:
            below = any(view.name.startswith(f"{one}.") for one in administered)
            if not below and server.may_administer(view.name, user, groups):
                administered.append(view.name)
    return answer(Session(user, identity is not None, everything, tuple(administered)))


ROUTES = [get("/session", show_session, "administration", Session)]

"""Owns the question who calls, and whether he may do what is for administrators.

What is allowed with an application is decided in the core, where it is recorded; here stands only
what changes no state of the cluster. Nobody proves who he is: the server listens on loopback, and
believes a name as Hadoop does without Kerberos; the groups it looks up itself.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from fairshare.errors import InputError
from fairshare.live.server import LiveServer
from fairshare.live.users.identity import own_user
from fairshare.model.applications import Application
from fairshare.web.bodies import ActorBody
from fairshare.web.requests import server_of

Actor = tuple[str, tuple[str, ...]]


async def groups_of(server: LiveServer, user: str) -> tuple[str, ...]:
    """A user's groups; a directory service may take its time to answer."""
    return await run_in_threadpool(server.groups.of, user)


async def actor_of(request: Request, body: ActorBody, application: Application) -> Actor:
    """Who wants to change an application, with the groups if they can matter."""
    server = server_of(request)
    user = body.user or own_user()
    if not server.controls_access or user == application.user:
        return user, ()
    return user, await groups_of(server, user)


async def check_administrator(request: Request, body: ActorBody, queue: str = "") -> None:
    """Raise InputError (`access-denied`) for who does not administer a queue, or the cluster."""
    server = server_of(request)
    if not server.controls_access:
        return
    user = body.user or own_user()
    if not server.may_administer(queue, user, await groups_of(server, user)):
        what = f"queue {queue}" if queue else "the cluster"
        raise InputError(
            "access-denied",
            f"User {user} does not administer {what}: who may is said by yarn.admin.acl and the"
            " lists of the queues",
        )

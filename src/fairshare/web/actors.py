"""Owns the question who calls, and whether he may do what is for administrators.

What is allowed with an application is decided in the core, where it is recorded; here stands only
what changes no state of the cluster. Where no proof is asked for the server listens on loopback,
and believes a name as Hadoop does without Kerberos; the groups it looks up itself.
"""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from fairshare.errors import InputError
from fairshare.live.access.identity import Identity
from fairshare.live.access.lists import may_change, may_look
from fairshare.live.server import LiveServer
from fairshare.live.users.identity import own_user
from fairshare.model.applications import Application
from fairshare.web.audit import note
from fairshare.web.authentication import KEY
from fairshare.web.bodies import ActorBody
from fairshare.web.requests import server_of

Actor = tuple[str, tuple[str, ...]]


async def groups_of(server: LiveServer, user: str) -> tuple[str, ...]:
    """A user's groups; a directory service may take its time to answer."""
    known = server.groups.remembered(user)
    return await run_in_threadpool(server.groups.of, user) if known is None else known


def identity_of(request: Request) -> Identity | None:
    """Who has proven his name; None where nobody has to."""
    found = request.scope.get(KEY)
    return found if isinstance(found, Identity) else None


def caller_of(request: Request, named: str | None) -> str:
    """Who calls, or for whom: only administrators may name somebody else once names are proven.

    Raises InputError (`access-denied`).
    """
    identity = identity_of(request)
    if identity is None:
        note(request, user=named or own_user())
        return named or own_user()
    if named and named != identity.user and not identity.administrator:
        raise InputError(
            "access-denied",
            f"you are {identity.user}: only an administrator may act for {named}",
        )
    note(request, user=named or identity.user)
    return named or identity.user


async def sees_records(request: Request) -> bool:
    """Whether the caller may see what happens to everybody, with all commands and environments:
    who administers the cluster, or everybody where names are only believed."""
    identity = identity_of(request)
    if identity is None or identity.administrator:
        return True
    server = server_of(request)
    if identity.application is not None or not server.controls_access:
        return False
    return server.may_administer("", identity.user, await groups_of(server, identity.user))


async def check_account(server: LiveServer, user: str) -> None:
    """Raise InputError (`no-account`) for a user whose containers could not run, where they run
    under his own account."""
    if server.settings.run_as != "user":
        return
    problem = await run_in_threadpool(server.engine.account_problem, user)
    if problem:
        raise InputError("no-account", problem)


def check_claimed_groups(request: Request, groups: tuple[str, ...] | None) -> None:
    """Raise InputError (`access-denied`) for who names groups for himself where names are proven:
    queues are open to groups."""
    identity = identity_of(request)
    if groups and identity is not None and not identity.administrator:
        raise InputError(
            "access-denied",
            "groups: the server looks up the groups of who submits; only an administrator may"
            " name them",
        )


def sees_all_of(request: Request, application: Application) -> bool:
    """Whether a list may show also what an application's containers wrote; the application by
    itself is opened for more (`authentication.py`)."""
    identity = identity_of(request)
    if identity is None or identity.administrator or identity.user == application.user:
        return True
    if identity.application is not None:
        return False
    groups = server_of(request).groups.remembered(identity.user) or ()
    return may_look(application, identity.user, groups)


async def actor_of(request: Request, body: ActorBody, application: Application) -> Actor:
    """Who wants to change an application, with the groups if they can matter.

    For the core an administrator by his token is the system itself, and so is who stands in the
    application's own list: the core knows the lists of queues alone.
    """
    server = server_of(request)
    user = caller_of(request, body.user)
    identity = identity_of(request)
    if identity is not None and identity.administrator:
        return "", ()
    if user == application.user:
        return user, ()
    groups = await groups_of(server, user)
    if may_change(application, user, groups):
        return "", ()
    return user, groups if server.controls_access else ()


async def mover_of(
    request: Request, body: ActorBody, application: Application, queue: str
) -> Actor:
    """As `actor_of`, for a move: whoever may change the application must also be allowed to submit
    to the queue where it goes, or administer it, by himself or by his groups.

    Raises InputError (`access-denied`).
    """
    actor = await actor_of(request, body, application)
    server = server_of(request)
    identity = identity_of(request)
    if not server.controls_access or (identity is not None and identity.administrator):
        return actor
    user = caller_of(request, body.user)
    groups = await groups_of(server, user)
    if actor[0]:
        return user, groups  # the core judges both
    scheduler = server.scheduler
    if not (
        scheduler.may_submit(queue, user, groups) or scheduler.may_administer(queue, user, groups)
    ):
        raise InputError("access-denied", f"{user} may not submit to {queue}")
    return actor


def believed_administrator(request: Request, named: str | None) -> str:
    """The user in whose name an administrator's order is carried out; that he is one is asked
    further down, unless his token says so: then it is the server's own user, who always is one.

    Raises InputError (`access-denied`) where only tokens make administrators.
    """
    user = caller_of(request, named)
    identity = identity_of(request)
    if identity is None:
        return user
    if identity.administrator:
        return own_user()
    if not server_of(request).controls_access:
        raise _no_administrator(identity)
    return user


def _no_administrator(identity: Identity) -> InputError:
    return InputError(
        "access-denied",
        f"{identity.user} is no administrator: that is who has a token made with --admin",
    )


async def check_administrator(request: Request, body: ActorBody, queue: str = "") -> None:
    """Raise InputError (`access-denied`) for who does not administer a queue, or the cluster."""
    server = server_of(request)
    user = caller_of(request, body.user)
    identity = identity_of(request)
    if identity is not None:
        if identity.administrator:
            return
        if not server.controls_access:
            raise _no_administrator(identity)
    if not server.controls_access:
        return
    if not server.may_administer(queue, user, await groups_of(server, user)):
        what = f"queue {queue}" if queue else "the cluster"
        raise InputError(
            "access-denied",
            f"User {user} does not administer {what}: who may is said by yarn.admin.acl and the"
            " lists of the queues",
        )

"""The identity of callers and the checks that restrict calls to administrators.

The core authorizes changes to applications, and records the decision; this module only checks calls
that do not change the cluster's state. Without authentication the server listens on loopback and
trusts the claimed name, as Hadoop does without Kerberos; it looks up the groups itself.

GET /session tells a page who calls, so that it offers what the user may do; each call is authorized
again where it is handled.
"""

from collections.abc import Iterable

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.cluster import Caller
from fairshare.api.values import ActorBody
from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import SubmitApplication
from fairshare.core.model.work import Command
from fairshare.core.placement.rules import placed_as
from fairshare.errors import InputError
from fairshare.server.access.authentication import may_change, may_look
from fairshare.server.access.tokens import Identity
from fairshare.server.server import LiveServer
from fairshare.server.users.groups import own_user
from fairshare.server.web.answers import answer
from fairshare.server.web.audit import note
from fairshare.server.web.authentication import KEY
from fairshare.server.web.openapi.operation import get
from fairshare.server.web.requests import read_parameters, server_of

Actor = tuple[str, tuple[str, ...]]


async def groups_of(server: LiveServer, user: str) -> tuple[str, ...]:
    """A user's groups; a directory service may take its time to answer."""
    known = server.groups.remembered(user)
    return await run_in_threadpool(server.groups.of, user) if known is None else known


async def with_tagged_groups(
    server: LiveServer, submission: SubmitApplication
) -> SubmitApplication:
    """A submission with the groups of the user as whom it is placed, where a tag names one and the
    scheduler has such tags (`placement.tags`)."""
    settings = getattr(server.service.state, "settings", None)
    tagged = placed_as(getattr(settings, "tag_users", ()), submission.user, submission.tags)
    if tagged is None:
        return submission
    return msgspec.structs.replace(submission, tagged_groups=await groups_of(server, tagged))


def identity_of(request: Request) -> Identity | None:
    """The authenticated identity of the caller; None where authentication is off."""
    found = request.scope.get(KEY)
    return found if isinstance(found, Identity) else None


def questioner_of(request: Request) -> str:
    """As whom a caller has a share of the answers that take long: a user, or without
    authentication an address."""
    identity = identity_of(request)
    if identity is not None:
        return identity.user
    return "" if request.client is None else f"at {request.client.host}"


def caller_of(request: Request, named: str | None) -> str:
    """The calling user, or the user whom the call names: only administrators may name another user
    when authentication is on.

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
    """Whether the caller may see all users' events, with commands and environments: administrators
    of the cluster, or every caller where authentication is off."""
    identity = identity_of(request)
    if identity is None or identity.administrator:
        return True
    server = server_of(request)
    if identity.application is not None or not server.controls_access:
        return False
    return server.may_administer("", identity.user, await groups_of(server, identity.user))


async def check_account(server: LiveServer, user: str) -> None:
    """Raise InputError (`no-account`) for a user without a system account, where containers run
    under their user's account."""
    if server.settings.run_as != "user":
        return
    problem = await run_in_threadpool(server.engine.account_problem, user)
    if problem:
        raise InputError("no-account", problem)


async def check_commands(server: LiveServer, user: str, commands: Iterable[Command]) -> None:
    """Raise InputError (`cannot-run`) for a command that the engine cannot run for a user."""
    # Most commands are plain, and cost no thread.
    special = [command for command in commands if command.is_special]
    for command in special:
        problem = await run_in_threadpool(server.engine.command_problem, user, command)
        if problem:
            raise InputError("cannot-run", problem)


def check_claimed_groups(request: Request, groups: tuple[str, ...] | None) -> None:
    """Raise InputError (`access-denied`) if a caller claims groups while authentication is on:
    groups grant access to queues."""
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
    """The user who asks to change an application, with the groups if they can matter.

    The core sees an administrator by token as the system itself, and also a user in the
    application's own access list: the core only knows the lists of queues.
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
    """As `actor_of`, for a move: a caller that may change the application must also be allowed to
    submit to the target queue, or to administer it, by name or by group.

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


async def administrator_of(request: Request, body: ActorBody) -> Actor:
    """The administrator in whose name a change of the cluster is made, with groups where access is
    controlled."""
    server = server_of(request)
    user = believed_administrator(request, body.user)
    return user, await groups_of(server, user) if server.controls_access else ()


def believed_administrator(request: Request, named: str | None) -> str:
    """The user in whose name an administrator's order is carried out. The core checks that the user
    is an administrator, unless the token says so: then it is the server's own user, who always is
    one.

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
        f"{identity.user} is not an administrator: root is one on the Unix socket, and others are"
        " with a token made with --admin",
    )


async def check_administrator(request: Request, body: ActorBody, queue: str = "") -> None:
    """Raise InputError (`access-denied`) unless the caller administers the queue, or the
    cluster."""
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
            f"User {user} does not administer {what}: yarn.admin.acl and the"
            " lists of the queues name the administrators",
        )


async def show_caller(request: Request) -> Response:
    """GET /session: the name of the caller, if it is authenticated, and what it administers.

    `administrator`: the whole cluster. `administers`: queues, without those below one of them.
    Without authentication the caller has no name, and may do everything: a call is made in the name
    that it gives, or in that of the server's own user.
    """
    read_parameters(request)
    server = server_of(request)
    identity = identity_of(request)
    if identity is None:
        return answer(Caller(None, False, True, ()))
    user, everything = identity.user, identity.administrator
    administered: list[str] = []
    if not everything and server.controls_access:
        groups = await groups_of(server, user)
        everything = server.may_administer("", user, groups)
    if not everything and server.controls_access:
        for view in server.service.views.queues:
            below = any(view.name.startswith(f"{one}.") for one in administered)
            if not below and server.may_administer(view.name, user, groups):
                administered.append(view.name)
    return answer(Caller(user, True, everything, tuple(administered)))


ROUTES = [get("/session", show_caller, "administration", Caller)]

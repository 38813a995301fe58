"""Owns the path by which an ended application is submitted again."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api.applications import ResubmitBody, Submitted
from fairshare.errors import InputError
from fairshare.model.applications import Application
from fairshare.model.resubmission import again
from fairshare.web.actors import caller_of, groups_of, identity_of
from fairshare.web.applications import ONE, TAG, admitted
from fairshare.web.openapi.operation import post
from fairshare.web.requests import read_application, read_body, server_of


async def resubmit_application(request: Request) -> Response:
    """POST /applications/ID/resubmit: 201 with the id of the new application."""
    body = await read_body(request, ResubmitBody)
    application = read_application(request)
    await _check_owner(request, body.user, application)
    try:
        submission = again(application, failed=body.failed)
    except ValueError as error:
        raise InputError("cannot-resubmit", f"application {application.id}: {error}") from error
    if identity_of(request) is not None:  # those of today
        groups = await groups_of(server_of(request), application.user)
        submission = msgspec.structs.replace(submission, groups=groups)
    return await admitted(request, submission)


async def _check_owner(request: Request, named: str | None, application: Application) -> None:
    """Raise InputError (`access-denied`) unless the caller may submit in the owner's name: what
    runs has the owner's rights."""
    server = server_of(request)
    user, owner = caller_of(request, named), application.user
    identity = identity_of(request)
    if user == owner or (identity is not None and identity.administrator):
        return
    if identity is None and server.may_administer("", user, await groups_of(server, user)):
        return
    raise InputError(
        "access-denied",
        f"application {application.id} belongs to {owner}: only {owner} and administrators may"
        " submit it again",
    )


ROUTES = [post(f"{ONE}/resubmit", resubmit_application, TAG, ResubmitBody, Submitted, 201)]

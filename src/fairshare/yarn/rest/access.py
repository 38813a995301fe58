"""The authorization to view and to change an application (Hadoop: ApplicationACLsManager).

Its owner may, the users in its access lists, and the administrators of its queue or of the cluster.
Without access control (`yarn.acl.enable`) every caller may, as in Hadoop, unless authentication is
on: then its owner may, the users in its lists, and callers with a token made with `--admin`.
"""

from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairshare.core.model.applications import Application
from fairshare.server.access.authentication import listed
from fairshare.yarn.rest.callers import Caller, Rejected, identify
from fairshare.yarn.rest.errors import forbidden
from fairshare.yarn.rest.gateway import Gateway, gateway_of


def may_view(gateway: Gateway, caller: Caller, application: Application) -> bool:
    """Whether the caller may view more than the public part."""
    return _may(gateway, caller, application, application.submission.details.view_acl)


def sees_everything(gateway: Gateway, caller: Caller) -> bool:
    """Whether the caller may view all of every application, whoever owns it."""
    return caller.administrator or (not gateway.controls_access and not caller.proven)


def may_modify(gateway: Gateway, caller: Caller, application: Application) -> bool:
    """Whether the caller may kill, move and change it."""
    return _may(gateway, caller, application, application.submission.details.modify_acl)


def _may(gateway: Gateway, caller: Caller, application: Application, acl: str | None) -> bool:
    if caller.user == application.user or caller.administrator:
        return True
    if listed(acl, caller.user, caller.groups):
        return True
    if not gateway.controls_access:
        return not caller.proven
    scheduler = gateway.scheduler
    return scheduler.may_administer(
        application.queue, caller.user, caller.groups
    ) or scheduler.may_administer("", caller.user, caller.groups)


def is_administrator(gateway: Gateway, caller: Caller) -> bool:
    """Whether the caller administers the cluster."""
    if caller.administrator:
        return True
    if not gateway.controls_access:
        return not caller.proven
    return gateway.scheduler.may_administer("", caller.user, caller.groups)


def check_administrator(gateway: Gateway, caller: Caller) -> None:
    """Raise Refused (403) unless the caller administers the cluster."""
    if not is_administrator(gateway, caller):
        raise forbidden("Only admins can carry out this operation.")


async def checked_caller(request: Request, application: Application) -> Caller:
    """The caller of a page of an application. Raises HTTPException if the caller may not view the
    application, or tries to change it without permission."""
    try:
        caller = await identify(request)
    except Rejected as rejected:
        raise HTTPException(rejected.status, headers=dict(rejected.headers)) from None
    gateway = gateway_of(request)
    if not may_view(gateway, caller, application):
        raise HTTPException(403, f"{caller.user} may not look into this application")
    if request.method not in ("GET", "HEAD") and not may_modify(gateway, caller, application):
        raise HTTPException(403, f"{caller.user} may not change this application")
    return caller

"""What the calls of clients and administrators over Hadoop's RPC have in common: their user,
refusals as Hadoop's exceptions, and their lines of the audit log, one for each change and each
refusal of a caller.

A simple cluster believes its callers. `hadoop.proxyuser.*` lists the users that act for others, and
from where, as for the REST interface. The log is that of the web interfaces
(`server/access/audit.py`): `method` is RPC, `path` the protocol and its method, and `status` the
one that the refusal would have there.
"""

import asyncio
import inspect
from collections.abc import Set
from typing import Any

from fairshare.errors import InputError
from fairshare.server.access.audit import AuditEntry, instant, redacted
from fairshare.server.access.repeated_messages import INTERVAL_S
from fairshare.server.server import LiveServer
from fairshare.yarn.rest.callers import Caller, is_proxy, is_proxy_host
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.submission import LATER
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.wire.calls import (
    ACCESS_CONTROL,
    AUTHORIZATION,
    JAVA_ACCESS_CONTROL,
    NOT_ACTIVE,
    YARN,
    CallContext,
    Handler,
    Handlers,
    RpcError,
)
from fairshare.yarn.rpc.wire.messages import ApplicationIdProto


class Denied(RpcError):
    """The caller may not do it. Hadoop wraps that into a YarnException, whose message names the
    class; `of_application`: that of another package, as for changes of an application."""

    def __init__(self, message: str, *, of_application: bool = False) -> None:
        kind = JAVA_ACCESS_CONTROL if of_application else ACCESS_CONTROL
        super().__init__(YARN, f"{kind}: {message}")


def rpc_error(error: InputError) -> RpcError:
    """What a client gets whose input is refused."""
    return RpcError(NOT_ACTIVE if error.code in LATER else YARN, str(error))


def wrapped(class_name: str, message: str) -> RpcError:
    """An exception of Java inside a YarnException, as Hadoop sends those that it did not expect."""
    return RpcError(YARN, f"{class_name}: {message}")


async def caller_of(context: CallContext, gateway: Gateway) -> Caller:
    """The caller with groups. Raises RpcError for one that may not act for the other."""
    user = context.user
    if not user:
        raise RpcError(AUTHORIZATION, "the connection names no user")
    groups = await gateway.groups_of(user)
    acting = context.real_user
    if acting and acting != user:
        if not is_proxy(gateway.settings, acting, user, groups):
            raise RpcError(AUTHORIZATION, f"User: {acting} is not allowed to impersonate {user}")
        if not is_proxy_host(gateway.settings, acting, context.address):
            raise RpcError(
                AUTHORIZATION,
                f"Unauthorized connection for super-user: {acting} from IP {context.address}",
            )
    return Caller(user, groups, address=context.address)


REFUSALS_AT_ONCE = 200
"""The number of refusals of one address per interval that get a line; further ones are counted."""

_FORBIDDEN, _LATER, _WRONG, _DEFECT = 403, 503, 400, 500
_STATUS = {ACCESS_CONTROL: _FORBIDDEN, AUTHORIZATION: _FORBIDDEN, NOT_ACTIVE: _LATER}

_APPLICATION_FIELDS = ("application_id", "applicationId")
_OUTER_FIELDS = (
    "application_submission_context",
    "application_attempt_id",
    "container_id",
    "app_attempt_id",
)


def audited(server: LiveServer, handlers: Handlers, looking: Set[str]) -> Handlers:
    """The handlers with a line for each call. Methods of `looking` change nothing: they get one
    only for a caller who is refused as such."""
    return {
        (protocol, name): _audited(server, protocol, name, handler, changes=name not in looking)
        for (protocol, name), handler in handlers.items()
    }


def _audited(
    server: LiveServer, protocol: str, name: str, handler: Handler, *, changes: bool
) -> Handler:
    path = f"{protocol.rpartition('.')[2].removesuffix('PB')}/{name}"

    async def handle(context: CallContext, request: object) -> Any:
        status, code = 200, ""
        try:
            answer = handler(context, request)
            return await answer if inspect.isawaitable(answer) else answer
        except RpcError as error:
            class_name = ACCESS_CONTROL if isinstance(error, Denied) else error.class_name
            status = _STATUS.get(class_name, _WRONG)
            code = class_name.rpartition(".")[2]
            raise
        except BaseException:
            status = _DEFECT
            raise
        finally:
            if changes or status == _FORBIDDEN:
                _write(server, context, path, _application(request), status, code)

    return handle


def _write(
    server: LiveServer,
    context: CallContext,
    path: str,
    application: ApplicationIdProto | None,
    status: int,
    code: str,
) -> None:
    state = server.service.state
    user = context.user
    if context.real_user and context.real_user != user:
        user = f"{user} (by {context.real_user})"
    known = None
    if application is not None and application.cluster_timestamp == state.epoch_ms:
        known = state.applications.get(application.id)
    entry = AuditEntry(
        at=instant(server.service.now_ms()),
        method="RPC",
        path=path,
        status=status,
        user=redacted(user),
        address=context.address,
        application="" if application is None else records.application_text(application),
        queue="" if known is None else redacted(known.queue),
        code=code,
    )
    if status < _WRONG:
        server.audit.write(entry)
    elif server.audit.refuse(f"unknown at {context.address}", entry, REFUSALS_AT_ONCE):
        asyncio.get_running_loop().call_later(INTERVAL_S, server.audit.flush)


def _application(request: Any) -> ApplicationIdProto | None:
    """The ApplicationIdProto that a request names, wherever it has it."""
    fields = getattr(request, "DESCRIPTOR", None)
    if fields is None:
        return None
    for name in _APPLICATION_FIELDS:
        if name in fields.fields_by_name and request.HasField(name):
            application: ApplicationIdProto = getattr(request, name)
            return application
    for name in _OUTER_FIELDS:
        if name in fields.fields_by_name and request.HasField(name):
            return _application(getattr(request, name))
    return None

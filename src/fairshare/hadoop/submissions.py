"""Reads a submission of Hadoop's clients: ApplicationSubmissionContextProto to SubmitApplication.

Its fields are checked where those of the REST interface are (`web/yarn/submission.py`). The launch
context of the master, which has tokens, becomes a payload file that the journal only names.
"""

from typing import Any

import msgspec

from fairshare.hadoop.resources import resource_of
from fairshare.hadoop.wire.exceptions import INVALID_RESOURCE_REQUEST, YARN, RpcError
from fairshare.hadoop.wire.messages import ApplicationAccessTypeProto, ApplicationTimeoutTypeProto
from fairshare.model.inputs import SubmitApplication
from fairshare.model.resources import Resource
from fairshare.model.work import Command
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.errors import PlainRefusal, Refused
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.submission import read_submission

_VIEW = ApplicationAccessTypeProto.Value("APPACCESS_VIEW_APP")
_LIFETIME = ApplicationTimeoutTypeProto.Value("APP_TIMEOUT_LIFETIME")


def submission_of(context: Any, caller: Caller, gateway: Gateway) -> SubmitApplication:
    """The submission of a client. Raises RpcError for what is refused before it is recorded."""
    unmanaged = context.unmanaged_am
    master = None if unmanaged else _master(context, gateway)
    body: dict[str, Any] = {
        "queue": context.queue,
        "application-name": context.application_name,
        "application-type": context.applicationType,
        "application-tags": list(context.applicationTags),
        "priority": context.priority.priority if context.HasField("priority") else None,
        "unmanaged-AM": unmanaged,
        "max-app-attempts": context.maxAppAttempts,
        "reservation-id": "set" if context.HasField("reservation_id") else "",
        "keep-containers-across-application-attempts": (
            context.keep_containers_across_application_attempts
        ),
    }
    try:
        found = read_submission(gateway, body, caller, context.application_id.id)
    except (Refused, PlainRefusal) as refused:
        raise refusal_of(refused) from None
    launch = context.am_container_spec
    acls = {one.accessType: one.acl for one in launch.application_ACLs}
    others = {kind: acl for kind, acl in acls.items() if kind != _VIEW}
    details = msgspec.structs.replace(
        found.details,
        view_acl=acls.get(_VIEW),
        modify_acl=next(iter(others.values()), None),
        application_label=_label(context, "node_label_expression"),
        master_label=_master_label(context),
        must_unregister=True,
    )
    return msgspec.structs.replace(
        found,
        details=details,
        master=master,
        driver=None if unmanaged else _command(launch),
        prepared=not unmanaged,
        lifetime_s=_lifetime_s(context),
    )


def refusal_of(refused: Refused | PlainRefusal) -> RpcError:
    """A refusal of the REST interface, without the class names that its texts begin with."""
    if isinstance(refused, PlainRefusal):
        return RpcError(YARN, refused.message)
    message = str(refused)
    while message.startswith(("java.lang.", "org.apache.")):
        _, colon, rest = message.partition(": ")
        if not colon:
            break
        message = rest
    return RpcError(YARN, message)


def _master(context: Any, gateway: Gateway) -> Resource:
    """The size of the master's container: newer clients send a request, older ones a size."""
    state = gateway.scheduler.state
    message = context.resource
    if context.am_container_resource_request:
        message = context.am_container_resource_request[0].capability
    wanted = resource_of(message, state.types)
    most = gateway.yarn.configured_maximum(state)
    for name, amount, limit in zip(state.types.names, wanted, most, strict=True):
        if amount < 0 or amount > limit:
            what = "less than 0!" if amount < 0 else "greater than maximum allowed allocation."
            raise RpcError(
                INVALID_RESOURCE_REQUEST,
                "Invalid resource request! Cannot allocate containers as requested resource is"
                f" {what} Requested resource type=[{name}], Requested resource={amount},"
                f" maximum allowed allocation={limit}",
            )
    return wanted


def _command(launch: Any) -> Command:
    shown = "\n".join(launch.command)
    return Command(
        ("/bin/sh", "-c", shown), callable=launch.SerializeToString(), is_launch_context=True
    )


def _label(context: Any, field: str) -> str | None:
    return getattr(context, field) if context.HasField(field) else None


def _master_label(context: Any) -> str | None:
    for request in context.am_container_resource_request:
        if request.HasField("node_label_expression"):
            return str(request.node_label_expression)
    return None


def _lifetime_s(context: Any) -> int:
    for one in context.application_timeouts:
        if one.application_timeout_type == _LIFETIME and one.timeout > 0:
            return int(one.timeout)
    return 0

"""Reads a submission of Hadoop's clients: ApplicationSubmissionContextProto to SubmitApplication.

Its fields are checked where those of the REST interface are (`yarn/rest/submission.py`). The
launch context of the master, which has tokens, becomes a payload file that the journal only names.
"""

from typing import Any

from fairshare.core.model.inputs import SubmissionDetails, SubmitApplication
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import Command
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.submission import (
    DEFAULT_QUEUE,
    LONGEST_TYPE,
    NO_RESERVATIONS,
    NotAcceptable,
    WrongTag,
    check_access_lists,
    check_names,
    checked_tags,
)
from fairshare.yarn.rpc.resources import resource_of, too_large
from fairshare.yarn.rpc.user_calls import wrapped
from fairshare.yarn.rpc.wire.calls import ILLEGAL_ARGUMENT, INVALID_RESOURCE_REQUEST, YARN, RpcError
from fairshare.yarn.rpc.wire.messages import ApplicationAccessTypeProto, ApplicationTimeoutTypeProto

_ANYWHERE = "*"
_NAMES = ("queue", "application_name", "applicationType", "node_label_expression")
_VIEW = ApplicationAccessTypeProto.Value("APPACCESS_VIEW_APP")
_MODIFY = ApplicationAccessTypeProto.Value("APPACCESS_MODIFY_APP")
_LIFETIME = ApplicationTimeoutTypeProto.Value("APP_TIMEOUT_LIFETIME")


def submission_of(context: Any, caller: Caller, gateway: Gateway) -> SubmitApplication:
    """The submission of a client. Raises RpcError for what is refused before it is recorded."""
    _check_supported(context)
    unmanaged = context.unmanaged_am
    launch = context.am_container_spec
    acls = {one.accessType: one.acl for one in launch.application_ACLs}
    names = {field: getattr(context, field) for field in _NAMES}
    try:
        check_names({**names, "master's label": _master_label(context) or "", "user": caller.user})
        check_access_lists(acls.values())
        tags = checked_tags(context.applicationTags)
    except WrongTag as error:
        raise wrapped(ILLEGAL_ARGUMENT, str(error)) from None
    except NotAcceptable as error:
        raise RpcError(YARN, str(error)) from None
    return SubmitApplication(
        user=caller.user,
        queue=context.queue or DEFAULT_QUEUE,
        name=context.application_name,
        groups=caller.groups,
        priority=context.priority.priority if context.HasField("priority") else None,
        tags=tags,
        master=None if unmanaged else _master(context, gateway),
        driver=None if unmanaged else _command(launch),
        number=context.application_id.id,
        details=SubmissionDetails(
            type=context.applicationType[:LONGEST_TYPE],
            max_attempts=context.maxAppAttempts,
            view_acl=acls.get(_VIEW),
            modify_acl=acls.get(_MODIFY),
            application_label=_label(context, "node_label_expression"),
            master_label=_master_label(context),
            keep_containers=context.keep_containers_across_application_attempts,
            must_unregister=True,
        ),
        prepared=not unmanaged,
        lifetime_s=_lifetime_s(context),
    )


def _check_supported(context: Any) -> None:
    """Raise RpcError for what would be ignored, and must not be."""
    if context.HasField("reservation_id"):
        raise RpcError(YARN, NO_RESERVATIONS)
    if context.attempt_failures_validity_interval > 0:
        raise RpcError(
            YARN,
            "attempt_failures_validity_interval is not supported: all failed attempts count; leave"
            " it out (Spark: spark.yarn.am.attemptFailuresValidityInterval)",
        )
    for request in context.am_container_resource_request:
        if request.resource_name not in ("", _ANYWHERE):
            raise RpcError(
                YARN,
                f"the master's container is asked for on {request.resource_name!r}: it can be"
                " placed by its node label only",
            )


def _master(context: Any, gateway: Gateway) -> Resource:
    """The size of the master's container: newer clients send a request, older ones a size."""
    state = gateway.scheduler.state
    message = context.resource
    requests = context.am_container_resource_request
    if len(requests) > 1:
        raise RpcError(
            INVALID_RESOURCE_REQUEST,
            "Invalid resource request, only one resource request with * is allowed",
        )
    if requests:
        message = requests[0].capability
    elif not context.HasField("resource"):
        raise RpcError(INVALID_RESOURCE_REQUEST, "Invalid resource request, no resources requested")
    wanted = resource_of(message, state.types)
    refusal = too_large(wanted, gateway.yarn.configured_maximum(state), state.types)
    if refusal is not None:
        raise refusal
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
    found = 0
    for one in context.application_timeouts:
        if one.application_timeout_type == _LIFETIME:
            found = int(one.timeout)
            if found <= 0:
                raise RpcError(
                    YARN, f"Invalid application timeout, value={found} for type=LIFETIME"
                )
    return found

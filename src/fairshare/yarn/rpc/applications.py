"""What Hadoop's clients submit, and what they change: kill, move, priority, lifetime, signals.

The fields of an ApplicationSubmissionContextProto are checked where those of the REST interface are
(`yarn/rest/submission.py`), and the changes are those of the REST interface, too; here are Hadoop's
messages and its exceptions. The launch context of the master, which has tokens, becomes a payload
file that the journal only names. Source: Hadoop 3.4.1, ClientRMService.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import ContainerExited, SubmissionDetails, SubmitApplication
from fairshare.core.model.queues import LONGEST_NAME
from fairshare.core.model.resources import Resource
from fairshare.core.model.work import Command
from fairshare.errors import EngineError, InputError
from fairshare.yarn.rest import changes
from fairshare.yarn.rest.application_documents import instant_text, read_instant
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.diagnostics import NO_EXIT
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
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.container_reports import shortened
from fairshare.yarn.rpc.records import resource_of, too_large
from fairshare.yarn.rpc.user_calls import Denied, rpc_error, wrapped
from fairshare.yarn.rpc.wire.calls import (
    APPLICATION_NOT_FOUND,
    ILLEGAL_ARGUMENT,
    INVALID_RESOURCE_REQUEST,
    YARN,
    RpcError,
)
from fairshare.yarn.rpc.wire.messages import (
    ApplicationAccessTypeProto,
    ApplicationIdProto,
    ApplicationSubmissionContextProto,
    ApplicationTimeoutTypeProto,
    ContainerLaunchContextProto,
    FailApplicationAttemptRequestProto,
    FailApplicationAttemptResponseProto,
    KillApplicationRequestProto,
    KillApplicationResponseProto,
    MoveApplicationAcrossQueuesRequestProto,
    MoveApplicationAcrossQueuesResponseProto,
    SignalContainerCommandProto,
    SignalContainerRequestProto,
    SignalContainerResponseProto,
    UpdateApplicationPriorityRequestProto,
    UpdateApplicationPriorityResponseProto,
    UpdateApplicationTimeoutsRequestProto,
    UpdateApplicationTimeoutsResponseProto,
)

_ANYWHERE = "*"
_NAMES = ("queue", "application_name", "applicationType", "node_label_expression")
_VIEW = ApplicationAccessTypeProto.Value("APPACCESS_VIEW_APP")
_MODIFY = ApplicationAccessTypeProto.Value("APPACCESS_MODIFY_APP")
_LIFETIME = ApplicationTimeoutTypeProto.Value("APP_TIMEOUT_LIFETIME")


def submission_of(
    context: ApplicationSubmissionContextProto, caller: Caller, gateway: Gateway
) -> SubmitApplication:
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
            application_label=(
                context.node_label_expression if context.HasField("node_label_expression") else None
            ),
            master_label=_master_label(context),
            keep_containers=context.keep_containers_across_application_attempts,
            must_unregister=True,
            failures_validity_ms=max(0, context.attempt_failures_validity_interval),
        ),
        prepared=not unmanaged,
        lifetime_s=_lifetime_s(context),
    )


def _check_supported(context: ApplicationSubmissionContextProto) -> None:
    """Raise RpcError for what would be ignored, and must not be."""
    if context.HasField("reservation_id"):
        raise RpcError(YARN, NO_RESERVATIONS)
    for request in context.am_container_resource_request:
        if request.resource_name not in ("", _ANYWHERE):
            raise RpcError(
                YARN,
                f"the master's container is asked for on {request.resource_name!r}: it can be"
                " placed by its node label only",
            )


def _master(context: ApplicationSubmissionContextProto, gateway: Gateway) -> Resource:
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


def _command(launch: ContainerLaunchContextProto) -> Command:
    shown = "\n".join(launch.command)
    return Command(
        ("/bin/sh", "-c", shown), callable=launch.SerializeToString(), is_launch_context=True
    )


def _master_label(context: ApplicationSubmissionContextProto) -> str | None:
    for request in context.am_container_resource_request:
        if request.HasField("node_label_expression"):
            return str(request.node_label_expression)
    return None


def _lifetime_s(context: ApplicationSubmissionContextProto) -> int:
    lifetime_s = 0
    for one in context.application_timeouts:
        if one.application_timeout_type == _LIFETIME:
            lifetime_s = int(one.timeout)
            if lifetime_s <= 0:
                raise RpcError(
                    YARN, f"Invalid application timeout, value={lifetime_s} for type=LIFETIME"
                )
    return lifetime_s


FAILED_BY_USER = "Attempt failed by user."

_LONGEST_INSTANT = 40


class ApplicationChanges:
    """The handlers that change an application."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def kill(
        self, caller: Caller, request: KillApplicationRequestProto
    ) -> KillApplicationResponseProto:
        """forceKillApplication: clients repeat it until the application is over."""
        gateway = self._gateway
        try:
            application = self._application(request.application_id)
        except RpcError:
            name = records.application_text(request.application_id)
            raise RpcError(
                APPLICATION_NOT_FOUND, f"Trying to kill an absent application {name}"
            ) from None
        with _refusing(caller, request.application_id):
            words = shortened(request.diagnostics)
            killed = await changes.kill(gateway, caller, application, words)
        return KillApplicationResponseProto(is_kill_completed=not killed or application.over)

    async def move(
        self, caller: Caller, request: MoveApplicationAcrossQueuesRequestProto
    ) -> MoveApplicationAcrossQueuesResponseProto:
        """moveApplicationAcrossQueues."""
        application = self._application(request.application_id)
        queue = request.target_queue
        if not queue or len(queue) > LONGEST_NAME or not queue.isprintable():
            raise RpcError(YARN, f"{queue[:40]!r} cannot be the name of a queue")
        try:
            with _refusing(caller, request.application_id):
                await changes.move(self._gateway, caller, application, queue)
        except changes.NoAccessToTarget:
            raise Denied(
                f"User {caller.user} cannot submit applications to target queue or the target queue"
                f" doesn't exist: {queue} while moving"
                f" {records.application_text(request.application_id)}",
                of_application=True,
            ) from None
        return MoveApplicationAcrossQueuesResponseProto()

    async def set_priority(
        self, caller: Caller, request: UpdateApplicationPriorityRequestProto
    ) -> UpdateApplicationPriorityResponseProto:
        """updateApplicationPriority: the answer has the priority in force."""
        application = self._application(request.applicationId)
        wanted = request.applicationPriority.priority
        with _refusing(caller, request.applicationId):
            await changes.set_priority(self._gateway, caller, application, wanted)
        answer = UpdateApplicationPriorityResponseProto()
        answer.applicationPriority.priority = application.priority
        return answer

    async def set_timeouts(
        self, caller: Caller, request: UpdateApplicationTimeoutsRequestProto
    ) -> UpdateApplicationTimeoutsResponseProto:
        """updateApplicationTimeouts: the lifetime, which is the only kind; the last one counts."""
        application = self._application(request.applicationId)
        if not request.application_timeouts:
            raise RpcError(
                YARN,
                "At least one ApplicationTimeoutType should be configured for updating timeouts.",
            )
        with _refusing(caller, request.applicationId):
            changes.check_modify(self._gateway, caller, application)
            if not application.over:
                expires_ms = self._instant_ms(request.application_timeouts[-1].expire_time)
                await changes.set_expiry(self._gateway, caller, application, expires_ms)
        return UpdateApplicationTimeoutsResponseProto(
            application_timeouts=request.application_timeouts
        )

    def _instant_ms(self, text: str) -> int:
        """An instant, which must be in the future."""
        try:
            instant_ms = read_instant(text[:_LONGEST_INSTANT])
        except ValueError as error:
            raise RpcError(YARN, str(error)) from None
        now_ms = self._gateway.now_ms()
        if instant_ms < now_ms:
            raise RpcError(
                YARN,
                f"Expire time is less than current time, current-time={instant_text(now_ms)}"
                f" expire-time={instant_text(instant_ms)}",
            )
        return instant_ms

    async def signal(
        self, caller: Caller, request: SignalContainerRequestProto
    ) -> SignalContainerResponseProto:
        """signalToContainer: to a live container."""
        container_id = request.container_id
        absent = RpcError(
            YARN, f"Trying to signal an absent container {records.container_text(container_id)}"
        )
        container = records.container_of(container_id, self._gateway.scheduler.state.epoch_ms)
        if container is None:
            raise absent
        command = SignalContainerCommandProto.Name(request.command)
        with _refusing(caller, container_id.app_attempt_id.application_id):
            try:
                changes.signal(self._gateway, caller, container, command)
            except changes.NoSuchContainer:
                raise absent from None
            except EngineError as error:
                raise RpcError(YARN, str(error)) from None
        return SignalContainerResponseProto()

    async def fail_attempt(
        self, caller: Caller, request: FailApplicationAttemptRequestProto
    ) -> FailApplicationAttemptResponseProto:
        """failApplicationAttempt: its master's container ends, which counts as its failure."""
        gateway, attempt_id = self._gateway, request.application_attempt_id
        application = self._application(attempt_id.application_id)
        with _refusing(caller, attempt_id.application_id):
            changes.check_modify(gateway, caller, application)
        records.find_attempt(attempt_id, gateway.scheduler.state)
        answer = FailApplicationAttemptResponseProto()
        if application.over or attempt_id.attemptId != application.attempt.number:
            return answer
        if application.attempt.master is None:
            raise RpcError(
                YARN,
                f"{records.attempt_text(attempt_id)} has no container of a master that could end",
            )
        master = application.attempt.master
        try:
            await gateway.ask(ContainerExited(master, NO_EXIT, FAILED_BY_USER))
        except InputError as error:
            raise rpc_error(error) from None
        gateway.server.engine.stop(master)  # a reported exit alone stops nothing
        return answer

    def _application(self, wanted: ApplicationIdProto) -> Application:
        return records.find_application(wanted, self._gateway.scheduler.state)


@contextmanager
def _refusing(caller: Caller, application: ApplicationIdProto) -> Iterator[None]:
    """Make refusals of a change Hadoop's exceptions."""
    try:
        yield
    except changes.NoAccessToTarget:
        raise
    except changes.NotPermitted:
        name = records.application_text(application)
        raise Denied(
            f"User {caller.user} cannot perform operation MODIFY_APP on {name}", of_application=True
        ) from None
    except changes.NotPossible as error:
        raise RpcError(YARN, str(error)) from None
    except InputError as error:
        raise rpc_error(error) from None

"""What Hadoop's clients change of an application: kill, move, priority, lifetime, signals.

The changes are those of the REST interface (`yarn/rest/application_changes.py`); here are Hadoop's
messages and its exceptions. Source: Hadoop 3.4.1, ClientRMService.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fairshare.core.model.applications import Application
from fairshare.core.model.inputs import ContainerExited
from fairshare.core.model.queues import LONGEST_NAME
from fairshare.errors import EngineError, InputError
from fairshare.yarn.rest import application_changes as changes
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.diagnostics import NO_EXIT
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.timeouts import instant_text, read_instant
from fairshare.yarn.rpc import ids
from fairshare.yarn.rpc.container_reports import shortened
from fairshare.yarn.rpc.user_calls import Denied, rpc_error
from fairshare.yarn.rpc.wire.calls import APPLICATION_NOT_FOUND, YARN, RpcError
from fairshare.yarn.rpc.wire.messages import (
    FailApplicationAttemptResponseProto,
    KillApplicationResponseProto,
    MoveApplicationAcrossQueuesResponseProto,
    SignalContainerCommandProto,
    SignalContainerResponseProto,
    UpdateApplicationPriorityResponseProto,
    UpdateApplicationTimeoutsResponseProto,
)

FAILED_BY_USER = "Attempt failed by user."

_LONGEST_INSTANT = 40


class ApplicationChanges:
    """The handlers that change an application."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def kill(self, caller: Caller, request: Any) -> Any:
        """forceKillApplication: clients repeat it until the application is over."""
        gateway = self._gateway
        try:
            application = self._application(request.application_id)
        except RpcError:
            name = ids.application_text(request.application_id)
            raise RpcError(
                APPLICATION_NOT_FOUND, f"Trying to kill an absent application {name}"
            ) from None
        with _refusing(caller, request.application_id):
            words = shortened(request.diagnostics)
            killed = await changes.kill(gateway, caller, application, words)
        return KillApplicationResponseProto(is_kill_completed=not killed or application.over)

    async def move(self, caller: Caller, request: Any) -> Any:
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
                f" {ids.application_text(request.application_id)}",
                of_application=True,
            ) from None
        return MoveApplicationAcrossQueuesResponseProto()

    async def set_priority(self, caller: Caller, request: Any) -> Any:
        """updateApplicationPriority: the answer has the priority in force."""
        application = self._application(request.applicationId)
        wanted = request.applicationPriority.priority
        with _refusing(caller, request.applicationId):
            await changes.set_priority(self._gateway, caller, application, wanted)
        answer = UpdateApplicationPriorityResponseProto()
        answer.applicationPriority.priority = application.priority
        return answer

    async def set_timeouts(self, caller: Caller, request: Any) -> Any:
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

    async def signal(self, caller: Caller, request: Any) -> Any:
        """signalToContainer: to a live container."""
        wanted = request.container_id
        absent = RpcError(
            YARN, f"Trying to signal an absent container {ids.container_text(wanted)}"
        )
        container = ids.container_of(wanted, self._gateway.scheduler.state.epoch_ms)
        if container is None:
            raise absent
        command = SignalContainerCommandProto.Name(request.command)
        with _refusing(caller, wanted.app_attempt_id.application_id):
            try:
                changes.signal(self._gateway, caller, container, command)
            except changes.NoSuchContainer:
                raise absent from None
            except EngineError as error:
                raise RpcError(YARN, str(error)) from None
        return SignalContainerResponseProto()

    async def fail_attempt(self, caller: Caller, request: Any) -> Any:
        """failApplicationAttempt: its master's container ends, which counts as its failure."""
        gateway, wanted = self._gateway, request.application_attempt_id
        application = self._application(wanted.application_id)
        with _refusing(caller, wanted.application_id):
            changes.check_modify(gateway, caller, application)
        ids.find_attempt(wanted, gateway.scheduler.state)
        answer = FailApplicationAttemptResponseProto()
        if application.over or wanted.attemptId != application.attempt.number:
            return answer
        if application.attempt.master is None:
            raise RpcError(
                YARN, f"{ids.attempt_text(wanted)} has no container of a master that could end"
            )
        master = application.attempt.master
        await self._ask(ContainerExited(master, NO_EXIT, FAILED_BY_USER))
        gateway.server.engine.stop(master)  # a reported exit alone stops nothing
        return answer

    def _application(self, wanted: Any) -> Application:
        return ids.find_application(wanted, self._gateway.scheduler.state)

    async def _ask(self, given: Any) -> None:
        try:
            await self._gateway.ask(given)
        except InputError as error:
            raise rpc_error(error) from None


@contextmanager
def _refusing(caller: Caller, application: Any) -> Iterator[None]:
    """Make refusals of a change Hadoop's exceptions."""
    try:
        yield
    except changes.NoAccessToTarget:
        raise
    except changes.NotPermitted:
        name = ids.application_text(application)
        raise Denied(
            f"User {caller.user} cannot perform operation MODIFY_APP on {name}", of_application=True
        ) from None
    except changes.NotPossible as error:
        raise RpcError(YARN, str(error)) from None
    except InputError as error:
        raise rpc_error(error) from None

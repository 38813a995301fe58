"""What a caller changes of an application: kill, move, priority, lifetime, signals.

The REST interface and Hadoop's RPC call these functions; each words the refusals in its own way.
"""

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, application_name, application_of
from fairshare.core.model.inputs import (
    ChangeLifetime,
    KillApplication,
    MoveApplication,
    SetPriority,
)
from fairshare.core.model.queues import full_name
from fairshare.errors import FairshareError
from fairshare.yarn.rest.access import is_administrator, may_modify
from fairshare.yarn.rest.callers import Caller
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.states import public_state


class NotPermitted(FairshareError):
    """The caller may not do this to the application."""


class NoAccessToTarget(NotPermitted):
    """The caller may not put an application into the queue."""


class NotPossible(FairshareError):
    """The application, or the container, cannot be changed now."""


class NoSuchContainer(FairshareError):
    """The container is not there, or not there any more."""


def check_modify(gateway: Gateway, caller: Caller, application: Application) -> None:
    """Raise NotPermitted if the caller may not change the application."""
    if not may_modify(gateway, caller, application):
        name = application_name(gateway.scheduler.state.epoch_ms, application.id)
        raise NotPermitted(f"{caller.user} may not change {name}")


async def kill(gateway: Gateway, caller: Caller, application: Application, reason: str) -> bool:
    """Kill an application; False if it is over, or its master has reported its outcome.

    `reason`, if not empty, becomes part of its diagnostics. Raises NotPermitted, InputError.
    """
    check_modify(gateway, caller, application)
    if application.over or application.attempt.unregistered is not None:
        return False
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    text = f"Application {name} was killed by user {caller.user}"
    if caller.address:
        text += f" at {caller.address}"
    if reason:
        text += f" with diagnostic message: {reason}"
    await gateway.ask(KillApplication(application.id, text))
    return True


async def move(gateway: Gateway, caller: Caller, application: Application, queue: str) -> None:
    """Move an application to a queue, which may be given by its last part alone.

    Raises NotPermitted, NoAccessToTarget where the caller may neither submit to that queue nor
    administer it, NotPossible and InputError.
    """
    check_modify(gateway, caller, application)
    if queue == application.queue:
        return
    target = resolved(gateway, queue)
    scheduler = gateway.scheduler
    if gateway.controls_access and target in scheduler.state.queues:
        rights = target, caller.user, caller.groups
        allowed = scheduler.may_submit(*rights) or scheduler.may_administer(*rights)
        if not allowed and not is_administrator(gateway, caller):
            raise NoAccessToTarget(f"{caller.user} may not submit to {target}")
    word = public_state(application, gateway.attempt_history.of(application.id))
    if word not in ("ACCEPTED", "RUNNING"):
        raise NotPossible(f"App in {word} state cannot be moved.")
    await gateway.ask(MoveApplication(application.id, target))


def resolved(gateway: Gateway, queue: str) -> str:
    """The full name of a queue, which may be given by its last part alone."""
    state = gateway.scheduler.state
    for name in (queue, full_name(queue)):
        if name in state.queues:
            return name
    return gateway.yarn.queue_by_last_part(state, queue) or queue


async def set_priority(
    gateway: Gateway, caller: Caller, application: Application, priority: int
) -> None:
    """Set the priority of an application. One that is over keeps its own, as do all where the
    scheduler has no priorities. Raises NotPermitted, InputError."""
    check_modify(gateway, caller, application)
    ignored = application.over or not gateway.yarn.changes_priorities
    if not ignored and priority != application.priority:
        await gateway.ask(SetPriority(application.id, priority))


async def set_expiry(
    gateway: Gateway, caller: Caller, application: Application, expires_ms: int
) -> None:
    """Set when the lifetime of an application ends. Of one that is over nothing changes.

    Raises NotPermitted, InputError.
    """
    check_modify(gateway, caller, application)
    if not application.over:
        await gateway.ask(ChangeLifetime(application.id, expires_ms))


def signal(gateway: Gateway, caller: Caller, container: ContainerId, command: str) -> None:
    """Send a live container one of YARN's signals.

    Raises NoSuchContainer, NotPermitted, and EngineError if the container's engine has no such
    signal.
    """
    application = gateway.scheduler.state.applications.get(application_of(container))
    if application is None or container not in application.containers:
        raise NoSuchContainer(f"Trying to signal an absent container {container}")
    check_modify(gateway, caller, application)
    gateway.signal(container, command)

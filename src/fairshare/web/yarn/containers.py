"""Owns the path that signals a container (Hadoop: RMWebServices.signalToContainer)."""

from starlette.requests import Request

from fairshare.errors import EngineError
from fairshare.web.yarn.answering import Answer, YarnRoute
from fairshare.web.yarn.application_changes import NoSuchContainer, NotPermitted, signal
from fairshare.web.yarn.callers import Caller
from fairshare.web.yarn.errors import PlainRefusal, Refused
from fairshare.web.yarn.gateway import gateway_of
from fairshare.web.yarn.names import read_container_id

DUMP = "OUTPUT_THREAD_DUMP"
COMMANDS = (DUMP, "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN")


async def signal_container(request: Request, caller: Caller) -> Answer:
    """POST /containers/ID/signal/COMMAND."""
    gateway = gateway_of(request)
    text, command = request.path_params["container"], request.path_params["command"].upper()
    if command not in COMMANDS:
        raise PlainRefusal(
            400,
            f"Invalid command: {request.path_params['command']}, valid commands are:"
            f" [{', '.join(COMMANDS)}]",
        )
    if not text.startswith("container_"):
        raise PlainRefusal(500, f"Invalid ContainerId prefix: {text}")
    try:
        _, container = read_container_id(text)
    except Refused:
        raise PlainRefusal(500, f"Invalid ContainerId: {text}") from None
    try:
        signal(gateway, caller, container, command)
    except NoSuchContainer:
        raise PlainRefusal(500, f"Trying to signal an absent container {text}") from None
    except NotPermitted:
        raise PlainRefusal(500, f"User {caller.user} cannot signal container {text}") from None
    except EngineError as error:
        raise PlainRefusal(400, str(error)) from None
    return Answer()


ROUTES = [YarnRoute("/containers/{container}/signal/{command}", post=signal_container)]

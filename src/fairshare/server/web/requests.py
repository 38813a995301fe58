"""The reading of requests: the body within a size, the parameters, the names in the path.

An invalid request raises an InputError with a stable code; `faults.py` knows the statuses.
"""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from starlette.requests import Request

from fairshare.api.values import in_words
from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.identifiers import (
    NUMBER_MASK,
    ContainerId,
    application_name,
    application_of,
    attempt_of,
    container_name,
    parse_application,
    parse_container,
)
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError
from fairshare.server.server import LiveServer
from fairshare.server.web.limits import body_limit_bytes
from fairshare.server.web.openapi.operation import operation_of
from fairshare.wording import no_application, no_container

Body = TypeVar("Body", bound=msgspec.Struct)


def server_of(request: Request) -> LiveServer:
    """The server of the web application that handles the request."""
    server = request.app.state.server
    assert isinstance(server, LiveServer)
    return server


async def read_body(request: Request, form: type[Body]) -> Body:
    """The body as a structure; an empty body is read as `{}`.

    Raises InputError: `too-large`, or `bad-request` with the place of the problem.
    """
    content = bytearray()
    most_bytes = body_limit_bytes(request)
    async for chunk in request.stream():
        content += chunk
        if len(content) > most_bytes:
            raise InputError(
                "too-large",
                f"the body is larger than {most_bytes} bytes; put large data into a file, "
                "or submit several applications",
            )
    assert form is operation_of(request).body, "the route describes another body"
    try:
        return msgspec.json.decode(bytes(content) or b"{}", type=form)
    except msgspec.ValidationError as error:
        words = f"the body is not what is expected here: {in_words(error)}"
        raise InputError("bad-request", words) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("bad-request", f"the body is not JSON: {error}") from None


def read_parameters(request: Request) -> dict[str, str]:
    """The query parameters; a name that the route does not describe, or that is repeated, is
    refused."""
    names = operation_of(request).query
    parameters: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in names:
            known = ", ".join(names) or "none"
            raise InputError("bad-request", f"there is no parameter '{name}' here, only: {known}")
        if name in parameters:
            raise InputError("bad-request", f"the parameter '{name}' is given twice")
        parameters[name] = value
    return parameters


def whole_number(
    parameters: Mapping[str, str], name: str, default: int, most: int, least: int = 0
) -> int:
    """A parameter that is a whole number within bounds."""
    text = parameters.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 19):
        raise InputError("bad-request", f"{name}={text}: a whole number is needed")
    number = int(text)
    if not least <= number <= most:
        raise InputError("bad-request", f"{name}={text}: must be {least} to {most}")
    return number


def seconds(parameters: Mapping[str, str], name: str, default: float, most: float) -> float:
    """A parameter that is a time from 0 to `most` seconds."""
    text = parameters.get(name)
    if text is None:
        return default
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= most:
        raise InputError("bad-request", f"{name}={text}: must be 0 to {most:g} seconds")
    return number


def read_application(request: Request) -> Application:
    """The application that the path names, by its id or its number.

    Raises InputError (`unknown-application`).
    """
    text = request.path_params["application"]
    state: State = server_of(request).service.state
    number = parse_application(text)
    application = state.applications.get(number) if number is not None else None
    if application is None or text not in (
        str(application.id),
        application_name(state.epoch_ms, application.id),
    ):
        raise InputError(
            "unknown-application",
            no_application(text),
        )
    return application


def read_container(request: Request) -> ContainerId:
    """The container that the path names. Its application must be known; it may be forgotten itself.

    Raises InputError (`unknown-container`).
    """
    return container_of(request.path_params["container"], server_of(request).service.state)


def container_of(text: str, state: State) -> ContainerId:
    """The identifier of a container of this cluster; raises InputError (`unknown-container`)."""
    container = parse_container(text)
    if container is None or container_name(state.epoch_ms, container) != text:
        raise InputError("unknown-container", no_container(text))
    application = state.applications.get(application_of(container))
    if application is None or not _was_given(container, application.attempt):
        raise InputError("unknown-container", no_container(text))
    return container


def _was_given(container: ContainerId, attempt: Attempt) -> bool:
    """Whether the number of a container is one that this attempt, or one before it, has had."""
    number = container & NUMBER_MASK
    return number > 0 and (attempt_of(container), number) < (attempt.number, attempt.next_container)

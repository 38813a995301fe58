"""The routes of `/api/v1`: each is described where it is defined.

A route's description is what the OpenAPI document shows and what requests are held to: a query
parameter that it does not name is refused. Summary and words come from the function's docstring.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from fairshare.api import routes

TEXT: Final[dict[str, Any]] = {"type": "string"}
NUMBER: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
POSITIVE: Final[dict[str, Any]] = {"type": "integer", "minimum": 1}
SECONDS: Final[dict[str, Any]] = {"type": "number", "minimum": 0}

Endpoint = Callable[[Request], Awaitable[ASGIApp]]


class Parameter(msgspec.Struct, frozen=True):
    """A query parameter, or a header."""

    name: str
    text: str
    form: dict[str, Any] = msgspec.field(default_factory=lambda: dict(TEXT))
    place: str = "query"


AT: Final = Parameter("at", "An instant of the past in milliseconds.", NUMBER)


class Operation(msgspec.Struct, frozen=True):
    """The description of one operation.

    `answer` is the type of the JSON, or a tuple of the types that it may have, or a media type in
    place of JSON. `others` are further statuses other than refusals, and their meaning.
    """

    tag: str
    answer: Any
    parameters: tuple[Parameter, ...] = ()
    body: type[msgspec.Struct] | None = None
    status: int = 200
    others: dict[int, str] = {}
    takes_bytes: bool = False  # the body is bytes in place of JSON

    @property
    def answers(self) -> tuple[Any, ...]:
        """The types of the JSON; empty for another media type."""
        if isinstance(self.answer, str):
            return ()
        return self.answer if isinstance(self.answer, tuple) else (self.answer,)

    @property
    def query(self) -> tuple[str, ...]:
        """The names of the query parameters."""
        return tuple(one.name for one in self.parameters if one.place == "query")


KEY: Final = "fairshare.operation"
"""Where a request's scope has its operation."""


class ApiRoute(Route):
    """A path of `/api/v1` with its operation."""

    def __init__(self, path: str, endpoint: Endpoint, method: str, operation: Operation) -> None:
        super().__init__(path, endpoint, methods=[method])
        self.operation = operation

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As of Starlette; the request also knows its operation."""
        scope[KEY] = self.operation
        await super().handle(scope, receive, send)


def serve(
    route: routes.Route[Any],
    endpoint: Endpoint,
    tag: str,
    *parameters: Parameter,
    others: dict[int, str] | None = None,
) -> ApiRoute:
    """A route that clients call."""
    operation = Operation(
        tag,
        route.answer,
        parameters,
        route.body,
        route.status,
        others or {},
        takes_bytes=route.method == "PUT",
    )
    return ApiRoute(route.path, endpoint, route.method, operation)


def get(
    path: str,
    endpoint: Endpoint,
    tag: str,
    answer: Any,
    *parameters: Parameter,
    others: dict[int, str] | None = None,
) -> ApiRoute:
    """A route that reads."""
    return ApiRoute(path, endpoint, "GET", Operation(tag, answer, parameters, others=others or {}))


def post(
    path: str,
    endpoint: Endpoint,
    tag: str,
    body: type[msgspec.Struct],
    answer: object,
) -> ApiRoute:
    """A route that carries out an order."""
    return ApiRoute(path, endpoint, "POST", Operation(tag, answer, body=body))


def operation_of(request: Request) -> Operation:
    """The operation that a request asks for."""
    found = request.scope[KEY]
    assert isinstance(found, Operation)
    return found

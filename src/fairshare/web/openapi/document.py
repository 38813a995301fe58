"""Owns the OpenAPI 3.1 document of `/api/v1`, and the path that serves it."""

import inspect
import re
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fairshare import __version__
from fairshare.web.answers import answer
from fairshare.web.openapi.operation import Operation
from fairshare.web.openapi.table import OPERATIONS
from fairshare.web.requests import read_parameters

BASE: Final = "/api/v1"
REFERENCE: Final = "#/components/schemas/{name}"
_ABOUT_PATHS: Final = {
    "application": "The name of an application, or its number.",
    "container": "The name of a container.",
    "node": "The name of a node.",
    "stream": "`stdout` or `stderr`.",
    "version": "The number of a version.",
}


UNTOLD: Final = Operation("further", dict[str, Any])


class Refusal(msgspec.Struct):
    """Every refusal: the code is stable, the message says what to do."""

    code: str
    message: str


async def show_openapi(request: Request) -> Response:
    """GET /openapi.json: this description."""
    read_parameters(request)
    state = request.app.state
    if state.openapi is None:
        state.openapi = document_of(state.own_routes)
    return answer(state.openapi)


def document_of(routes: Iterable[Route]) -> dict[str, Any]:
    """The description of some routes. A route without a row in the table is described by its path
    and its docstring."""
    told = [
        (method.lower(), route, OPERATIONS.get((method, route.path), UNTOLD))
        for route in routes
        for method in sorted(route.methods or ())
        if method != "HEAD"
    ]
    types: list[Any] = [Refusal]
    types += [one.body for _, _, one in told if one.body is not None]
    types += [one.answer for _, _, one in told if not isinstance(one.answer, str)]
    schemas, components = msgspec.json.schema_components(
        types, schema_hook=_anything, ref_template=REFERENCE
    )
    known = iter(schemas[1:])
    bodies = [next(known) if one.body is not None else None for _, _, one in told]
    answers = [None if isinstance(one.answer, str) else next(known) for _, _, one in told]
    paths: dict[str, dict[str, Any]] = {}
    for (method, route, operation), body, content in zip(told, bodies, answers, strict=True):
        entry = _entry(route, operation, body, content)
        paths.setdefault(f"{BASE}{route.path}", {})[method] = entry
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "fairshare",
            "version": __version__,
            "description": "A cluster scheduler: applications, queues, nodes, configuration.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _entry(
    route: Route, operation: Operation, body: dict[str, Any] | None, content: dict[str, Any] | None
) -> dict[str, Any]:
    name = route.endpoint.__name__
    summary, description = words_of(route)
    media = operation.answer if isinstance(operation.answer, str) else "application/json"
    shown = {media: {"schema": content if content is not None else {"type": "string"}}}
    answers: dict[str, Any] = {
        str(operation.status): {"description": "As asked.", "content": shown},
        "default": {
            "description": "A refusal.",
            "content": {"application/json": {"schema": {"$ref": REFERENCE.format(name="Refusal")}}},
        },
    }
    for status, text in operation.others.items():
        answers[str(status)] = {"description": text, "content": shown}
    entry: dict[str, Any] = {
        "operationId": name,
        "tags": [operation.tag],
        "summary": summary,
        "description": description,
        "parameters": [*_of_path(route.path), *_of_query(operation)],
        "responses": dict(sorted(answers.items())),
    }
    if body is not None:
        # An empty body is read as `{}`.
        needed = any(field.required for field in msgspec.structs.fields(operation.body or Refusal))
        content_of_body = {"application/json": {"schema": body}}
        entry["requestBody"] = {"required": needed, "content": content_of_body}
    return entry


def _of_path(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _ABOUT_PATHS.get(name, f"The {name}."),
            "schema": {"type": "string"},
        }
        for name in re.findall(r"{(\w+)}", path)
    ]


def _of_query(operation: Operation) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "in": one.place, "description": one.text, "schema": one.form}
        for one in operation.parameters
    ]


def _anything(kind: type) -> dict[str, Any]:
    """The schema of a type for which msgspec has none: `object` is any JSON."""
    if kind is object:
        return {"description": "Any JSON."}
    raise NotImplementedError


def words_of(route: Route) -> tuple[str, str]:
    """The summary and the description of a route, from its function's docstring.

    `GET /a/ID: the newest first. With b.` has the summary `The newest first`.
    """
    text = " ".join((inspect.getdoc(route.endpoint) or "").split())
    _, _, words = text.partition(": ")
    words = words or route.endpoint.__name__.replace("_", " ")
    words = words[0].upper() + words[1:]
    return re.split(r"[.;:] |\.$", words)[0], words


ROUTES = [Route("/openapi.json", show_openapi)]

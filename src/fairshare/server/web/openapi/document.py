"""The OpenAPI 3.1 document of `/api/v1`, and the path that serves it."""

import inspect
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare import __version__
from fairshare.api.applications import Application, ApplicationRow, Reason, Task
from fairshare.api.cluster import Refusal
from fairshare.api.routes import BASE
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.tasks import TaskState
from fairshare.core.schedulers.reasons import Cause
from fairshare.server.web.answers import answer
from fairshare.server.web.openapi.operation import ApiRoute, Operation, get
from fairshare.server.web.requests import read_parameters

REFERENCE: Final = "#/components/schemas/{name}"
_ABOUT_PATHS: Final = {
    "application": "The name of an application, or its number.",
    "container": "The name of a container.",
    "node": "The name of a node.",
    "stream": "`stdout` or `stderr`.",
    "version": "The number of a version.",
}


_LEFT_OUT: Final = {("Refusal", "id")}
"""The fields of answers that are not always sent, beside those that may be UNSET."""

_WORDS: Final[dict[tuple[type[msgspec.Struct], str], type[StrEnum]]] = {
    (ApplicationRow, "state"): ApplicationState,
    (Application, "state"): ApplicationState,
    (Task, "state"): TaskState,
    (Reason, "cause"): Cause,
}
"""The words that this server sends in a field; clients also understand others."""


async def show_openapi(request: Request) -> Response:
    """GET /openapi.json: this description."""
    read_parameters(request)
    state = request.app.state
    if state.openapi is None:
        state.openapi = document_of(state.own_routes)
    return answer(state.openapi)


def document_of(routes: Sequence[ApiRoute]) -> dict[str, Any]:
    """The description of some routes."""
    operations = [route.operation for route in routes]
    of_bodies, components = _schemas([one.body for one in operations if one.body is not None])
    of_answers, shown = _schemas([Refusal, *(form for one in operations for form in one.answers)])
    for name, schema in shown.items():
        _complete(name, schema)
    components.update(shown)
    left_bodies, left_answers = iter(of_bodies), iter(of_answers[1:])
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        operation = route.operation
        body = None if operation.body is None else next(left_bodies)
        forms = [next(left_answers) for _ in operation.answers]
        content = {"anyOf": forms} if len(forms) > 1 else forms[0] if forms else None
        for method in sorted((route.methods or set()) - {"HEAD"}):
            entry = _entry(route, operation, body, content)
            paths.setdefault(f"{BASE}{route.path}", {})[method.lower()] = entry
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


def _schemas(types: Sequence[object]) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    return msgspec.json.schema_components(types, schema_hook=_anything, ref_template=REFERENCE)


def _complete(name: str, schema: dict[str, Any]) -> None:
    """Describe an answer as servers send it: every field is there, whatever clients do without,
    but for those that may be UNSET, which have neither a value nor a default."""
    fields: dict[str, Any] = schema.get("properties", {})
    needed = schema.get("required", ())
    schema["required"] = [
        field
        for field, form in fields.items()
        if (field in needed or "default" in form) and (name, field) not in _LEFT_OUT
    ]
    for field in fields.values():
        field.pop("default", None)
    for (kind, field), words in _WORDS.items():
        if kind.__name__ == name:
            fields[field]["enum"] = list(words)


def _entry(
    route: ApiRoute,
    operation: Operation,
    body: dict[str, Any] | None,
    content: dict[str, Any] | None,
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
    if operation.takes_bytes:
        octets = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        entry["requestBody"] = {"required": True, "content": octets}
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


def words_of(route: ApiRoute) -> tuple[str, str]:
    """The summary and the description of a route, from its function's docstring.

    `GET /a/ID: the newest first. With b.` has the summary `The newest first`.
    """
    text = " ".join((inspect.getdoc(route.endpoint) or "").split())
    _, _, words = text.partition(": ")
    words = words or route.endpoint.__name__.replace("_", " ")
    words = words[0].upper() + words[1:]
    return re.split(r"[.;:] |\.$", words)[0], words


ROUTES = [get("/openapi.json", show_openapi, "cluster", dict[str, Any])]

"""What release 1.0 of the REST interface had is there, in the same form.

`tests/data/rest-1.0.json.xz` is the description that 1.0 gave of itself. Later versions may add
paths, parameters, optional fields of bodies, and fields and words of answers; nothing else.
"""

import json
import lzma
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fairshare.server.web.app import ROUTES
from fairshare.server.web.openapi.document import document_of

FILE = Path(__file__).parents[3] / "data" / "rest-1.0.json.xz"
FROZEN = json.loads(lzma.decompress(FILE.read_bytes()))
PLAIN = ("type", "format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
"""Keys of a form that stay as they are."""

Document = dict[str, Any]


def breaks(old: Document, new: Document) -> list[str]:
    """How a description breaks the promises of another one."""
    found: list[str] = []
    for path, operations in old["paths"].items():
        for method, operation in operations.items():
            place = f"{method.upper()} {path}"
            now = new["paths"].get(path, {}).get(method)
            if now is None:
                found.append(f"{place} is gone")
            else:
                found += Comparison(old, new).operation(place, operation, now)
    return sorted(set(found))


class Comparison:
    """Two documents, whose forms are compared where an operation names them."""

    def __init__(self, old: Document, new: Document) -> None:
        self._documents = (old, new)
        self._seen: set[tuple[str, str, bool]] = set()

    def operation(self, place: str, old: Document, new: Document) -> Iterator[str]:
        parameters = {one["name"]: one for one in new["parameters"]}
        for one in old["parameters"]:
            if one["name"] not in parameters:
                yield f"{place}: the parameter {one['name']} is gone"
            else:
                now = parameters[one["name"]]["schema"]
                yield from self._form(f"{place}?{one['name']}", one["schema"], now, True)
        if not old.get("requestBody", {}).get("required") and new.get("requestBody", {}).get(
            "required"
        ):
            yield f"{place} needs a body"
        for media, content in old.get("requestBody", {}).get("content", {}).items():
            now = new["requestBody"]["content"][media]["schema"]
            yield from self._form(f"{place} body", content["schema"], now, True)
        for status, response in old["responses"].items():
            if status not in new["responses"]:
                yield f"{place}: {status} is gone"
                continue
            for media, content in response["content"].items():
                now = new["responses"][status]["content"][media]["schema"]
                yield from self._form(f"{place} {status}", content["schema"], now, False)

    def _form(self, place: str, old: Document, new: Document, sent: bool) -> Iterator[str]:
        """`sent`: a client sends it."""
        names = (old.get("$ref", ""), new.get("$ref", ""))
        if all(names):
            if (*names, sent) in self._seen:
                return
            self._seen.add((*names, sent))
        old, new = (
            document["components"]["schemas"][form["$ref"].rpartition("/")[2]]
            if "$ref" in form
            else form
            for document, form in zip(self._documents, (old, new), strict=True)
        )
        if any(old.get(key) != new.get(key) for key in PLAIN):
            yield f"{place} has another form"
        if sent and "enum" in old and not set(old["enum"]) <= set(new.get("enum", old["enum"])):
            yield f"{place} takes fewer words"
        fields, now = old.get("properties", {}), new.get("properties", {})
        for name, form in fields.items():
            if name not in now:
                yield f"{place}.{name} is gone"
            else:
                yield from self._form(f"{place}.{name}", form, now[name], sent)
        needed, needed_now = set(old.get("required", ())), set(new.get("required", ()))
        for name in sorted(needed_now - needed if sent else needed - needed_now):
            yield f"{place}.{name} is {'needed' if sent else 'not always there'}"
        for key in ("items", "additionalProperties"):
            if isinstance(old.get(key), dict) and isinstance(new.get(key), dict):
                yield from self._form(f"{place}[]", old[key], new[key], sent)
        if "anyOf" in old:
            choices = new.get("anyOf", [new])
            if len(choices) < len(old["anyOf"]):
                yield f"{place} has fewer forms"
            for before, after in zip(old["anyOf"], choices, strict=False):
                yield from self._form(place, before, after, sent)


def test_what_release_1_0_had_is_there() -> None:
    assert breaks(FROZEN, document_of(ROUTES)) == []


def changed(*place: str, to: object = None) -> Document:
    """The frozen document with something else at a place; None: nothing."""
    document = deepcopy(FROZEN)
    inner = document
    for name in place[:-1]:
        inner = inner[name]
    if to is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = to
    return document


SCHEMAS = ("components", "schemas")


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed("paths", "/api/v1/queues"), "GET /api/v1/queues is gone"),
        (changed(*SCHEMAS, "Queue", "properties", "weight"), "queues[].weight is gone"),
        (
            changed(*SCHEMAS, "Queue", "properties", "weight", to={"type": "string"}),
            "queues[].weight has another form",
        ),
        (changed(*SCHEMAS, "MoveBody", "required", to=["queue", "why"]), "body.why is needed"),
        (changed(*SCHEMAS, "Queue", "required", to=["name"]), ".weight is not always there"),
    ],
)
def test_a_broken_promise_is_found(document: Document, fault: str) -> None:
    assert any(fault in one for one in breaks(FROZEN, document))


def test_additions_break_nothing() -> None:
    document = changed(*SCHEMAS, "Queue", "properties", "more", to={"type": "string"})
    document["paths"]["/api/v1/more"] = document["paths"]["/api/v1/queues"]
    assert breaks(FROZEN, document) == []

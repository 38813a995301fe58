"""The description of the REST interface: complete, valid, and true."""

import json
import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from fairshare.core.model import invariants
from fairshare.core.model.identifiers import container_name
from fairshare.server.web.openapi.document import words_of
from fairshare.server.web.openapi.operation import ApiRoute

pytestmark = pytest.mark.anyio


@pytest.fixture
async def document(page):
    return (await page.get("/openapi.json")).json()


def routes_of(page):
    return page.http._transport.app.state.own_routes


@pytest.mark.slow
async def test_the_description_is_a_valid_one(document):
    validate(document, cls=OpenAPIV31SpecValidator)


async def test_every_route_describes_its_operation(page, document):
    for route in routes_of(page):
        assert isinstance(route, ApiRoute), f"{route.path}: write it with `get` or `post`"
        for method in route.methods - {"HEAD"}:
            assert method.lower() in document["paths"][f"/api/v1{route.path}"]


async def test_operations_have_names_of_their_own_and_words(page, document):
    names = [one["operationId"] for path in document["paths"].values() for one in path.values()]
    assert len(names) == len(set(names))
    for route in routes_of(page):
        summary, description = words_of(route)
        assert summary
        assert len(description) > 5, route.path


async def test_parameters_are_those_that_are_read(page, document):
    """A parameter that is not told is refused by name, and one that is told is not."""
    for path, operations in document["paths"].items():
        if "get" not in operations or "{" in path or path.endswith("/events"):
            continue
        reported = {p["name"] for p in operations["get"]["parameters"] if p["in"] == "query"}
        answer = await page.get(f"http://127.0.0.1:1{path}?no-such=1")
        if answer.status_code == 409:  # nothing of the kind here
            continue
        assert answer.status_code == 400, path
        known = answer.json()["message"].rpartition("only: ")[2]
        assert {name for name in re.split(", ", known) if name != "none"} == reported, path


def check(document, method, path, answer):
    """The answer has a status and a form that the description knows."""
    responses = document["paths"][path][method]["responses"]
    reported = responses.get(str(answer.status_code))
    if reported is None:
        assert answer.status_code >= 400, (path, answer.status_code)
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        reported = responses["default"]
    schema = reported["content"].get("application/json", {}).get("schema")
    if schema is not None:
        whole = {**schema, "components": document["components"]}
        jsonschema.Draft202012Validator(whole).validate(answer.json())


async def test_answers_have_the_documented_form(page, document):
    name = await page.submit(queue="a", tasks=[{"command": "x", "count": 9}])
    (container, *_) = await page.launched(4)
    page.engine.end(container)
    names = {
        "application": name,
        "container": container_name(page.server.service.state.epoch_ms, container),
        "stream": "stdout",
        "version": "1",
        "node": "n1",
        "queue": "root.a",
        "owner": "ann",
        "job": "nightly",
        "digest": "0" * 64,
    }
    seen = 0
    for path, operations in document["paths"].items():
        if "get" not in operations or path.endswith("/events"):
            continue
        answer = await page.get("http://127.0.0.1:1" + path.format(**names))
        check(document, "get", path, answer)
        seen += answer.status_code == 200
    assert seen >= 20
    for verb in ("drain", "undrain"):
        answer = await page.post(f"/admin/nodes/{verb}", json={"nodes": ["n1"]})
        assert answer.status_code == 200
        check(document, "post", f"/api/v1/admin/nodes/{verb}", answer)
    answer = await page.post(f"/applications/{name}/kill")
    check(document, "post", "/api/v1/applications/{application}/kill", answer)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)


def built(schema, document):
    """Values that a schema allows, and sometimes others."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        return st.one_of(*(built(one, document) for one in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            required = schema.get("required", [])
            fields = {name: built(one, document) for name, one in schema["properties"].items()}
            return st.fixed_dictionaries(
                {name: fields[name] for name in required},
                optional={name: one for name, one in fields.items() if name not in required},
            )
        case "object":
            values = schema.get("additionalProperties")
            inner = built(values, document) if isinstance(values, dict) else anything
            return st.dictionaries(st.sampled_from(["n1", "memory-mb", "x"]), inner, max_size=3)
        case "array":
            inner = built(schema["items"], document) if schema.get("items") else anything
            return st.lists(inner, min_size=schema.get("minItems", 0), max_size=3)
        case "integer":
            return st.integers(schema.get("minimum", -(2**63)), schema.get("maximum", 2**63 - 1))
        case "number":
            return st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "string":
            least = schema.get("minLength", 0)
            words = st.sampled_from(["root.a", "n1", "x", "ann", "1"])
            return words | st.text(min_size=least, max_size=max(least, 12))
        case _:
            return anything


def examples(strategy, count):
    """Some values of a strategy."""
    found = []

    @settings(max_examples=count, deadline=None, database=None)
    @given(strategy)
    def gather(value):
        found.append(value)

    gather()
    return found


@pytest.mark.slow
async def test_no_call_finds_a_defect(page, document):
    """Bodies that are allowed, and bodies that are not, to every path: no answer is a defect of the
    server, and each has the form that is told. Hypothesis prints what fails."""
    await page.submit(queue="a", tasks=[{"command": "x", "count": 9}])
    await page.launched(4)
    epoch_ms = page.server.service.state.epoch_ms
    names = {
        "application": st.sampled_from(["1", "2", "0", "application_1_0001", "x y"]),
        "container": st.sampled_from(
            [container_name(epoch_ms, container) for container in page.engine.orders] + ["x"]
        ),
        "stream": st.sampled_from(["stdout", "stderr", "other"]),
        "version": st.sampled_from(["1", "9", "x"]),
        "node": st.sampled_from(["n1", "x"]),
        "owner": st.sampled_from(["ann", "~"]),
        "job": st.sampled_from(["a", "x"]),
        "booking": st.sampled_from(["a", "x"]),
    }
    posts = [
        (path, operations["post"])
        for path, operations in document["paths"].items()
        if "post" in operations and not path.endswith("/shutdown")
    ]

    for path, operation in posts:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        calls = st.tuples(built(schema, document) | anything, st.fixed_dictionaries(names))
        for body, values in examples(calls, 8):
            url = "http://127.0.0.1:1" + path.format(**values)
            answer = await page.post(url, content=json.dumps(body))
            try:
                check(document, "post", path, answer)
            except Exception as error:
                raise AssertionError(f"POST {url} with {json.dumps(body)}: {error}") from error
    assert page.server.service.failure is None
    invariants.check(page.server.service.state)

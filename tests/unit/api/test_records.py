"""Server, clients and OpenAPI document have the same record for each request and each answer."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import fairshare
from fairshare.api.applications import ApplicationFields
from fairshare.api.nodes import Node
from fairshare.api.queues import QueueFields
from fairshare.api.work import ContainerRequest, Submission, TaskGroup
from fairshare.client import answers
from fairshare.client.answers import Decoded
from fairshare.client.calls import Call, Calls, CallTable
from fairshare.client.discovery import Server
from fairshare.client.driver import Driver
from fairshare.client.methods import method
from fairshare.core.schedulers.views import ApplicationView, QueueView
from fairshare.server.web.app import ROUTES
from fairshare.server.web.openapi.operation import Operation

METHODS = sorted(name for name, one in vars(CallTable).items() if isinstance(one, method))

ARGUMENTS: dict[str, tuple[object, ...]] = {
    "add_cron_job": ("nightly", "@daily", Submission()),
    "make_booking": ("course", "root.a", {"vcores": 1}, [(0, 1)]),
    "add_labels": ({"gpu": True},),
    "remove_labels": (["gpu"],),
    "label_nodes": ({"n1": "gpu"},),
    "order_nodes": ("drain", ["n1"]),
    "set_safe_mode": (True,),
    "change_configuration": ({},),
    "move": (1, "root.a"),
    "set_priority": (1, 2),
    "submit_whole": (Submission(),),
    "estimate": (Submission(),),
    "upload": (b"a call",),
}
"""The arguments of methods that need others than one name."""


def call_of(name: str) -> Call[object]:
    """A call as the client describes it."""
    calls = Calls(Server("http://127.0.0.1:1", "t"))
    describe = getattr(calls, name)
    needed = [
        one
        for one in inspect.signature(describe).parameters.values()
        if one.default is inspect.Parameter.empty
    ]
    call: Call[object] = describe(*ARGUMENTS.get(name, ("1",) * len(needed)))
    return call


def operation_of(path: str, verb: str) -> Operation:
    """The operation that the server has at a path."""
    found = [
        route.operation
        for route in ROUTES
        if route.path_regex.match(path) and verb in (route.methods or ())
    ]
    assert found, f"the server has no {verb} {path}"
    return found[0]


@pytest.mark.parametrize("name", METHODS)
def test_the_client_decodes_an_answer_into_the_class_that_the_server_describes(name):
    call = call_of(name)
    verb = "PUT" if call.content else "GET" if call.body is None else "POST"
    operation = operation_of(call.path, verb)
    decode = call.understand
    if call.whole or not isinstance(decode, Decoded):
        return
    for answer in operation.answers:
        if decode.form is answers.Properties:  # three answers in one class
            known = {one.name: one.type for one in msgspec.structs.fields(answers.Properties)}
            sent = {one.name: one.type for one in msgspec.structs.fields(answer)}
            assert sent.items() <= known.items()
        else:
            assert issubclass(decode.form, answer)
            assert decode.form.__struct_fields__ == answer.__struct_fields__


@pytest.mark.parametrize("name", METHODS)
def test_the_client_sends_the_body_that_the_server_describes(name):
    call = call_of(name)
    if call.body is not None:
        assert type(call.body) is operation_of(call.path, "POST").body


def test_a_decommission_sends_its_own_body():
    calls = Calls(Server("http://127.0.0.1:1", "t"))
    call = calls.order_nodes("decommission", ["n1"], timeout_ms=5)
    assert type(call.body) is operation_of(call.path, "POST").body


def test_a_driver_sends_the_bodies_that_the_server_describes(monkeypatch):
    sent: list[tuple[str, object]] = []
    driver = Driver(
        {
            "FAIRSHARE_URL": "http://127.0.0.1:1",
            "FAIRSHARE_TOKEN": "t",
            "FAIRSHARE_APPLICATION_ID": "application_1_0001",
        }
    )
    monkeypatch.setattr(driver.connection, "post", lambda path, body: sent.append((path, body)))
    driver.register()
    driver.request(ContainerRequest(count=1))
    driver.add_tasks(TaskGroup(command="x"))
    driver.launch("c", "x")
    driver.release(["c"])
    driver.finish()
    assert len(sent) == 6
    for path, body in sent:
        assert type(body) is operation_of(path, "POST").body


@pytest.mark.parametrize(
    ("fields", "view"), [(QueueFields, QueueView), (ApplicationFields, ApplicationView)]
)
def test_views_of_schedulers_have_the_fields_of_the_records(fields, view):
    assert view.__struct_fields__ == fields.__struct_fields__


def constructions(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """The places in the package where a class is called."""
    for path in Path(fairshare.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if f"{name}(" in text:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name:
                    yield path, node


@pytest.mark.parametrize(
    ("name", "fields", "measured"),
    [
        ("QueueView", QueueFields, set()),
        ("ApplicationView", ApplicationFields, set()),
        ("NodeRow", Node, {"gpus"}),
    ],
)
def test_a_view_is_made_with_each_field_that_is_never_none(name, fields, measured):
    """The records have defaults for clients; a scheduler that forgets a field must not use them."""
    always = {one.name for one in msgspec.structs.fields(fields) if one.default is not None}
    always -= measured
    found = list(constructions(name))
    assert found
    for path, call in found:
        missing = always - {keyword.arg for keyword in call.keywords}
        assert not missing, f"{path}:{call.lineno} does not give {sorted(missing)}"

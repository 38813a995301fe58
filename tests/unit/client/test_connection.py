import socket

import httpx
import pytest

from fairshare.client import AnswerNotUnderstood, Client, Node, Refused, ServerUnreachable
from fairshare.client.answers import listed, understood
from fairshare.errors import FairshareError, InputError


def test_without_a_server_the_message_says_how_to_start_one():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound, but it does not listen
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with Client(url) as client, pytest.raises(ServerUnreachable) as caught:
            client.nodes()
    assert str(caught.value) == f"no server at {url}: start one with `fairshare serve --conf DIR`"
    assert caught.value.url == url


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectTimeout("slow"), "no server at"),
        (httpx.ReadTimeout("slow"), "did not answer within 30 s"),
        (httpx.RemoteProtocolError("closed"), "broke off"),
        (httpx.ReadError("reset"), "broke off"),
    ],
)
def test_a_conversation_that_fails_is_a_server_that_cannot_be_reached(client, script, error, words):
    script.answers["/nodes"] = error
    with pytest.raises(ServerUnreachable, match=words):
        client.nodes()


def test_a_long_poll_is_waited_for_longer_than_it_takes(client, script):
    seen = []
    script.answers["/changes"] = lambda request: (
        seen.append(request.extensions["timeout"]["read"])
        or httpx.Response(200, json={"version": 2})
    )
    assert client.changes(1, 300) == 2
    assert seen == [330.0]


def test_a_refusal_keeps_its_code_its_status_and_its_words(client, script):
    body = {"code": "unknown-queue", "message": "no queue q", "id": "application_1_0001"}
    script.answers["/queues"] = httpx.Response(409, json=body)
    with pytest.raises(Refused, match=r"^no queue q$") as caught:
        client.queues()
    assert (caught.value.code, caught.value.status) == ("unknown-queue", 409)
    assert caught.value.application == "application_1_0001"
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, FairshareError)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(404, text="<h1>Not found</h1>"),
        httpx.Response(500, json={"error": "other"}),
        httpx.Response(302, headers={"Location": "/login"}),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={}),
        httpx.Response(200, json={"nodes": [{"rack": "/r"}]}),
        httpx.Response(200, json={"nodes": [{"name": "n", "total": 7}]}),
    ],
)
def test_an_answer_of_another_version_is_reported_as_such(client, script, answer):
    script.answers["/nodes"] = answer
    with pytest.raises(AnswerNotUnderstood, match="server"):
        client.nodes()


def test_what_a_newer_server_says_besides_is_passed_over():
    assert understood({"name": "n1", "colour": "red"}, Node).name == "n1"
    assert listed({"nodes": [{"name": "n1"}], "more": 1}, "nodes", Node) == (Node("n1"),)


def test_a_name_in_a_path_cannot_become_another_path(client, script):
    raw = []
    script.answers["/applications/../x?y/kill"] = lambda request: (
        raw.append(request.url.raw_path) or httpx.Response(200, json={})
    )
    client.kill("../x?y")
    assert raw == [b"/api/v1/applications/..%2Fx%3Fy/kill"]

"""A server that answers each path from a script, and clients of it."""

import json
from typing import Any

import httpx
import pytest

from fairshare.client import Client

URL = "http://127.0.0.1:8188"


class Script:
    """Answers by path. An answer is data, bytes, a response, an error, a function, or a list.

    Of a list each call takes the next, and the last one stays.
    """

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {"/changes": {"version": 1}, "/cluster": {}}
        self.calls: list[tuple[str, str, Any]] = []
        self.headers: list[httpx.Headers] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/api/v1")
        body = json.loads(request.content) if request.content else dict(request.url.params)
        self.calls.append((request.method, path, body))
        self.headers.append(request.headers)
        answer = self.answers.get(path)
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, BaseException):
            raise answer
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, httpx.Response):
            return answer
        if isinstance(answer, bytes):
            return httpx.Response(200, content=answer)
        if answer is None:
            return httpx.Response(404, json={"code": "unknown", "message": f"nothing at {path}"})
        return httpx.Response(200, json=answer)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def transport(script):
    return httpx.MockTransport(script)


@pytest.fixture
def client(transport, monkeypatch):
    monkeypatch.setenv("FAIRSHARE_USER", "ann")
    monkeypatch.delenv("FAIRSHARE_TOKEN", raising=False)
    with Client(URL, transport=transport) as client:
        client.pace_s = 0.0
        yield client

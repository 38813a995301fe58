"""`AsyncClient` does what `Client` does."""

import asyncio
import contextlib
import gc
import inspect
import weakref

import httpx
import pytest

import fairshare
from fairshare.client import Client
from fairshare.client.async_client import AsyncClient
from fairshare.client.errors import (
    AnswerNotUnderstood,
    ApplicationFailed,
    Refused,
    ServerUnreachable,
    WaitTimedOut,
)

URL = "http://127.0.0.1:8188"
APP = {"id": "application_1_0001", "state": "RUNNING"}
OVER = {**APP, "state": "FINISHED"}
PATH = "/applications/application_1_0001"


@pytest.fixture
def ask(transport, monkeypatch):
    """Runs a function of a client in a loop of its own."""
    monkeypatch.setenv("FAIRSHARE_USER", "ann")
    monkeypatch.delenv("FAIRSHARE_TOKEN", raising=False)

    def run(what):
        async def go():
            async with AsyncClient(URL, transport=transport) as client:
                client.pace_s = 0.0
                return await what(client)

        return asyncio.run(go())

    return run


def _public(kind):
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_it_has_the_methods_of_the_other_with_the_same_parameters():
    one, other = _public(Client), _public(AsyncClient)
    del one["call_when_over"]  # in a loop a task waits
    assert list(one) == list(other)
    for name in one:
        assert str(one[name].replace(return_annotation="")) == str(
            other[name].replace(return_annotation="")
        ), name


@pytest.mark.slow
def test_importing_the_package_brings_no_http_library_along():
    import subprocess
    import sys

    program = (
        "import sys, fairshare; assert not {'httpx', 'msgspec', 'asyncio'} & set(sys.modules);"
        "fairshare.AsyncClient; fairshare.Executor; fairshare.Client; assert 'httpx' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    with pytest.raises(AttributeError, match="nothing_such"):
        fairshare.nothing_such  # noqa: B018
    assert "Executor" in dir(fairshare)


def test_answers_become_the_same_data(script, ask):
    script.answers["/queues"] = {"queues": [{"name": "root"}, {"name": "root.a"}]}
    assert [queue.name for queue in ask(lambda client: client.queues())] == ["root", "root.a"]


def test_the_acting_user_is_sent_along(script, ask):
    script.answers[f"{PATH}/move"] = {}
    ask(lambda client: client.move("application_1_0001", "root.b"))
    assert script.calls == [("POST", f"{PATH}/move", {"queue": "root.b", "user": "ann"})]


def test_failures_have_the_same_names(script, ask):
    script.answers["/nodes"] = [
        httpx.Response(403, json={"code": "forbidden", "message": "no"}),
        httpx.Response(200, text="<html>"),
        httpx.ConnectError("nobody"),
        httpx.ReadTimeout("slow"),
    ]
    for kind in (Refused, AnswerNotUnderstood, ServerUnreachable, ServerUnreachable):
        with pytest.raises(kind):
            ask(lambda client: client.nodes())


def test_it_waits_over_a_restart_of_the_server(script, ask):
    script.answers[PATH] = [APP, httpx.ConnectError("away"), APP, OVER]
    assert ask(lambda client: client.wait("application_1_0001")).state == "FINISHED"
    assert script.answers[PATH] == [OVER]


def test_a_wait_ends_in_time(script, ask):
    script.answers[PATH] = APP
    with pytest.raises(WaitTimedOut):
        ask(lambda client: client.wait("application_1_0001", timeout_s=0.0))


@pytest.mark.slow
def test_a_map_that_fails_says_what_was_written(script, ask):
    script.answers["/applications"] = httpx.Response(201, json={"id": "application_1_0001"})
    script.answers[PATH] = {**APP, "state": "FAILED", "diagnostics": "too often"}
    container = {"id": "c1", "exit_code": 1, "state": "COMPLETE"}
    script.answers[f"{PATH}/containers"] = {"containers": [container]}
    script.answers["/containers/c1/logs/stderr"] = lambda request: httpx.Response(
        200, content=b"boom\n"[int(request.url.params["offset"]) :]
    )
    with pytest.raises(ApplicationFailed, match="boom"):
        ask(lambda client: client.map(abs, [1]))


def test_the_client_is_authenticated_by_the_file_with_the_token(script, ask, tmp_path, monkeypatch):
    file = tmp_path / "fairshare" / "token"
    file.parent.mkdir()
    file.write_text("fst_1_2\n")
    file.chmod(0o600)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("FAIRSHARE_USER", raising=False)
    script.answers[f"{PATH}/kill"] = {}
    ask(lambda client: client.kill("application_1_0001"))
    assert script.headers[-1]["authorization"] == "Bearer fst_1_2"
    assert script.calls[-1] == ("POST", f"{PATH}/kill", {})


@pytest.mark.slow
def test_a_map_that_is_cancelled_kills_its_application(script, ask):
    script.answers["/applications"] = httpx.Response(201, json={"id": "application_1_0001"})
    script.answers[PATH] = APP
    script.answers[f"{PATH}/kill"] = {}

    async def cancelled(client):
        client.pace_s = 60.0
        task = asyncio.create_task(client.map(abs, [1]))
        while (("GET", PATH, {})) not in script.calls:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    ask(cancelled)
    assert script.calls[-1][1] == f"{PATH}/kill"


@pytest.mark.slow
def test_a_map_that_timed_out_kills_its_application_even_if_it_is_cancelled_meanwhile(monkeypatch):
    monkeypatch.setenv("FAIRSHARE_USER", "ann")
    killed = []

    async def cancelled():
        asked = asyncio.Event()

        async def answer(request):
            path = request.url.path.removeprefix("/api/v1")
            if path == f"{PATH}/kill":
                asked.set()
                await asyncio.sleep(0.01)
                killed.append(path)
            answers = {"/cluster": {}, "/changes": {"version": 1}, PATH: APP}
            return httpx.Response(200, json=answers.get(path, {"id": "application_1_0001"}))

        async with AsyncClient(URL, transport=httpx.MockTransport(answer)) as client:
            task = asyncio.create_task(client.map(abs, [1], timeout_s=0.0))
            await asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            while not killed:
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(cancelled(), 10.0))


def test_a_log_that_grows_is_followed(script, ask):
    script.answers["/containers/c1/logs/stdout"] = [
        httpx.Response(200, content=b"one "),
        httpx.ConnectError("away"),
        httpx.Response(200, content=b"two", headers={"X-Fairshare-Complete": "true"}),
    ]

    async def followed(client):
        return b"".join([part async for part in client.follow_log("c1")])

    assert ask(followed) == b"one two"


def test_an_error_of_a_wait_is_freed_with_all_that_its_frames_hold(script, ask):
    class Held:
        pass

    def answer(request):
        raise httpx.ConnectError("away")

    async def wait(client):
        client.patience_s = 0
        held = Held()
        with contextlib.suppress(ServerUnreachable):
            await client.wait("application_1_0001")
        return weakref.ref(held)

    async def freed(client):
        return (await wait(client))() is None

    script.answers[PATH] = answer
    gc.disable()  # a cycle would be found by a collection only
    try:
        assert ask(freed)
    finally:
        gc.enable()

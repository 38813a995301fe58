import base64
import contextlib
import gc
import json
import subprocess
import sys
import threading
import weakref

import cloudpickle
import httpx
import pytest

from fairshare.client import (
    ApplicationFailed,
    Client,
    NotPicklable,
    Refused,
    ServerUnreachable,
    Submission,
    TaskGroup,
    WaitTimedOut,
)
from fairshare.client.callables import call_by_index, pickled

APPLICATION = "application_1700000000000_0007"
PATH = f"/applications/{APPLICATION}"
STOPPING = httpx.Response(503, json={"code": "stopping", "message": "ending"})


def state(word, **fields):
    return {"id": APPLICATION, "state": word, **fields}


def posted(script):
    return [(path, body) for method, path, body in script.calls if method == "POST"]


def test_what_is_not_said_is_not_sent(client, script):
    script.answers["/applications"] = {"id": APPLICATION, "state": "PENDING"}
    group = TaskGroup(name="a", count=2, resources={"memory-mb": 1}, arguments=("true",))
    assert client.submit(Submission(tasks=(group,))) == APPLICATION
    assert posted(script) == [
        (
            "/applications",
            {
                "user": "ann",
                "tasks": [
                    {
                        "name": "a",
                        "count": 2,
                        "resources": {"memory-mb": 1},
                        "arguments": ["true"],
                    }
                ],
            },
        )
    ]


def test_a_call_is_one_request(client, script):
    calls = {
        f"{PATH}/kill": lambda: client.kill(APPLICATION, "why"),
        f"{PATH}/move": lambda: client.move(APPLICATION, "root.b"),
        f"{PATH}/priority": lambda: client.set_priority(APPLICATION, 3),
        "/containers/c1/stop": lambda: client.stop_container("c1"),
        "/shutdown": lambda: client.shutdown(stop_containers=True),
        "/admin/refresh-queues": lambda: client.refresh_queues(),
    }
    for path, call in calls.items():
        script.answers[path] = {}
        call()
    assert posted(script) == list(
        zip(
            calls,
            [
                {"diagnostics": "why", "user": "ann"},
                {"queue": "root.b", "user": "ann"},
                {"priority": 3, "user": "ann"},
                {"user": "ann"},
                {"stop_containers": True, "user": "ann"},
                {"user": "ann"},
            ],
            strict=True,
        )
    )


def test_lists_are_asked_for_with_their_filters(client, script):
    script.answers["/applications"] = {"applications": [state("RUNNING", containers=2)]}
    found = client.applications(state="RUNNING", queue="root.a", limit=3)
    assert [(each.id, each.container_count, each.over) for each in found] == [
        (APPLICATION, 2, False)
    ]
    assert script.calls == [
        ("GET", "/applications", {"state": "RUNNING", "queue": "root.a", "limit": "3"})
    ]


def test_waiting_ends_when_the_application_is_over(client, script):
    script.answers["/changes"] = [{"version": 3}, {"version": 4}, {"version": 9}]
    script.answers[PATH] = [state("PENDING"), state("RUNNING"), state("FINISHED")]
    assert client.wait(APPLICATION).state == "FINISHED"
    polls = [given for _, path, given in script.calls if path == "/changes"]
    assert polls == [
        {"since": "0", "timeout": "0"},
        {"since": "3", "timeout": "30"},
        {"since": "4", "timeout": "30"},
    ]


def test_a_function_of_the_program_is_called_when_an_application_is_over(client, script):
    script.answers["/changes"] = [{"version": 3}, {"version": 4}]
    script.answers[PATH] = [state("RUNNING"), state("FAILED")]
    ended = []
    client.call_when_over(APPLICATION, ended.append).join(10)
    assert [application.state for application in ended] == ["FAILED"]


def test_the_version_is_asked_before_the_application_so_that_no_change_is_missed(client, script):
    script.answers[PATH] = state("FINISHED")
    client.wait(APPLICATION)
    assert [path for _, path, _ in script.calls] == ["/changes", PATH]


def test_waiting_has_an_end_if_one_is_given(client, script):
    script.answers[PATH] = state("RUNNING")
    with pytest.raises(WaitTimedOut, match=f"fairshare kill {APPLICATION}") as caught:
        client.wait(APPLICATION, timeout_s=0)
    assert isinstance(caught.value, TimeoutError)


def test_waiting_outlives_a_server_that_restarts(client, script):
    script.answers["/changes"] = [
        {"version": 900},
        STOPPING,
        httpx.ConnectError("refused"),
        {"version": 2},
    ]
    script.answers[PATH] = [state("RUNNING"), state("FINISHED")]
    assert client.wait(APPLICATION).state == "FINISHED"
    since = [given["since"] for _, path, given in script.calls if path == "/changes"]
    assert since == ["0", "900", "0", "0"]


def test_waiting_for_a_server_that_stays_away_fails(client, script):
    script.answers["/changes"] = [{"version": 1}, httpx.ConnectError("refused")]
    script.answers[PATH] = state("RUNNING")
    client.patience_s = 0
    with pytest.raises(ServerUnreachable):
        client.wait(APPLICATION)


def test_waiting_for_a_server_that_was_never_there_fails_at_once(client, script):
    script.answers["/changes"] = httpx.ConnectError("refused")
    with pytest.raises(ServerUnreachable):
        client.wait(APPLICATION)
    assert len(script.calls) == 1


def test_waiting_for_what_is_not_there_fails_at_once(client):
    with pytest.raises(Refused, match="nothing at"):
        client.wait(APPLICATION)


@pytest.fixture
def cluster_of_one(script, monkeypatch):
    """Runs the callable of every task at once, in this process, as an engine would."""

    def submit(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        group = body["tasks"][0]
        tasks = []
        for index in reversed(range(group["count"])):
            monkeypatch.setenv("FAIRSHARE_TASK_INDEX", str(index))
            function, arguments, keywords = cloudpickle.loads(base64.b64decode(group["callable"]))
            container = f"container_{index}"
            script.answers[f"/containers/{container}/result"] = cloudpickle.dumps(
                function(*arguments, **keywords)
            )
            tasks.append(
                {"group": "map", "index": index, "state": "SUCCEEDED", "container": container}
            )
        script.answers[f"{PATH}/tasks"] = {"tasks": tasks}
        script.answers[PATH] = state("FINISHED")
        return httpx.Response(201, json={"id": APPLICATION, "state": "PENDING"})

    script.answers["/applications"] = submit


@pytest.mark.slow
@pytest.mark.usefixtures("cluster_of_one")
def test_map_gives_the_results_in_the_order_of_the_items(client, script):
    offset = 100
    results = client.map(lambda number: number + offset, range(5), queue="root.a", name="sum")
    assert results == [100, 101, 102, 103, 104]
    _, body = posted(script)[0]
    assert (body["name"], body["queue"], body["tasks"][0]["count"]) == ("sum", "root.a", 5)


def test_map_of_nothing_sends_no_request(client, script):
    assert client.map(str, []) == []
    assert script.calls == []


def failing(script):
    log = "Traceback\nValueError: 3 is no item\n"
    failed = {"id": "c9", "state": "COMPLETE", "exit_code": 1, "finished_ms": 5}
    script.answers |= {
        "/applications": {"id": APPLICATION, "state": "PENDING"},
        PATH: state("FAILED", diagnostics="map/3 failed 4 times"),
        f"{PATH}/containers": {"containers": [{**failed, "id": "c1", "finished_ms": 1}, failed]},
        "/containers/c9/logs/stderr": lambda request: httpx.Response(
            200, content=log.encode()[int(request.url.params["offset"]) :]
        ),
    }


@pytest.mark.slow
def test_map_raises_with_the_last_lines_of_what_failed(client, script):
    failing(script)
    with pytest.raises(ApplicationFailed) as caught:
        client.map(str, [1])
    assert caught.value.application == APPLICATION
    assert caught.value.state == "FAILED"
    assert str(caught.value) == (
        f"{APPLICATION} ended as FAILED: map/3 failed 4 times\n"
        "The last lines of its last failure:\nTraceback\nValueError: 3 is no item"
    )


@pytest.mark.slow
def test_last_lines_that_the_diagnostics_contain_are_not_repeated(client, script):
    failing(script)
    script.answers[PATH] = state("FAILED", diagnostics="exit code 1: ValueError: 3 is no item")
    with pytest.raises(ApplicationFailed, match=r"3 is no item$") as caught:
        client.map(str, [1])
    assert "last lines" not in str(caught.value)
    assert caught.value.log.startswith("Traceback")


@pytest.mark.slow
def test_a_failure_is_reported_even_without_its_logs(client, script):
    failing(script)
    del script.answers["/containers/c9/logs/stderr"]
    with pytest.raises(ApplicationFailed, match=r"failed 4 times$"):
        client.map(str, [1])


@pytest.mark.slow
@pytest.mark.parametrize("end", [KeyboardInterrupt(), httpx.ReadError("reset")])
def test_map_that_ends_early_kills_its_application(client, script, end):
    client.patience_s = 0
    script.answers |= {
        "/applications": {"id": APPLICATION, "state": "PENDING"},
        PATH: [state("RUNNING"), end],
        f"{PATH}/kill": {},
    }
    with pytest.raises((KeyboardInterrupt, ServerUnreachable)):
        client.map(str, [1])
    assert posted(script)[-1][0] == f"{PATH}/kill"


def test_a_call_that_cannot_be_pickled_is_refused_before_anything_is_submitted(client, script):
    lock = threading.Lock()
    with pytest.raises(NotPicklable, match="have to be made inside of the call"):
        client.map(lambda _: lock.locked(), [1])
    assert script.calls == []


def test_an_unreadable_result_raises_an_error(client, script):
    script.answers["/containers/c1/result"] = b"\x80nonsense"
    with pytest.raises(NotPicklable, match="the result of c1 cannot be read here"):
        client.result("c1")


def test_a_callable_runs_where_fairshare_is_not_installed(tmp_path):
    factor = 3
    data = pickled(call_by_index(lambda number: number * factor, [1, 2, 4]))
    (tmp_path / "call").write_bytes(data)
    script = (
        "import sys, pickle, pathlib\n"
        "sys.modules['fairshare'] = None\n"  # makes an import of it fail
        "function, arguments, keywords = pickle.loads(pathlib.Path('call').read_bytes())\n"
        "print(function(*arguments, **keywords))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"FAIRSHARE_TASK_INDEX": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "12\n"


def test_a_client_without_a_server_says_so(monkeypatch, tmp_path):
    monkeypatch.delenv("FAIRSHARE_URL", raising=False)
    monkeypatch.setenv("FAIRSHARE_STATE", str(tmp_path))
    with pytest.raises(ServerUnreachable, match="no server is known"):
        Client()


@pytest.mark.parametrize("end", [ServerUnreachable, KeyboardInterrupt])
def test_an_error_of_a_wait_is_freed_with_all_that_its_frames_hold(client, script, end):
    def answer(request):
        raise httpx.ConnectError("away") if end is ServerUnreachable else end

    class Held:
        pass

    def wait():
        held = Held()
        with contextlib.suppress(end):
            client.wait(APPLICATION)
        return weakref.ref(held)

    client.patience_s = 0
    script.answers[PATH] = answer
    gc.disable()  # a cycle would be found by a collection only
    try:
        assert wait()() is None
    finally:
        gc.enable()

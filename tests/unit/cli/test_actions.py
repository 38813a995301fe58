import json

import httpx
import pytest

from fairshare.cli import shutdown

ONE, TWO = "application_1700000000000_0001", "application_1700000000000_0002"
REFUSED = {"code": "unknown-application", "message": "there is no such application"}


def test_kill_ends_each_application(run, cluster):
    cluster.answers |= {f"/applications/{ONE}/kill": {}, "/applications/2/kill": {}}
    result = run("kill", ONE, "2", "--diagnostics", "too long")
    assert (result.exit_code, result.stdout) == (0, f"killed {ONE}\nkilled 2\n")
    reason = {"diagnostics": "too long", "user": "ann"}
    assert cluster.posted() == [
        (f"/applications/{ONE}/kill", reason),
        ("/applications/2/kill", reason),
    ]


def test_kill_goes_on_after_one_that_cannot_be_ended(run, cluster):
    cluster.answers[f"/applications/{TWO}/kill"] = {}
    result = run("kill", ONE, TWO)
    assert (result.exit_code, result.stdout) == (1, f"killed {TWO}\n")
    assert result.stderr.startswith(f"Error: {ONE}: there is nothing at ")


@pytest.mark.parametrize("name", ["", ".", ".."])
@pytest.mark.parametrize("verb", ["status", "why", "kill", "logs"])
def test_what_names_nothing_is_asked_of_nobody(run, cluster, verb, name):
    cluster.calls.clear()
    result = run(verb, name)
    assert result.exit_code == 1
    assert f"{name!r} names nothing" in result.stderr
    assert cluster.calls == []


def test_a_refusal_says_once_whom_it_is_about(run, cluster):
    message = "there is no application '7' (any more)"
    refused = REFUSED | {"message": message}
    cluster.answers["/applications/7/kill"] = httpx.Response(404, json=refused)
    assert run("kill", "7").stderr == f"Error: {message}\n"


def test_kill_tells_each_outcome_as_json(run, cluster):
    cluster.answers |= {
        f"/applications/{ONE}/kill": httpx.Response(404, json=REFUSED),
        f"/applications/{TWO}/kill": {},
    }
    result = run("kill", "--json", ONE, TWO)
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "applications": [
            {"id": ONE, "killed": False, "message": "there is no such application"},
            {"id": TWO, "killed": True},
        ]
    }


def test_an_odd_name_stays_one_part_of_the_path(run, cluster):
    seen = []
    cluster.answers["/applications/../shutdown/kill"] = lambda request: (
        seen.append(request.url.raw_path) or httpx.Response(404, json=REFUSED)
    )
    assert run("kill", "../shutdown").exit_code == 1
    assert seen == [b"/api/v1/applications/..%2Fshutdown/kill"]


def test_stop_container_ends_each_container(run, cluster):
    cluster.answers |= {"/containers/c1/stop": {}, "/containers/c2/stop": {}}
    result = run("stop-container", "c1", "c2")
    assert (result.exit_code, result.stdout) == (0, "stopped c1\nstopped c2\n")


def test_move_names_the_new_queue(run, cluster):
    cluster.answers["/applications/7/move"] = {}
    result = run("move", "7", "root.default")
    assert (result.exit_code, result.stdout) == (0, "moved 7 to root.default\n")
    assert cluster.posted() == [("/applications/7/move", {"queue": "root.default", "user": "ann"})]
    answer = json.loads(run("move", "--json", "7", "root.default").stdout)
    assert answer == {"id": "7", "queue": "root.default"}


@pytest.mark.parametrize(
    ("options", "body"),
    [
        ([], {}),
        (["--stop-containers"], {"stop_containers": True}),
        (["--keep-containers"], {"stop_containers": False}),
    ],
)
def test_shutdown_says_what_becomes_of_containers(run, cluster, options, body):
    cluster.answers |= {"/shutdown": {}, "/changes": httpx.ConnectError("refused")}
    result = run("shutdown", *options)
    assert result.exit_code == 0
    assert result.stdout == "the server at http://127.0.0.1:8188 has ended\n"
    assert cluster.posted() == [("/shutdown", {**body, "user": "ann"})]


def test_shutdown_says_what_keeps_running(run, cluster):
    left = {"stop_containers": False, "applications": 2, "containers": 5}
    cluster.answers |= {"/shutdown": left, "/changes": httpx.ConnectError("refused")}
    assert run("shutdown").stdout == (
        "the server at http://127.0.0.1:8188 has ended\n"
        "2 applications with 5 containers keep running.\n"
        "The next start takes them over; --stop-containers ends them.\n"
    )
    cluster.answers["/shutdown"] = {**left, "stop_containers": True}
    assert "keep running" not in run("shutdown").stdout


def test_shutdown_waits_until_nobody_answers(run, cluster, monkeypatch):
    monkeypatch.setattr(shutdown, "PACE_S", 0)
    stopping = httpx.Response(503, json={"code": "stopping", "message": "the server is ending"})
    cluster.answers |= {
        "/shutdown": {},
        "/changes": [{"version": 1}, stopping, httpx.ConnectError("refused")],
    }
    assert run("shutdown").exit_code == 0
    assert len(cluster.calls) == 4


def test_shutdown_does_not_wait_for_ever(run, cluster, monkeypatch):
    monkeypatch.setattr(shutdown, "PATIENCE_S", 0.01)
    monkeypatch.setattr(shutdown, "PACE_S", 0)
    cluster.answers["/shutdown"] = {}
    result = run("shutdown")
    assert result.exit_code == 1
    assert "still answers" in result.stderr


def test_shutdown_need_not_wait(run, cluster):
    cluster.answers["/shutdown"] = {}
    result = run("shutdown", "--no-wait", "--json")
    assert json.loads(result.stdout) == {
        "url": "http://127.0.0.1:8188",
        "ended": False,
        "stop_containers": False,
        "applications": 0,
        "containers": 0,
    }
    assert len(cluster.calls) == 1

import json
from types import SimpleNamespace

import httpx
import pytest

from fairshare.cli import orders, shutdown

from .conftest import application, application_name

ONE, TWO = application_name(1), application_name(2)
ADS = "root.research.ads"
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


def test_kill_ends_one_task_of_an_application(run, cluster):
    cluster.answers |= {"/applications/12/kill": {}}
    result = run("kill", "12/3", "12/map/4")
    assert (result.exit_code, result.stdout) == (0, "killed 12/3\nkilled 12/map/4\n")
    assert cluster.posted() == [
        ("/applications/12/kill", {"task": "3", "user": "ann"}),
        ("/applications/12/kill", {"task": "map/4", "user": "ann"}),
    ]


def test_kill_goes_on_after_one_that_cannot_be_ended(run, cluster):
    cluster.answers[f"/applications/{TWO}/kill"] = {}
    result = run("kill", ONE, TWO)
    assert (result.exit_code, result.stdout) == (1, f"killed {TWO}\n")
    assert result.stderr.startswith(f"Error: {ONE}: there is nothing at ")


@pytest.mark.parametrize("name", ["", ".", ".."])
@pytest.mark.parametrize("verb", ["status", "why", "kill", "logs"])
def test_an_invalid_name_causes_no_request(run, cluster, verb, name):
    cluster.calls.clear()
    result = run(verb, name)
    assert result.exit_code == 1
    assert f"{name!r} names nothing" in result.stderr
    assert cluster.calls == []


def test_a_refusal_names_its_application_once(run, cluster):
    message = "there is no application '7' (any more)"
    refused = REFUSED | {"message": message}
    cluster.answers["/applications/7/kill"] = httpx.Response(404, json=refused)
    assert run("kill", "7").stderr == f"Error: {message}\n"


def test_kill_prints_each_outcome_as_json(run, cluster):
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


def test_shutdown_waits_until_the_server_no_longer_answers(run, cluster, monkeypatch):
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


def kills(cluster):
    return [path for path, _ in cluster.posted()]


def test_kill_by_options_kills_all_that_fit_and_have_not_ended(run, cluster):
    found = [application(9, "PENDING", name="train 1"), application(7, "RUNNING", name="eval")]
    cluster.answers["/applications"] = {"applications": found}
    cluster.answers[f"/applications/{application_name(9)}/kill"] = {}
    options = ("--user", "ann", "--queue", "a", "--tag", "night", "--name", "train*", "--yes")
    result = run("kill", *options)
    assert (result.exit_code, result.stdout) == (0, f"killed {application_name(9)}\n")
    asked = {"state": "PENDING,RUNNING", "user": "ann", "queue": "a", "tag": "night"}
    assert ("GET", "/applications", asked) in cluster.calls
    listed = run("kill", "--state", "pending", "--dry-run")
    assert listed.stdout.splitlines() == [f"{application_name(9)} PENDING ann {ADS} train 1"]


def test_kill_without_a_terminal_needs_yes(run, cluster):
    result = run("kill", "--user", "ann")
    assert result.exit_code == 2
    assert "3 applications would be killed: without a terminal write --yes" in result.stderr
    assert kills(cluster) == []


def test_kill_can_list_those_that_it_would_kill(run, cluster):
    result = run("kill", "--user", "ann", "--dry-run")
    first = f"{application_name(9)} PENDING ann root.research.ads held back\n"
    assert (result.exit_code, result.stdout.startswith(first)) == (0, True)
    assert result.stderr == "3 applications would be killed.\n"
    assert kills(cluster) == []


@pytest.mark.parametrize(("answer", "code", "killed"), [("y\n", 0, 3), ("n\n", 1, 0)])
def test_kill_on_a_terminal_says_which_and_asks(run, cluster, monkeypatch, answer, code, killed):
    for number in (9, 7, 3):
        cluster.answers[f"/applications/{application_name(number)}/kill"] = {}
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr(orders, "sys", SimpleNamespace(stdin=terminal))
    result = run("kill", "--queue", "a", typed=answer)
    assert f"  {application_name(9)} PENDING ann" in result.stderr
    assert result.exit_code == code
    assert len(kills(cluster)) == killed


@pytest.mark.parametrize("arguments", [(), (ONE, "--user", "ann"), (ONE, "--dry-run")])
def test_kill_takes_either_names_or_options(run, cluster, arguments):
    assert run("kill", *arguments).exit_code == 2
    assert kills(cluster) == []


def test_kill_by_options_that_nothing_fits_succeeds(run, cluster):
    cluster.answers["/applications"] = {"applications": []}
    result = run("kill", "--user", "nobody", "--yes")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "No such application.\n"


def test_priority_prints_the_one_that_the_application_has_got(run, cluster):
    seven = f"/applications/{application_name(7)}"
    cluster.answers |= {f"{seven}/priority": {}, seven: application(7, "RUNNING", priority=10)}
    result = run("priority", application_name(7), "12")
    assert result.exit_code == 0
    assert result.stdout == f"{application_name(7)} has priority 10\n"
    assert result.stderr.startswith("12 is above the cluster's yarn.cluster.max-application-p")
    assert cluster.posted() == [(f"{seven}/priority", {"priority": 12, "user": "ann"})]


def test_priority_says_that_the_fair_scheduler_has_none(run, cluster):
    refused = {"code": "not-supported", "message": "is not supported in Fair Scheduler"}
    cluster.answers["/applications/7/priority"] = httpx.Response(409, json=refused)
    result = run("priority", "7", "-1")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        "Error: priority -1 has no effect: the fair scheduler has no priorities of applications\n"
    )


def ends(cluster, number, *states):
    path = f"/applications/{application_name(number)}"
    cluster.answers[path] = [application(number, state) for state in states]


def test_wait_succeeds_when_all_have_finished(run, cluster):
    ends(cluster, 1, "FINISHED")
    ends(cluster, 2, "RUNNING", "RUNNING", "RUNNING", "FINISHED")
    result = run("wait", ONE, TWO, ONE)
    assert result.exit_code == 0
    assert result.stdout == f"{ONE} FINISHED\n{TWO} FINISHED\n"


@pytest.mark.parametrize("state", ["FAILED", "KILLED"])
def test_wait_fails_when_one_did_not_finish(run, cluster, state):
    ends(cluster, 1, state)
    ends(cluster, 2, "FINISHED")
    result = run("wait", "--json", ONE, TWO)
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert [one["state"] for one in answer["applications"]] == [state, "FINISHED"]


def test_wait_gives_up_after_its_timeout(run, cluster):
    ends(cluster, 1, "RUNNING")
    result = run("wait", ONE, "--timeout", "50ms")
    assert (result.exit_code, result.stdout) == (1, "")
    assert ONE in result.stderr


def test_wait_refuses_a_wrong_name_before_it_waits(run, cluster):
    ends(cluster, 1, "RUNNING")
    result = run("wait", ONE, "99")
    assert result.exit_code == 1
    assert "/applications/99" in result.stderr
    assert not any(path == "/changes" for _, path, _ in cluster.calls)


def test_apps_asks_for_a_tag(run, cluster):
    assert run("apps", "--tag", "nightly").exit_code == 0
    assert cluster.calls[0][2] == {"state": "PENDING,RUNNING", "tag": "nightly"}

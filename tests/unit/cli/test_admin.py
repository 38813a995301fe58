"""The verbs below `admin`, and what `status` says of the configuration."""

import httpx

FILE = "/etc/fairshare/fair-scheduler.xml"
REFRESH = "/admin/refresh-queues"


def test_refresh_queues_tells_that_it_worked_and_what_needs_a_restart(run, cluster):
    cluster.answers[REFRESH] = {
        "loaded_ms": 5,
        "version": 3,
        "needs_restart": ["yarn.scheduler.fair.preemption"],
        "problems": [
            {"file": FILE, "line": 3, "column": 1, "severity": "warning", "message": "odd"}
        ],
    }
    result = run("admin", "refresh-queues")
    assert (result.exit_code, result.stdout) == (0, "the configuration was read again\n")
    assert "yarn.scheduler.fair.preemption has changed, and needs a restart" in result.stderr
    assert f"{FILE}:3:1: warning: odd" in result.stderr
    assert cluster.posted() == [(REFRESH, {"user": "ann"})]


def test_refresh_queues_prints_all_problems_of_a_broken_file(run, cluster):
    cluster.answers[REFRESH] = httpx.Response(
        400, json={"code": "bad-configuration", "message": f"{FILE}:2: bad\n{FILE}:3: worse"}
    )
    result = run("admin", "refresh-queues")
    assert result.exit_code == 1
    assert f"{FILE}:2: bad\n{FILE}:3: worse" in result.stderr


def test_refresh_queues_prints_json_for_scripts(run, cluster):
    cluster.answers[REFRESH] = {"loaded_ms": 5, "needs_restart": []}
    result = run("admin", "refresh-queues", "--json")
    assert '"needs_restart": []' in result.stdout


def test_status_says_nothing_of_a_configuration_that_is_in_force(run):
    assert "Configuration" not in run("status").stdout


def test_status_says_that_the_file_on_disk_is_not_in_force_yet(run, cluster):
    cluster.answers["/configuration"]["changed"] = True
    assert f"{FILE} has changed, and is not in force yet" in run("status", width=200).stdout


def test_status_says_what_is_wrong_with_a_broken_file(run, cluster):
    since_ms = cluster.answers["/cluster"]["now_ms"] - 65_000
    error = {"message": f"{FILE}:2: bad", "since_ms": since_ms, "problems": []}
    cluster.answers["/configuration"].update(changed=True, error=error)
    lines = [one for one in run("status", width=200).stdout.splitlines() if "Configuration" in one]
    assert len(lines) == 1
    assert f"not in force for 1m 05s, the last good one is: {FILE}:2: bad" in lines[0]


def test_status_of_a_server_that_knows_no_such_path_works(run, cluster):
    del cluster.answers["/configuration"]
    assert run("status").exit_code == 0

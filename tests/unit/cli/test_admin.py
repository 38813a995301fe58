"""The verbs below `admin`, and what `status` says of the configuration."""

import httpx

FILE = "/etc/fairshare/fair-scheduler.xml"
REFRESH = "/admin/refresh-queues"


def test_refresh_queues_confirms_the_reload_and_names_what_needs_a_restart(run, cluster):
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
    assert "the last good one is in force (for 1m 05s so far)" in lines[0]
    assert lines[0].endswith(f"What is wrong: {FILE}:2: bad")


def test_status_of_a_server_that_knows_no_such_path_works(run, cluster):
    del cluster.answers["/configuration"]
    assert run("status").exit_code == 0


CHANGE = "/admin/configuration"
PROPERTIES = "/configuration/properties"


def entry(key: str, value: str) -> dict[str, str]:
    return {"key": key, "value": value}


def changed(cluster) -> dict[str, object]:
    ((path, body),) = cluster.posted()
    assert path == CHANGE
    assert body["user"] == "ann"
    return body["update"]


def test_config_set_changes_a_queue_or_everything(run, cluster):
    cluster.answers[CHANGE] = {"version": 3}
    result = run("admin", "config", "set", "--queue", "root.a", "capacity=40", "state=")
    assert result.stdout == "the configuration was changed: version 3\n"
    params = {"entry": [entry("capacity", "40"), entry("state", "")]}
    assert changed(cluster) == {"update-queue": [{"queue-name": "root.a", "params": params}]}


def test_config_set_without_a_queue_may_leave_out_the_prefix(run, cluster):
    cluster.answers[CHANGE] = {"version": 3}
    run("admin", "config", "set", "maximum-applications=7", "yarn.other=1")
    entries = [entry("yarn.scheduler.capacity.maximum-applications", "7"), entry("yarn.other", "1")]
    assert changed(cluster) == {"global-updates": {"entry": entries}}


def test_config_add_queue_changes_siblings_with_it(run, cluster):
    cluster.answers[CHANGE] = {"version": 3}
    run("admin", "config", "add-queue", "root.c", "capacity=5", "--set", "root.b:capacity=35")
    assert changed(cluster) == {
        "add-queue": [{"queue-name": "root.c", "params": {"entry": [entry("capacity", "5")]}}],
        "update-queue": [{"queue-name": "root.b", "params": {"entry": [entry("capacity", "35")]}}],
    }


def test_config_remove_queue_can_be_checked_first(run, cluster):
    cluster.answers[CHANGE] = {"version": 3}
    result = run("admin", "config", "remove-queue", "root.c", "--check")
    assert result.stdout == "the change is valid; nothing has changed\n"
    ((_, body),) = cluster.posted()
    assert (body["check"], body["update"]) == (True, {"remove-queue": ["root.c"]})


def test_config_show_prints_what_is_asked_for(run, cluster):
    cluster.answers[PROPERTIES] = {"version": 2, "properties": [["x.a", "1"], ["x.b", "2"]]}
    assert run("admin", "config", "show", "b").stdout == "x.b=2\n"
    assert '"version": 2' in run("admin", "config", "show", "--json").stdout


def test_a_refused_change_is_printed_whole(run, cluster):
    message = "Failed to re-init queues : one\ntwo"
    cluster.answers[CHANGE] = httpx.Response(
        409, json={"code": "configuration-refused", "message": message}
    )
    result = run("admin", "config", "set", "a=b")
    assert result.exit_code == 1
    assert message in result.stderr


def test_a_setting_without_a_value_is_a_usage_error(run, cluster):
    result = run("admin", "config", "set", "--queue", "root.a", "capacity")
    assert result.exit_code == 2
    assert "'capacity' is not NAME=VALUE" in result.stderr
    result = run("admin", "config", "remove-queue", "root.a", "--set", "capacity=3")
    assert "is not QUEUE:NAME=VALUE" in result.stderr
    assert cluster.posted() == []


def test_config_show_says_that_nothing_of_that_name_is_set(run, cluster):
    cluster.answers[PROPERTIES] = {"version": 1, "properties": []}
    done = run("admin", "config", "show", "nosuch")
    assert done.stdout == ""
    assert "not set: no property has nosuch in its name" in done.stderr

"""`fairshare yarn` changes a cluster: our own server, the Fair and the Capacity Scheduler."""

import pytest
from tests.unit.yarn.cli.conftest import EPOCH_MS, Recorded, Yarn


@pytest.mark.slow
def test_an_application_is_killed_and_a_second_time_it_has_finished(ours):
    yarn = ours()
    name = yarn.submit("root.a", "sleeper")
    result = yarn("application", "-kill", name)
    assert (result.exit_code, result.stdout) == (0, f"Killing application {name}\n")
    again = yarn("application", "-kill", name)
    assert (again.exit_code, again.stdout) == (0, f"Application {name} has already finished \n")
    assert f"\tState : KILLED" in yarn.lines("application", "-status", name)  # noqa: F541


@pytest.mark.slow
def test_of_several_to_be_killed_one_that_is_there_is_enough(ours):
    yarn = ours()
    name = yarn.submit("root.a", "sleeper")
    missing = f"application_{yarn.epoch_ms}_0077"
    result = yarn("application", "-kill", missing, name)
    assert result.exit_code == 0
    assert f"Application with id '{missing}' doesn't exist in RM." in result.stdout
    assert yarn("application", "-kill", missing).exit_code == 255


@pytest.mark.slow
@pytest.mark.parametrize("new_words", [True, False], ids=["changeQueue", "movetoqueue"])
def test_an_application_is_moved(ours, new_words):
    yarn = ours()
    name = yarn.submit("root.a", "sleeper")
    words = ("-appId", name, "-changeQueue", "root.b")
    if not new_words:
        words = ("-movetoqueue", name, "-queue", "root.b")
    assert yarn.lines("application", *words) == [
        f"Moving application {name} to queue root.b",
        "Successfully completed move.",
    ]
    assert "\tQueue : root.b" in yarn.lines("application", "-status", name)


def test_a_move_that_is_refused_ends_with_1_and_its_reason(ours):
    yarn = ours()
    name = yarn.submit("root.a", "sleeper")
    result = yarn("application", "-movetoqueue", name, "-queue", "root")
    assert result.exit_code == 1
    assert "Successfully" not in result.stdout
    assert "root" in result.stderr


def test_a_priority_is_changed_or_cut_to_the_clusters_maximum(ours):
    yarn = ours("capacity")
    name = yarn.submit("root.b", "sleeper")
    assert yarn.lines("application", "-appId", name, "-updatePriority", "7") == [
        f"Updating priority of an application {name}",
        f"Updated priority of an application  {name} to cluster max priority OR keeping old"
        " priority as application is in final states",
    ]
    assert yarn.lines("application", "-appId", name, "-updatePriority", "0")[1] == (
        f"Successfully updated the application {name} with priority '0'"
    )


def test_a_lifetime_is_set(ours):
    yarn = ours()
    name = yarn.submit("root.a", "sleeper")
    first, second = yarn.lines("application", "-appId", name, "-updateLifetime", "3600")
    assert first == f"Updating timeout for given timeoutType: LIFETIME of an application {name}"
    assert second.startswith(
        f"Successfully updated LIFETIME of an application {name}. New expiry time is 2"
    )


def test_a_fairshare_server_reports_the_weight_of_a_fair_queue(ours):
    assert "\tWeight : 3.00" in ours().lines("queue", "-status", "a")


def test_a_container_is_signalled_and_an_unknown_signal_is_not_sent(ours):
    yarn = ours()
    name = yarn.submit("root.a", "sleeper")
    report = yarn.lines("applicationattempt", "-list", name)
    container = report[2].split("\t")[2].strip()
    words = ("container", "-signal", container)
    assert yarn.lines(*words, "GRACEFUL_SHUTDOWN") == [f"Signalling container {container}"]
    assert yarn(*words, "WAKE_UP").exit_code == 255


@pytest.mark.slow
def test_labels_are_added_assigned_and_removed(ours):
    yarn = ours("capacity")
    assert yarn.lines("rmadmin", "-addToClusterNodeLabels", "gpu(exclusive=false),ssd") == []
    assert yarn.lines("cluster", "--list-node-labels") == [
        "Node Labels: <gpu:exclusivity=false>,<ssd:exclusivity=true>"
    ]
    assert yarn.lines("rmadmin", "-replaceLabelsOnNode", "n1=gpu", "-failOnUnknownNodes") == []
    assert "\tNode-Labels : gpu" in yarn.lines("node", "-status", "n1:45454")
    unknown = yarn("rmadmin", "-replaceLabelsOnNode", "n7=gpu", "-failOnUnknownNodes")
    assert (unknown.exit_code, "n7" in unknown.stderr) == (255, True)
    assert yarn.lines("rmadmin", "-removeFromClusterNodeLabels", "ssd") == []
    assert yarn.lines("cluster", "-lnl") == ["Node Labels: <gpu:exclusivity=false>"]
    for wrong in ("gpu(exclusive=maybe)", "gpu)", ",", "gpu(x"):
        assert yarn("rmadmin", "-addToClusterNodeLabels", wrong).exit_code == 255


def test_a_node_gets_another_size(ours):
    yarn = ours()
    assert yarn.lines("rmadmin", "-updateNodeResource", "n1:45454", "4096", "2") == []
    assert "\tMemory-Capacity : 4096MB" in yarn.lines("node", "-status", "n1:45454")
    wrong = yarn("rmadmin", "-updateNodeResource", "n1:45454", "-5", "2")
    assert (wrong.exit_code, "Invalid resource value" in wrong.stderr) == (255, True)
    assert yarn("rmadmin", "-updateNodeResource", "n1:45454").exit_code == 255


def test_a_fairshare_server_reads_its_queues_again(ours):
    assert ours().lines("rmadmin", "-refreshQueues") == []


@pytest.mark.slow
def test_the_configuration_of_the_capacity_scheduler_is_changed(ours):
    yarn = ours("capacity")
    assert yarn.lines(
        "schedulerconf", "-update", "root.a:capacity=40;root.b:capacity=60", "-global",
        "yarn.scheduler.capacity.maximum-applications=77",
    ) == ["Configuration changed successfully."]  # fmt: skip
    assert "\tCapacity : 40.00%" in yarn.lines("queue", "-status", "a")
    conf = yarn("schedulerconf", "-getConf").stdout
    assert "<name>yarn.scheduler.capacity.maximum-applications</name><value>77</value>" in conf
    wrong = yarn("schedulerconf", "-update", "root.a:capacity=90")
    assert wrong.exit_code == 255
    assert wrong.stderr.startswith("Configuration change unsuccessful: ")
    assert yarn("schedulerconf", "-global", "nothing").exit_code == 255
    assert yarn.lines("schedulerconf", "-format") == ["Configuration format successfully."]
    assert "\tCapacity : 25.00%" in yarn.lines("queue", "-status", "a")


def test_queues_are_added_stopped_and_removed(ours):
    yarn = ours("capacity")
    add = "root.c:capacity=0,state=STOPPED"
    assert yarn("schedulerconf", "-add", add).exit_code == 0
    assert "\tState : STOPPED" in yarn.lines("queue", "-status", "c")
    assert yarn("schedulerconf", "-remove", "root.c").exit_code == 0
    assert yarn("queue", "-status", "c").exit_code == 255


def test_what_is_written_to_a_real_one_has_the_form_it_reads(recorded):
    yarn, answers = recorded("capacity/labels")
    for path in ("add-node-labels", "replace-node-to-labels"):
        key = ("POST", f"/ws/v1/cluster/{path}")
        answers.answers[key] = answers.answers.get(key, [])[:1]
    yarn("rmadmin", "-addToClusterNodeLabels", "x,y(exclusive=false)")
    yarn("rmadmin", "-replaceLabelsOnNode", "n1:45454=x,n2")
    yarn("rmadmin", "-replaceLabelsOnNode", "n1:45454=x n2=")
    assert answers.calls == [
        (
            "POST",
            "/ws/v1/cluster/add-node-labels",
            {
                "nodeLabelInfo": [
                    {"name": "x", "exclusivity": True},
                    {"name": "y", "exclusivity": False},
                ]
            },
        ),
        (
            "POST",
            "/ws/v1/cluster/replace-node-to-labels",
            {
                "nodeToLabels": [
                    {"nodeId": "n1:45454", "labels": ["x"]},
                    {"nodeId": "n2:0", "labels": []},
                ]
            },
        ),
    ]


def test_logs_of_a_real_one_come_from_the_node_and_carry_no_token(recorded, monkeypatch):
    monkeypatch.setenv("FAIRSHARE_TOKEN", "secret")
    yarn, answers = recorded("capacity/running")
    container = f"container_{EPOCH_MS}_0001_01_000001"
    seen = _node_logs(answers, container)
    result = yarn("logs", "-applicationId", f"application_{EPOCH_MS}_0001", "-am", "1")
    assert result.exit_code == 0, result.output
    title = f"Container: {container} on n1:45454"
    assert result.stdout.splitlines()[:6] == [
        title,
        "=" * len(title),
        "LogType:syslog",
        "LogLength:6",
        "LogContents:",
        "hello",
    ]
    assert seen == [None, None]


def _node_logs(answers: Recorded, container: str) -> list[str | None]:
    import httpx

    seen: list[str | None] = []
    inner = answers.__class__.__call__

    class Both(Recorded):
        def __call__(self, request: httpx.Request) -> httpx.Response:
            if request.url.host != "n1":
                return inner(self, request)
            seen.append(request.headers.get("authorization"))
            base = f"/ws/v1/node/containers/{container}/logs"
            if request.url.path == base:
                files = {"containerLogInfo": [{"fileName": "syslog", "fileSize": "6"}]}
                return httpx.Response(200, json={"containerLogsInfo": files})
            assert request.url.path == f"{base}/syslog"
            return httpx.Response(200, text="hello\n")

    answers.__class__ = Both
    return seen


def test_the_address_is_read_from_yarn_site_also_with_several_resource_managers(
    recorded, tmp_path, monkeypatch
):
    import httpx

    _, answers = recorded("capacity/running")

    def two(request: httpx.Request) -> httpx.Response:
        if request.url.port == 8088:
            raise httpx.ConnectError("nobody is there")
        return answers(request)

    properties = {
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.rm-ids": "rm1,rm2",
        "yarn.resourcemanager.hostname.rm1": "one.example",
        "yarn.resourcemanager.webapp.address.rm2": "two.example:9088",
    }
    found = "".join(
        f"<property><name>{n}</name><value>{v}</value></property>" for n, v in properties.items()
    )
    (tmp_path / "yarn-site.xml").write_text(f"<configuration>{found}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    yarn = Yarn(httpx.MockTransport(two))
    assert yarn("version", url=None).stdout.startswith("Hadoop 3.4.1")
    assert yarn("rmadmin", "-getServiceState", "rm2", url=None).stdout == "active\n"
    assert yarn("rmadmin", "-getServiceState", "rm3", url=None).exit_code == 255
    states = yarn("rmadmin", "-getAllServiceState", url=None).stdout.splitlines()
    assert states[0].startswith("one.example:8088")
    assert "Failed to connect" in states[0]
    assert states[1].split() == ["two.example:9088", "active"]


def test_the_states_of_several_managers_are_none_of_one_alone():
    import httpx

    yarn = Yarn(httpx.MockTransport(lambda request: httpx.Response(404)))
    result = yarn("rmadmin", "-getAllServiceState")
    assert result.exit_code == 255
    assert "when ResourceManager HA is not enabled" in result.stdout


def test_an_unreachable_address_ends_with_3(monkeypatch):
    import httpx

    def nobody(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there")

    result = Yarn(httpx.MockTransport(nobody))("application", "-list")
    assert result.exit_code == 3
    assert "--url" in result.stderr


def test_a_kill_is_repeated_until_the_application_has_ended():
    import httpx

    name = f"application_{EPOCH_MS}_0001"
    statuses = [202, 202, 200]

    def slow(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"app": {"id": name, "state": "RUNNING"}})
        return httpx.Response(statuses.pop(0), json={"state": "KILLING"})

    assert Yarn(httpx.MockTransport(slow))("application", "-kill", name).exit_code == 0
    assert statuses == []


def test_a_key_that_is_repeated_keeps_all_its_values():
    from fairshare.yarn.cli.documents import decoded, entries

    found = decoded(b'{"entry":{"key":"a","value":1},"entry":{"key":"b","value":2},'
                    b'"entry":{"key":"c","value":3}}')  # fmt: skip
    assert entries(found) == {"a": 1, "b": 2, "c": 3}

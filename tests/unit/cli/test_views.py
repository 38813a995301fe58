import json

import pytest

from .conftest import application, application_name

APPLICATION = "application_1700000000000_0007"


def parameters(cluster, path="/applications"):
    return next(given for method, called, given in cluster.calls if called == path)


def test_apps_lists_what_is_not_over(run, cluster):
    assert run("apps").exit_code == 0
    assert parameters(cluster) == {"state": "PENDING,RUNNING"}


def test_apps_passes_its_filters_on(run, cluster):
    arguments = "--state failed --state KILLED --user ann --queue root.a --limit 5"
    assert run("apps", *arguments.split()).exit_code == 0
    assert parameters(cluster) == {
        "state": "FAILED,KILLED",
        "user": "ann",
        "queue": "root.a",
        "limit": "5",
    }


@pytest.mark.parametrize(("proven", "user"), [("carol", "carol"), (None, "ann")])
def test_apps_of_ones_own_are_those_of_the_user_that_the_server_knows(run, cluster, proven, user):
    cluster.answers["/session"] = {"user": proven}
    assert run("apps", "--me").exit_code == 0
    assert parameters(cluster)["user"] == user
    both = run("apps", "--me", "--user", "bob")
    assert (both.exit_code, "--me and --user: give one of both" in both.stderr) == (2, True)


def test_apps_lists_all_when_asked(run, cluster):
    assert run("apps", "--all").exit_code == 0
    assert parameters(cluster) == {}


def waiting(number, **fields):
    """An application as YARN has it: RUNNING, without a container."""
    return application(number, "RUNNING", containers=0, used={}, **fields)


def test_an_application_without_a_container_that_asks_for_one_is_pending(run, cluster):
    idle = waiting(5, pending={"memory-mb": 0, "vcores": 0})
    cluster.answers["/applications"] = {
        "applications": [waiting(6), idle, application(4, "RUNNING")]
    }
    states = [line.split() for line in run("apps", "--format", "state").stdout.splitlines()]
    assert states == [["State"], ["PENDING"], ["RUNNING"], ["RUNNING"]]
    for state, names in (("PENDING", [6]), ("RUNNING", [5, 4])):
        listed = run("apps", "--state", state, "--format", "application").stdout.split()
        assert listed[1:] == [application_name(number) for number in names]
    one = run("apps", "--state", "RUNNING", "--limit", "1", "--format", "application").stdout
    assert one.split()[1:] == [application_name(5)]
    assert "PENDING" in run("top", "--once").stdout
    cluster.answers["/applications/6"] = waiting(6)
    assert "State        PENDING" in run("status", "6").stdout


@pytest.mark.parametrize("verb", ["apps", "kill"])
def test_a_queue_that_does_not_exist_is_said_to_be_none(run, cluster, verb):
    cluster.answers["/applications"] = {"applications": []}
    result = run(verb, "--queue", "serach")
    assert "There is no queue serach: did you mean root.research.search?" in result.stderr
    assert "There is no queue" not in run(verb, "--queue", "research.ads").stderr


def test_apps_refuses_what_contradicts_itself(run, cluster):
    result = run("apps", "--all", "--state", "FAILED")
    assert (result.exit_code, cluster.calls) == (2, [])


def test_apps_knows_the_states(run, cluster):
    result = run("apps", "--state", "DONE")
    assert (result.exit_code, cluster.calls) == (2, [])
    assert "rejected" in result.stderr


def test_an_application_that_is_over_shows_how_long_it_ran_and_no_share(run, cluster):
    cluster.answers["/applications"]["applications"][0].update(
        state="FINISHED", began_ms=1_700_000_000_000, finished_ms=1_700_000_065_000
    )
    row = run("apps", "--all").stdout.splitlines()[1]
    assert row.split()[-3:] == ["-", "1m", "05s"]


def test_status_of_a_failed_application_shows_its_diagnostics(run, cluster):
    found = cluster.answers[f"/applications/{APPLICATION}"]
    found.update(
        state="FAILED",
        finished_ms=found["started_ms"] + 1000,
        diagnostics="map/3 failed 4 times\nthe last time with exit code 1",
        preempted=2,
        containers=[],
    )
    output = "\n".join(map(str.rstrip, run("status", APPLICATION).stdout.splitlines()))
    assert "Diagnostics  map/3 failed 4 times\n" in output
    assert "             the last time with exit code 1\n" in output
    assert "Preempted    2 containers so far" in output
    assert "Fair share" not in output


def test_status_says_that_output_of_a_task_was_left_out(run, cluster):
    words = "stdout: 4,096 bytes in the middle were left out (the limit is 8 MB)"
    ended = {"group": "task", "task": 0, "state": "COMPLETE", "exit_code": 0}
    cluster.answers |= {
        f"/applications/{APPLICATION}": {"id": APPLICATION, "state": "FINISHED"},
        f"/applications/{APPLICATION}/containers": {
            "containers": [{"id": f"c{n}", **ended, "diagnostics": words} for n in range(5)]
        },
    }
    last = run("status", APPLICATION).stdout.splitlines()[-4:]
    assert last == [*[f"task/0: {words}"] * 3, "and 2 tasks more"]


def test_a_fair_share_has_only_what_its_policy_divides(run, cluster):
    cluster.answers["/queues"] = {
        "queues": [{"name": "root", "fair_share": {"memory-mb": 4096, "vcores": 0}}]
    }
    output = run("queues").stdout
    assert " 4G " in output
    assert "0c" not in output


def test_status_shows_that_a_limit_holds_an_application_back(run, cluster):
    cluster.answers["/applications/9"] = {
        "id": "application_1700000000000_0009",
        "state": "PENDING",
        "runnable": False,
    }
    assert "PENDING (held back by a limit of its queue)" in run("status", "9").stdout


def test_status_says_what_an_application_waits_for(run, cluster):
    sentences = ("One container of 9 GB is larger than every node.", "Others are served first.")
    cluster.answers[f"/applications/{APPLICATION}/reasons"] = {
        "reasons": [
            {"cause": "x", "sentence": sentence, "remedy": "", "group": group}
            for sentence, group in zip(sentences, ("map", None), strict=True)
        ]
    }
    output = run("status", APPLICATION).stdout
    assert "map: One container of 9 GB is larger than every node." in output
    assert output.index(sentences[0]) < output.index(sentences[1])


def test_status_of_one_task_has_its_state_and_its_end(run, cluster):
    rows = [{"group": "map", "index": number, "state": "WAITING"} for number in range(2)]
    rows[1] |= {"state": "FAILED", "attempts": 4, "exit_code": 137, "outcome": "out of memory"}
    cluster.answers[f"/applications/{APPLICATION}/tasks"] = {"tasks": rows}
    for name in ("1", "map/1"):
        output = run("status", f"{APPLICATION}/{name}").stdout
        assert "137 out of memory" in output
        assert "WAITING" not in output
    assert json.loads(run("status", f"{APPLICATION}/0", "--json").stdout)["tasks"][0]["index"] == 0
    unknown = run("status", f"{APPLICATION}/7")
    assert (unknown.exit_code, "has no task 7" in unknown.stderr) == (1, True)


def test_status_of_what_is_not_there_is_exit_code_1(run):
    result = run("status", "99")
    assert (result.exit_code, result.stdout) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (["status"], "/cluster"),
        (["status", APPLICATION], f"/applications/{APPLICATION}"),
        (["apps"], "/applications"),
        (["queues"], "/queues"),
        (["nodes"], "/nodes"),
    ],
)
def test_json_is_what_the_server_said(run, cluster, arguments, path):
    cluster.answers[path]["something-new"] = "\x9b größe"
    result = run(*arguments, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == cluster.answers[path]
    assert result.stdout.isascii()


def test_top_prints_everything_as_json(run, cluster):
    seen = json.loads(run("top", "--json").stdout)
    assert list(seen) == ["cluster", "queues", "applications", "nodes"]
    assert parameters(cluster) == {"state": "PENDING,RUNNING"}


def test_an_answer_of_another_version_says_where_it_differs(run, cluster):
    cluster.answers["/nodes"]["nodes"][0]["containers"] = "many"
    result = run("nodes")
    assert result.exit_code == 1
    assert "Expected `int`, got `str` - at `$.nodes[0].containers`" in result.stderr


def test_nodes_lists_their_gpus_below(run, cluster):
    holder = "container_1700000000000_0001_01_000002"
    cluster.answers["/nodes"]["nodes"][0]["gpus"] = [
        {"name": "0", "model": "A100", "memory_mb": 81920, "used_mb": 3584,
         "utilization_percent": 50, "container": holder},
        {"name": "1"},
    ]  # fmt: skip
    lines = [line.split() for line in run("nodes").stdout.splitlines()]
    at = next(n for n, line in enumerate(lines) if line[:2] == ["Node", "GPU"])
    first, second = [line for line in lines[at + 1 :] if line and line[0].startswith("node-1")]
    assert first[1] == "0"
    assert first[3:7] == ["50%", "3.5G", "of", "80G"]
    assert second[1:5] == ["1", "-", "-", "-"]


def test_nodes_without_gpus_have_no_table_of_them(run):
    assert "GPU" not in run("nodes").stdout

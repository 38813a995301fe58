import json
import tracemalloc

import httpx
import pytest

from fairshare.cli import logs
from fairshare.client import Client
from fairshare.client import logs as client_logs

APPLICATION = "application_1700000000000_0007"
C7, C8 = (f"container_1700000000000_0007_01_00000{number}" for number in (7, 8))


@pytest.fixture(autouse=True)
def timed_out(monkeypatch):
    monkeypatch.setattr(logs, "PACE_S", 0)


@pytest.fixture(autouse=True)
def printed(cluster):
    cluster.answers |= {
        f"/containers/{C7}/logs/stdout": b"seven \xff\n\x1b[1mbold\n",
        f"/containers/{C8}/logs/stdout": b"eight",
        f"/containers/{C7}/logs/stderr": b"oh\n",
        f"/containers/{C8}/logs/stderr": b"",
        f"/applications/{APPLICATION}/tasks": {
            "tasks": [
                {"group": "map", "index": 0, "state": "RUNNING", "container": C7},
                {"group": "map", "index": 1, "state": "WAITING", "container": None},
            ]
        },
    }


def part(text, complete=False):
    return httpx.Response(
        200,
        content=text.encode(),
        headers={"X-Fairshare-Complete": "true" if complete else "false"},
    )


def test_the_log_of_a_container_is_passed_on_byte_by_byte(run):
    result = run("logs", C7)
    assert (result.exit_code, result.stdout_bytes) == (0, b"seven \xff\n\x1b[1mbold\n")
    assert run("logs", C7, "--stderr").stdout_bytes == b"oh\n"


def test_a_container_that_printed_to_stderr_alone_says_so(run, cluster):
    cluster.answers |= {f"/containers/{C7}/logs/stdout": b""}
    result = run("logs", C7)
    assert (result.stdout, result.stderr) == (
        "",
        "it printed to stderr alone: --stderr shows that\n",
    )
    cluster.answers |= {f"/containers/{C8}/logs/stdout": b""}
    assert run("logs", C8).output == ""


def test_a_long_log_is_read_in_parts(run, cluster, monkeypatch):
    text = b"0123456789" * 1000
    cluster.answers[f"/containers/{C7}/logs/stdout"] = text
    monkeypatch.setattr(client_logs.part, "__defaults__", (999,))
    assert run("logs", C7).stdout_bytes == text
    assert len(cluster.calls) == 11


def test_logs_of_an_application_are_listed_below_the_names_of_its_containers(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}/containers"]["containers"][0]["exit_code"] = 3
    assert run("logs", APPLICATION).stdout_bytes == (
        f"==> map/6 {C7} on node-1, exit code 3 <==\n".encode()
        + b"seven \xff\n\x1b[1mbold\n"
        + f"\n==> map/7 {C8} on node-1 <==\n".encode()
        + b"eight"
    )


def test_the_log_of_a_single_container_needs_no_heading(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}/containers"]["containers"].pop()
    assert run("logs", APPLICATION, "--stderr").stdout == "oh\n"


def test_an_application_without_containers_prints_nothing(run, cluster):
    cluster.answers[f"/applications/{APPLICATION}/containers"] = {"containers": []}
    result = run("logs", APPLICATION)
    assert (result.exit_code, result.stdout) == (0, "")


def test_the_log_of_a_task_is_that_of_its_last_container(run):
    assert run("logs", APPLICATION, "--task", "map/0", "--stderr").stdout == "oh\n"


def test_the_only_group_need_not_be_named(run):
    assert run("logs", APPLICATION, "--task", "0", "--stderr").stdout == "oh\n"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "reason"),
    [
        ([APPLICATION, "--task", "map/1"], 1, "has not run in any container"),
        ([APPLICATION, "--task", "map/2"], 1, "has no task map/2; its groups are: map"),
        ([APPLICATION, "--task", "sort/0"], 1, "has no task sort/0"),
        ([APPLICATION, "--task", "map"], 2, "write GROUP/INDEX"),
        ([APPLICATION, "--task", "map/x"], 2, "write GROUP/INDEX"),
        ([C7, "--task", "map/0"], 2, "belongs to an application"),
    ],
)
def test_the_reason_is_printed_for_a_task_that_cannot_be_shown(run, arguments, exit_code, reason):
    result = run("logs", *arguments)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert reason in result.stderr


def test_following_a_task_waits_until_it_runs(run, cluster):
    waiting = {"group": "map", "index": 0, "state": "WAITING", "container": None}
    path = f"/applications/{APPLICATION}/tasks"
    cluster.answers[path] = [{"tasks": [waiting]}, {"tasks": [waiting]}, cluster.answers[path]]
    assert run("logs", APPLICATION, "-f", "--task", "map/0", "--stderr").stdout == "oh\n"


def test_following_a_container_ends_when_it_is_over(run, cluster):
    cluster.answers[f"/containers/{C7}/logs/stdout"] = [
        part(""),
        part("one\n"),
        part(""),
        part("two\n", complete=True),
    ]
    assert run("logs", "--follow", C7).stdout == "one\ntwo\n"
    offsets = [given["offset"] for _, path, given in cluster.calls if "logs" in path]
    assert offsets == ["0", "0", "4", "4"]


def test_following_an_application_names_the_task_of_each_line_and_sees_new_containers(run, cluster):
    application = f"/applications/{APPLICATION}"
    running = cluster.answers[application]
    both = cluster.answers[f"{application}/containers"]["containers"]
    cluster.answers |= {
        application: [running, running, {**running, "state": "FINISHED"}],
        f"{application}/containers": [{"containers": both[:1]}, {"containers": both}],
        f"/containers/{C7}/logs/stdout": [part("a1\na"), part("2\n"), part("a3", complete=True)],
        f"/containers/{C8}/logs/stdout": [part("b1\n"), part("b2\n", complete=True)],
    }
    assert run("logs", "-f", APPLICATION).stdout.splitlines() == [
        "map/6 | a1",
        "map/6 | a2",
        "map/7 | b1",
        "map/6 | a3",
        "map/7 | b2",
    ]


def test_each_line_can_be_an_object(run):
    result = run("logs", "--json", APPLICATION)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"container": C7, "task": "map/6", "stream": "stdout", "line": "seven \ufffd"},
        {"container": C7, "task": "map/6", "stream": "stdout", "line": "\x1b[1mbold"},
        {"container": C8, "task": "map/7", "stream": "stdout", "line": "eight"},
    ]


def test_a_container_that_is_unknown_is_exit_code_1(run):
    result = run("logs", "container_1700000000000_0099_01_000001")
    assert (result.exit_code, result.stdout) == (1, "")


def test_a_large_log_is_passed_on_and_not_kept(monkeypatch):
    size, most = 32 << 20, client_logs.CHUNK_BYTES

    def part(call):
        rest = size - call.parameters["offset"]
        return client_logs.Chunk(bytes(min(most, rest)), complete=rest <= most)

    printed = []
    monkeypatch.setattr(logs.click, "echo", lambda data, nl: printed.append(len(data)))
    with Client("http://127.0.0.1:8188") as client:
        monkeypatch.setattr(client.connection, "ask", part)
        tracemalloc.start()
        try:
            logs.print_container(client, "c1", None, "stdout", follow=False, as_json=False)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert sum(printed) == size
    assert peak < size / 4


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_on_a_terminal_a_log_keeps_colours_and_controls_nothing(size):
    data = b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b[6n\x9b2J\ttab\r\n"
    data += b"\x85\xc2\x9b5n \xe2\x82\xac\x1b["
    harmless = logs.Harmless()
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    text = "".join(map(harmless.add, parts)) + harmless.end()
    assert text == (
        "\x1b[1;31mred\x1b[0m \\x1b]0;title\\x07\\x1b[6n\N{REPLACEMENT CHARACTER}2J\ttab\r\n"
        "\N{REPLACEMENT CHARACTER}\\x9b5n \N{EURO SIGN}\\x1b[\x1b[0m"
    )


def test_a_log_is_named_by_application_and_task(run):
    assert run("logs", f"{APPLICATION}/0").stdout_bytes == b"seven \xff\n\x1b[1mbold\n"
    assert run("logs", f"{APPLICATION}/map/0").stdout_bytes == b"seven \xff\n\x1b[1mbold\n"
    result = run("logs", f"{APPLICATION}/map/0", "--task", "map/1")
    assert (result.exit_code, "give one of both" in result.stderr) == (2, True)


@pytest.mark.parametrize("verb", ["wait", "hold", "requeue"])
def test_a_verb_for_whole_applications_names_the_application_of_a_task(run, cluster, verb):
    result = run(verb, f"{APPLICATION}/3")
    assert result.exit_code == 1
    assert f"write {APPLICATION}" in " ".join(result.stderr.split())
    assert cluster.calls == []

"""What every engine keeps to, as a server's clients see it: the conformance suite of all engines.

`CHECKS` need only the server's address, `OUTAGES` a server that can be killed and started again;
`STRICTER` is for engines that enforce limits themselves.
Each engine has a test that runs them: `tests/e2e/test_engine_contract.py` the local one,
`tests/ray_cluster/test_engine_contract.py` that of Ray, and `make hadoop` (`contract`) that of
NodeManagers, by `python -m tests.engine_contract URL QUEUE FOLDER`. What an engine keeps to within
the process, also those that start nothing, is in `tests/engine_orders.py`.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import httpx

PATIENCE_S = 90.0
RESOURCES = {"memory-mb": 256, "vcores": 1}
NOTED = (
    'exec 9>"{folder}/$FAIRSHARE_TASK_INDEX.lock"; flock -n 9 || echo twice > "{folder}/defect"; '
)
"""Each run of a task notes a second one beside it."""


class Outage(Protocol):
    """A server that can be away."""

    url: str

    def start(self) -> None:
        """Start the server, maybe at another address."""

    def kill(self) -> None:
        """End it as a crash would."""


class Subject:
    """A server with the engine in question, and a folder that its containers can write."""

    def __init__(self, url: str, queue: str, folder: Path) -> None:
        self.url, self.queue, self.folder = url, queue, folder
        folder.mkdir(exist_ok=True)

    def get(self, path: str) -> Any:
        """An answer of the REST interface."""
        answer = httpx.get(f"{self.url}/api/v1/{path}", trust_env=False, timeout=30)
        answer.raise_for_status()
        return answer.json()

    def submit(self, *arguments: str, **group: Any) -> str:
        """Submit a group of tasks that each have one attempt; the application's name."""
        task = {"arguments": arguments, "resources": RESOURCES, "max_attempts": 1, **group}
        answer = httpx.post(
            f"{self.url}/api/v1/applications",
            json={"queue": self.queue, "tasks": [task]},
            trust_env=False,
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def shell(self, line: str, **group: Any) -> str:
        """Submit a line of shell."""
        return self.submit("sh", "-c", line.replace("{folder}", str(self.folder)), **group)

    def kill(self, application: str) -> None:
        """Kill an application; one that has ended stays as it is."""
        httpx.post(f"{self.url}/api/v1/applications/{application}/kill", trust_env=False)

    def ended(self, application: str) -> list[dict[str, Any]]:
        """Wait for the end of an application; its containers."""
        self.wait(lambda: self.get(f"applications/{application}")["state"] in ENDED, application)
        found: list[dict[str, Any]] = self.get(f"applications/{application}/containers")[
            "containers"
        ]
        return found

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, f"not in {PATIENCE_S:g} s: {what}"
            time.sleep(0.05)

    def wait_for(self, *names: str) -> None:
        """Wait until containers have written these files."""
        for name in names:
            self.wait(lambda name=name: (self.folder / name).exists(), name)  # type: ignore[misc]


ENDED = ("FINISHED", "FAILED", "KILLED")
KILLED = {-100, 137, 143}
"""Exit codes of a container that was ordered to end: YARN's for aborted ones, or of a signal."""


def every_launch_has_one_run_and_one_end(subject: Subject) -> None:
    """Twenty tasks run once each, and each container ends with 0."""
    line = NOTED + 'echo run >> "{folder}/once.$FAIRSHARE_TASK_INDEX"'
    containers = subject.ended(subject.shell(line, count=20))
    assert [one["exit_code"] for one in containers] == [0] * 20
    files = [subject.folder / f"once.{index}" for index in range(20)]
    assert {file.read_text() for file in files} == {"run\n"}
    assert not (subject.folder / "defect").exists()


def an_exit_code_is_that_of_the_command(subject: Subject) -> None:
    """Seven stays seven, and the application has failed."""
    application = subject.shell("exit 7")
    (container,) = subject.ended(application)
    assert container["exit_code"] == 7
    assert subject.get(f"applications/{application}")["state"] == "FAILED"


def a_missing_command_is_named(subject: Subject) -> None:
    """Its container has ended with 127, and the words name the command."""
    application = subject.submit("no-such-command-here")
    (container,) = subject.ended(application)
    assert container["exit_code"] == 127
    assert "no-such-command-here" in str(subject.get(f"applications/{application}"))


def a_kill_ends_all_processes_and_a_second_one_changes_nothing(subject: Subject) -> None:
    """The exit code says that the end was ordered."""
    _killed(subject, "sleep 1000 &")


def a_kill_ends_processes_with_sessions_of_their_own(subject: Subject) -> None:
    """Hadoop's NodeManager leaves them alone."""
    _killed(subject, "setsid sleep 1000 &")


def _killed(subject: Subject, child: str) -> None:
    line = child + ' echo $! > "{folder}/left"; echo > "{folder}/runs"; exec sleep 1000'
    application = subject.shell(line)
    subject.wait_for("runs")
    subject.kill(application)
    subject.kill(application)
    (container,) = subject.ended(application)
    assert container["exit_code"] in KILLED, container
    process = Path("/proc") / (subject.folder / "left").read_text().strip()
    subject.wait(lambda: not process.exists(), "the end of its processes")
    subject.kill(application)
    assert subject.ended(application) == [container]


def a_time_limit_ends_it_with_a_reason(subject: Subject) -> None:
    """The diagnostics name it; on NodeManagers those are timeout(1)'s, with its exit code."""
    application = subject.shell("exec sleep 1000", time_limit_ms=1_000)
    (container,) = subject.ended(application)
    assert container["exit_code"] in (124, 137, 143), container
    words = str(subject.get(f"applications/{application}"))
    assert "time limit of 1 s" in words or "timeout: sending signal TERM" in words


def a_memory_limit_ends_it_with_yarns_code(subject: Subject) -> None:
    """512 MB in a container of 256."""
    program = "import time; held = bytearray(512 << 20); time.sleep(60)"
    (container,) = subject.ended(subject.submit(sys.executable, "-c", program))
    assert container["exit_code"] == -104


def the_environment_names_task_queue_and_node(subject: Subject) -> None:
    """As docs/jobs.md has it, together with variables of the job."""
    line = 'echo "$FAIRSHARE_TASK_INDEX $FAIRSHARE_QUEUE $FAIRSHARE_NODE $MINE" > "{folder}/named"'
    (container,) = subject.ended(subject.shell(line, environment={"MINE": "a b"}))
    words = f"0 {subject.queue} {container['node']} a b\n"
    assert (subject.folder / "named").read_text() == words


def logs_are_read_whole_byte_for_byte(subject: Subject) -> None:
    """Both streams, while their node still has them."""
    (container,) = subject.ended(subject.shell(r"printf 'a\377\nb'; printf problem >&2"))
    for stream, content in (("stdout", b"a\xff\nb"), ("stderr", b"problem")):
        path = f"{subject.url}/api/v1/containers/{container['id']}/logs/{stream}"
        assert httpx.get(path, trust_env=False, timeout=30).content == content


def what_runs_goes_on_while_no_server_runs(subject: Subject, server: Outage) -> None:
    """And is there afterwards, not run again, and can be killed."""
    line = NOTED + 'echo run >> "{folder}/on.$FAIRSHARE_TASK_INDEX"; exec sleep 1000'
    application = subject.shell(line, count=2)
    subject.wait_for("on.0", "on.1")
    server.kill()
    server.start()
    subject.url = server.url
    running = f"applications/{application}/containers"
    states = {one["state"] for one in subject.get(running)["containers"]}
    assert states == {"RUNNING"}
    subject.kill(application)
    containers = subject.ended(application)
    assert {one["exit_code"] for one in containers} <= KILLED, containers
    assert {(subject.folder / f"on.{index}").read_text() for index in (0, 1)} == {"run\n"}
    assert not (subject.folder / "defect").exists()


def what_ends_while_no_server_runs_has_its_exit_code(subject: Subject, server: Outage) -> None:
    """Reported once, to the next server."""
    line = 'echo run >> "{folder}/away"; until [ -e "{folder}/go" ]; do sleep 0.1; done; '
    application = subject.shell(line + 'echo done > "{folder}/went"; exit 5')
    subject.wait_for("away")
    server.kill()
    (subject.folder / "go").touch()
    subject.wait_for("went")
    server.start()
    subject.url = server.url
    (container,) = subject.ended(application)
    assert container["exit_code"] == 5
    assert (subject.folder / "away").read_text() == "run\n"


CHECKS: tuple[Callable[[Subject], None], ...] = (
    every_launch_has_one_run_and_one_end,
    an_exit_code_is_that_of_the_command,
    a_missing_command_is_named,
    a_kill_ends_all_processes_and_a_second_one_changes_nothing,
    a_time_limit_ends_it_with_a_reason,
    the_environment_names_task_queue_and_node,
    logs_are_read_whole_byte_for_byte,
)
STRICTER: tuple[Callable[[Subject], None], ...] = (
    a_kill_ends_processes_with_sessions_of_their_own,
    a_memory_limit_ends_it_with_yarns_code,
)
"""What only engines of ours do always: NodeManagers check memory if their configuration says so."""
OUTAGES: tuple[Callable[[Subject, Outage], None], ...] = (
    what_runs_goes_on_while_no_server_runs,
    what_ends_while_no_server_runs_has_its_exit_code,
)


def main(url: str, queue: str, folder: str) -> None:
    """Run the checks against a running server; prints a line for each."""
    for check in CHECKS:
        check(Subject(url, queue, Path(folder)))
        print(f"{check.__name__}: ok", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

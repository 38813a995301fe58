"""docs/how-to/from-slurm.md and pages like it are run: each command of fairshare works, on one
server."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import forked
from tests.e2e.screens import Screen
from tests.served import Served

from fairshare.cli.verbs import fairshare
from fairshare.client import Client

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = (FOLDER / "from-slurm.md").read_text()
OTHERS = [
    (FOLDER / name).read_text()
    for name in ("from-task-spooler-and-gflow.md", "work-inside-a-task.md")
]
COMMAND = re.compile(r"\| `(fairshare [^`]*)` \||^    (fairshare .*)$", re.M)
CELLS = [
    (cell or line).replace(r"\|", "|")
    for cell, line in dict.fromkeys(COMMAND.findall("\n".join([PAGE, *OTHERS])))
]
ENDED = (
    "fairshare attach",
    "fairshare logs",
    "fairshare wait",
    "fairshare history",
    "fairshare resubmit",
)
"""What is for applications that have ended; all else has one that runs."""
OWN_PROCESS = ("run", "exec", "attach")
"""They use their process's own streams and signals."""

SITE = """<configuration><property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler</value>
</property><property><name>yarn.scheduler.minimum-allocation-mb</name><value>16</value></property>
<property><name>yarn.scheduler.maximum-allocation-mb</name><value>65536</value></property>
<property><name>yarn.scheduler.maximum-allocation-vcores</name><value>64</value></property>
<property><name>yarn.node-labels.enabled</name><value>true</value>
</property></configuration>"""
QUEUES = {
    "queues": "default,ml",
    "default.capacity": "50",
    "ml.capacity": "50",
    "default.user-limit-factor": "2",
    "ml.user-limit-factor": "2",
    "accessible-node-labels.a100.capacity": "100",
    "default.accessible-node-labels": "a100",
    "default.accessible-node-labels.a100.capacity": "100",
}
TOML = """
[engine]
memory_mb = 65536
vcores = 64
gpus = ["0", "1", "2", "3"]
[notify]
smtp_host = "127.0.0.1"
smtp_port = 1
smtp_from = "fairshare@example.org"
[labels]
a100 = "exclusive"
"""


@pytest.fixture
def server(tmp_path, monkeypatch):
    """The URL of a server with Slurm's example names, and a folder with their files."""
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE)
    rows = "".join(
        f"<property><name>yarn.scheduler.capacity.root.{name}</name><value>{value}</value></property>"
        for name, value in QUEUES.items()
    )
    (conf / "capacity-scheduler.xml").write_text(
        "<configuration>"
        + rows
        + "<property><name>yarn.scheduler.capacity.maximum-am-resource-percent"
        "</name><value>1.0</value></property></configuration>"
    )
    (conf / "fairshare.toml").write_text(TOML)
    work = tmp_path / "work"
    work.mkdir()
    for name in ("train.sh", "step"):
        (work / name).write_text("#!/bin/sh\necho $FAIRSHARE_TASK_INDEX\n")
        (work / name).chmod(0o755)
    (work / "data.txt").write_text("b\na\n")
    (work / "lines.txt").write_text("one\ntwo\n")
    (work / "train.yaml").write_text("tasks: [{arguments: [./train.sh]}]\n")
    monkeypatch.chdir(work)
    made = Served(conf, "--no-hadoop")
    monkeypatch.setenv("FAIRSHARE_URL", made.url)
    monkeypatch.setenv("DISPLAY", "localhost:10.0")
    yield made.url
    made.end()


def prepared(client: Client, command: str) -> str:
    """The id of an application as a command needs it."""
    words = ["--name", "train", "--memory", "16m", "--max-attempts", "1"]
    if command.startswith(ENDED):
        failing = ["submit", *words, "--wait", "false" if "--failed" in command else "true"]
        return CliRunner().invoke(fairshare, failing).stdout.split()[0]
    waits = command.startswith(("fairshare release", "fairshare update APP --memory"))
    held = ["--hold"] if waits else []
    result = CliRunner().invoke(fairshare, ["submit", *words, *held, "sleep", "600"])
    application = result.stdout.split()[0]
    if command.startswith("fairshare exec"):
        version = 0
        while not any(one.state == "RUNNING" for one in client.containers(application)):
            version = client.changes(version, 2)
    return application


def typed(words: list[str]) -> tuple[int, str]:
    """The exit code of a command and what it printed."""
    if words[1] == "shell":
        screen = Screen(words[1:], {"SHELL": "/bin/sh"})
        screen.type("exit\r")
        code = screen.exit_code()
        screen.close()
        return code, screen.seen
    if words[1] in OWN_PROCESS:
        done = forked.fairshare(*words[1:])
        return done.returncode, done.stdout + done.stderr
    result = CliRunner().invoke(fairshare, words[1:])
    return result.exit_code, result.output


def test_every_command_of_the_pages_works(server):
    assert len(CELLS) >= 75
    failed = []
    with Client(server) as client:
        for command in CELLS:
            application = prepared(client, command) if "APP" in command else ""
            words = shlex.split(command.replace("APP", application))
            code, printed = typed(words)
            if code != 0:
                failed.append((command, printed))
            if application and not client.application(application).over:
                client.kill(application)
    assert failed == []


def test_every_verb_of_slurm_that_people_use_is_on_the_page():
    verbs = "sbatch srun salloc squeue scancel sacct sreport scontrol sinfo seff sattach sshare"
    assert [verb for verb in verbs.split() if f"`{verb}" not in PAGE] == []
    assert "#SBATCH" in PAGE

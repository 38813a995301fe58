"""What shells complete, asked as they ask."""

import os
import shutil
import subprocess
import sys

import httpx
import pytest
from click.testing import CliRunner

from fairshare.cli import completion
from fairshare.cli.verbs import fairshare
from fairshare.client import Client

from .conftest import URL, application, application_name

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def complete(cluster, monkeypatch):
    """The words that bash gets for a line that ends in an incomplete word."""

    def call(line):
        words = line.split(" ")
        environment = {
            "_FAIRSHARE_COMPLETE": "bash_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        result = CliRunner().invoke(
            fairshare,
            [],
            prog_name="fairshare",
            obj=lambda url: Client(url or URL, transport=httpx.MockTransport(cluster)),
        )
        assert result.exit_code == 0, result.output
        return [found.partition(",")[2] for found in result.stdout.split()]

    return call


def test_verbs_and_options_are_completed(complete):
    assert complete("fairshare que") == ["queues"]
    assert complete("fairshare kill --ta") == ["--tag"]
    assert complete("fairshare admin dr") == ["drain"]


def test_applications_that_have_not_ended_are_completed_by_id_and_number(complete, cluster):
    assert complete("fairshare kill 7") == ["7"]
    found = complete("fairshare kill appl")
    assert found == [application_name(number) for number in (9, 7, 3)]
    assert cluster.calls[-1][2] == {"state": "PENDING,RUNNING", "limit": "200"}
    complete("fairshare status appl")
    assert cluster.calls[-1][2] == {"limit": "200"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("fairshare submit --queue re", ["research.ads", "research.search"]),
        ("fairshare move 7 root.d", ["root.default"]),
        ("fairshare apps --user ", ["ann", "bob"]),
        ("fairshare kill --tag n", ["nightly"]),
        ("fairshare admin drain node-", ["node-1", "node-2"]),
    ],
)
def test_names_of_the_server_are_completed(complete, cluster, line, words):
    tagged = [application(1, "RUNNING", tags=["nightly"]), application(2, "RUNNING", user="bob")]
    cluster.answers["/applications"] = {"applications": tagged}
    assert complete(line) == words


@pytest.mark.parametrize("line", ["fairshare at ", "fairshare at x", "fairshare at --against DIR "])
def test_a_line_without_a_moment_yet_completes_nothing_and_says_nothing(complete, line):
    assert complete(line) == []
    assert complete("fairshare at 2h --ag") == ["--against"]


def test_without_a_server_nothing_is_completed_and_nothing_is_said(complete, cluster):
    cluster.answers["/queues"] = httpx.ConnectError("refused")
    assert complete("fairshare submit --queue re") == []


def test_a_slow_server_is_not_waited_for(complete, cluster, monkeypatch):
    monkeypatch.setattr(completion, "LONGEST_S", 0.05)

    def never(request):
        import time

        time.sleep(30)

    cluster.answers["/queues"] = never
    assert complete("fairshare submit --queue re") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_is_accepted_by_the_shell(run, tmp_path, shell):
    script = run("completion", shell).stdout
    assert "_FAIRSHARE_COMPLETE" in script
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(script)
    checked = subprocess.run([found, "-n", file], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_the_script_which_each_shell_prints_as_it_starts_needs_no_client():
    code = """if True:
        import sys
        from fairshare.cli.verbs import fairshare
        fairshare(["completion", "bash"], standalone_mode=False)
        sys.exit("fairshare.client" in sys.modules)
    """
    subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, timeout=30)


@pytest.mark.slow
def test_bash_completes_with_the_script(tmp_path):
    (tmp_path / "fairshare").write_text(f'#!/bin/sh\nexec {sys.executable} -m fairshare "$@"\n')
    (tmp_path / "fairshare").chmod(0o755)
    line = """
        eval "$(fairshare completion bash)"
        COMP_WORDS=(fairshare que) COMP_CWORD=1
        complete -p fairshare
        _fairshare_completion fairshare
        echo "${COMPREPLY[@]}"
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FAIRSHARE_STATE": str(tmp_path)}
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    done = subprocess.run(
        [bash, "-c", line], env=environment, capture_output=True, text=True, check=True, timeout=30
    )
    assert "-F _fairshare_completion fairshare" in done.stdout
    assert done.stdout.splitlines()[-1] == "queues"

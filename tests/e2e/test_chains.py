"""A night's chain: applications that wait for each other, for an instant, and for their release."""

import re

import pytest

from .test_arrays import server as server
from .test_arrays import shell as shell

SMALL = ("--queue", "a", "--memory", "64m", "--max-attempts", "1")


@pytest.fixture
def submit(shell):
    """Submits a shell line that appends to the file `night`; the application's id."""

    def call(*options, line="echo $FAIRSHARE_APPLICATION_ID >> night"):
        done = shell("submit", *SMALL, *options, "--", "sh", "-c", line)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


def test_a_night_runs_in_its_order_and_outlives_a_failure(shell, submit, server, tmp_path):
    extract = submit("--hold")
    train = submit("--after", extract, line="echo train >> night; exit 1")
    publish = submit("--after", train)
    after_publish = submit("--after", f"{publish}:ok")
    complain = submit("--after", f"{train}:failed", "--after", f"{extract}:any")
    report = submit("--after", f"{complain}:any", "--after", f"{publish}:any", "--begin", "+1s")
    assert not (tmp_path / "night").exists()
    why = shell("why", train)
    assert re.search(rf"It starts after {extract}\.", why.stdout)
    assert "It is held." in shell("status", extract).stdout

    assert shell("release", extract).stdout == f"released {extract}\n"
    states = {name: server.finished(name)["state"] for name in (extract, complain, report)}
    assert set(states.values()) == {"FINISHED"}
    assert (tmp_path / "night").read_text().split() == [extract, "train", complain, report]
    for name in (publish, after_publish):
        found = server.application(name)
        assert found["state"] == "KILLED"
        assert "Application killed: it was to start when" in found["diagnostics"]


def test_a_job_file_waits_and_has_a_deadline(shell, submit, server, tmp_path):
    long = submit(line="sleep 600")
    (tmp_path / "job.yaml").write_text(
        f"queue: a\nafter: '{long}:any'\ndeadline: +5s\ntasks: [{{command: 'true', memory: 64m}}]"
    )
    done = shell("submit", "--job", "job.yaml", "--wait")
    assert done.returncode == 1
    assert "its deadline has passed" in done.stderr
    assert shell("requeue", long).stdout == f"requeued {long}\n"
    assert server.application(long)["attempt"] == 2
    shell("kill", long)


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--after", "application_1_0001"), 1, "there is no application 'application_1_0001'"),
        (("--after", "1:well"), 2, "write an application's id or number"),
        (("--begin", "tomorrow"), 2, "is not an instant: write 22:30"),
        (("--begin", "25:00"), 2, "does not exist"),
        (("--deadline", "2020-01-01"), 1, "the deadline is not in the future"),
        (("--begin", "+2h", "--deadline", "+1h"), 1, "the deadline is not after the begin"),
    ],
)
def test_wrong_conditions_are_refused_with_the_reason(shell, options, code, words):
    done = shell("submit", *SMALL, *options, "--", "true")
    assert done.returncode == code
    assert words in done.stderr

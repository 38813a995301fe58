"""What a user submits with by default, and what comes before it."""

import sys

import pytest

from fairshare.cli.user_defaults import defaults_file, user_defaults
from fairshare.errors import ConfigurationError
from fairshare.mapreduce.jobs import MapReduce

APPLICATION = "application_1700000000000_0001"
WHOLE = """
queue = "ml"
memory = "4g"
vcores = 2
export = ["HF_HOME", "NOT_SET"]
notify = "mailto:ann@example.org"
notify-on = ["failed"]
"""


@pytest.fixture
def defaults(tmp_path, monkeypatch):
    """Writes the file of the user, whose other files are elsewhere."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("FAIRSHARE_QUEUE", "DISPLAY", "NOT_SET"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", "/data/hf")

    def write(text: str) -> None:
        path = defaults_file()
        path.parent.mkdir(parents=True)
        path.write_text(text)

    return write


@pytest.fixture
def submitted(run, cluster):
    cluster.answers["POST /applications"] = {"id": APPLICATION}

    def call(*words: str):
        result = run("submit", *words)
        assert result.exit_code == 0, result.stderr
        return next(body for path, body in cluster.posted() if path == "/applications")

    return call


def test_the_file_says_what_options_do_not(defaults, submitted):
    defaults(WHOLE)
    body = submitted("--", "true")
    (group,) = body["tasks"]
    assert (body["queue"], group["resources"]) == ("ml", {"memory-mb": 4096, "vcores": 2})
    assert (body["notify"], body["notify_on"]) == (["mailto:ann@example.org"], ["failed"])
    assert group["environment"]["HF_HOME"] == "/data/hf"
    assert "NOT_SET" not in group["environment"]


TEMPLATES = """queue = "ml"
[template.big]
memory = "64g"
gpus = 2
time-limit = "8h"
tag = ["sweep", "night"]
hold = true
[template.odd]
memry = 1
"""


def test_a_template_gives_options_and_the_command_line_wins(defaults, submitted):
    defaults(TEMPLATES)
    body = submitted("--template", "big", "--gpus", "1", "--", "true")
    (group,) = body["tasks"]
    assert group["resources"] == {"memory-mb": 65536, "vcores": 1, "yarn.io/gpu": 1}
    assert (group["time_limit_ms"], body["tags"]) == (28_800_000, ["sweep", "night"])
    assert (body["queue"], body["held"]) == ("ml", True)


@pytest.mark.parametrize(
    ("file", "name", "problem"),
    [
        (TEMPLATES, "bog", "has no table [template.bog]: it has big, odd"),
        (TEMPLATES, "odd", "[template.odd]: submit has no option --memry"),
        ('[template.a]\nmemory = "lots"\n', "a", "Invalid value for '--memory'"),
        ("[template.a]\nhold = false\n", "a", "config.toml:2:8: error: hold must be a text"),
        ("template = 1\n", "a", "template must be a mapping"),
        ("", "a", "it has none"),
    ],
)
def test_a_template_that_cannot_be_used_is_named(defaults, run, cluster, file, name, problem):
    defaults(file)
    refused = run("submit", "--template", name, "--", "true")
    assert refused.exit_code != 0
    assert problem in " ".join(refused.stderr.split())
    assert cluster.posted() == []


def test_a_mapreduce_job_goes_into_the_queue_of_the_file(defaults, run, monkeypatch, tmp_path):
    defaults(WHOLE)
    (tmp_path / "in").write_text("a\n")
    made = []
    monkeypatch.setattr(MapReduce, "submit", lambda job, client: made.append(job) or APPLICATION)
    words = ("mapreduce", "--no-wait", "--input", str(tmp_path / "in"), "--output", "out")
    for more in ((), ("--queue", "night"), ("--pool", "p")):
        result = run(*words, "--mapper", "cat", *more)
        assert result.exit_code == 0, result.stderr
    assert [(job.queue, job.pool) for job in made] == [("ml", None), ("night", None), (None, "p")]


def test_options_and_a_variable_come_before_it(defaults, submitted, monkeypatch):
    defaults(WHOLE)
    monkeypatch.setenv("FAIRSHARE_QUEUE", "root.night")
    words = ("--memory", "1g", "--notify", "mailto:bob@example.org", "--export", "none")
    body = submitted(*words, "--", "true")
    (group,) = body["tasks"]
    assert (body["queue"], group["resources"]) == (
        "root.night",
        {"memory-mb": 1024, "vcores": 2},
    )
    assert (body["notify"], "notify_on" in body) == (["mailto:bob@example.org"], False)
    assert "HF_HOME" not in group.get("environment", {})


def test_the_lines_of_a_script_come_before_it(defaults, submitted, tmp_path):
    defaults(WHOLE)
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/sh\n#SBATCH -p gpu -c 8\n")
    body = submitted(str(script))
    assert body["queue"] == "gpu"
    assert body["tasks"][0]["resources"] == {"memory-mb": 4096, "vcores": 8}


def test_a_job_file_gets_only_the_queue_and_the_notices_that_it_lacks(
    defaults, submitted, tmp_path
):
    defaults(WHOLE)
    job = tmp_path / "job.yaml"
    job.write_text("name: x\nqueue: mine\ntasks: [{command: 'true'}]\n")
    body = submitted("--job", str(job))
    assert (body["queue"], body["notify"]) == ("mine", ["mailto:ann@example.org"])
    assert body["tasks"][0]["resources"] == {"memory-mb": 1024, "vcores": 1}


def test_without_a_file_there_are_no_defaults(defaults):
    assert user_defaults() == {}


def test_an_invalid_file_is_refused_with_its_lines_and_nothing_is_submitted(defaults, run, cluster):
    defaults('queue = ""\nmemory = "lots"\nvcore = 2\nnotify = "ann"\n')
    result = run("submit", "--", "true")
    assert (result.exit_code, cluster.posted()) == (1, [])
    for line in (":2:", ":3:", ":4:"):
        assert f"config.toml{line}" in result.stderr
    with pytest.raises(ConfigurationError, match="lots"):
        user_defaults()


def test_a_broken_file_and_one_that_cannot_be_read_are_refused(defaults, run):
    defaults("queue = [")
    assert "not well-formed TOML" in run("submit", "--", "true").stderr
    defaults_file().unlink()
    defaults_file().mkdir()
    assert f"{defaults_file()}: Is a directory" in run("submit", "--", "true").stderr


def test_a_user_at_a_terminal_is_informed_of_what_does_not_come_along(
    defaults, run, cluster, monkeypatch
):
    cluster.answers["POST /applications"] = {"id": APPLICATION}
    monkeypatch.setattr("fairshare.cli.surroundings.sys", _Terminal())
    monkeypatch.setenv("WANDB_API_KEY", "secret")
    told = run("submit", "--env", "WANDB_API_KEY", "--", "true").stderr
    assert "not passed on: HF_HOME" in told
    assert "WANDB_API_KEY" not in told
    assert "not passed on" not in run("submit", "--export", "none", "--", "true").stderr
    defaults('export = ["HF_HOME"]')
    assert "HF_HOME" not in run("submit", "--", "true").stderr


class _Terminal:
    """`sys` with a terminal for errors."""

    class stderr:  # noqa: N801
        @staticmethod
        def isatty() -> bool:
            return True

    def __getattr__(self, name: str) -> object:
        return getattr(sys, name)


@pytest.mark.parametrize("name", ["MODE=fast", "A,B", ""])
def test_what_is_not_the_name_of_a_variable_is_refused(defaults, run, name):
    defaults(f'export = ["HF_HOME", "{name}"]')
    result = run("submit", "--", "true")
    assert result.exit_code != 0
    assert "config.toml:1:" in result.stderr
    assert "export[1]" in result.stderr

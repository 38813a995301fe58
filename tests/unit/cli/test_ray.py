"""`fairshare ray job` runs Ray's own command line with this server's address and the caller's
token."""

import json
import os
import sys

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare
from fairshare.ray import verb as ray


@pytest.fixture
def run(monkeypatch):
    """Runs a command line; the words and the environment that Ray's would get."""
    started = []
    monkeypatch.setattr(ray, "find_spec", lambda name: object())
    monkeypatch.setattr(os, "execve", lambda *given: started.append(given))
    for name in ("FAIRSHARE_USER", "RAY_JOB_HEADERS", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FAIRSHARE_URL", "http://head:8088")
    monkeypatch.setenv("FAIRSHARE_TOKEN", "fst_1_2")

    def run(*words):
        done = CliRunner().invoke(fairshare, ["ray", "job", *words], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        [(program, line, environment)] = started
        assert (program, line[:5]) == (
            sys.executable,
            (sys.executable, "-P", "-m", "ray.scripts.scripts", "job"),
        )
        return line[5:], environment

    return run


def test_ray_gets_the_address_and_the_token_and_the_words_as_they_are(run):
    words, environment = run("logs", "-f", "train-1")
    assert words == ("logs", "-f", "train-1")
    assert environment["RAY_API_SERVER_ADDRESS"] == "http://head:8088"
    assert json.loads(environment["RAY_JOB_HEADERS"]) == {"Authorization": "Bearer fst_1_2"}


def test_our_options_become_metadata_and_those_of_the_entrypoint_stay(run):
    given = ["--queue", "root.ml", "--workers=4", "--no-wait", "--metadata-json", '{"a": "b"}']
    words, _ = run("submit", *given, "--", "python", "train.py", "--queue", "own")
    assert words[0] == "submit"
    name, _, value = words[1].partition("=")
    metadata = {"a": "b", "fairshare.queue": "root.ml", "fairshare.workers": "4"}
    assert (name, json.loads(value)) == ("--metadata-json", metadata)
    assert words[2:] == ("--no-wait", "--", "python", "train.py", "--queue", "own")


def test_without_a_token_the_user_is_named(run, monkeypatch):
    monkeypatch.setattr(ray.Server, "user", lambda self: "ann")
    words, _ = run("submit", "--", "true")
    assert json.loads(words[1].partition("=")[2]) == {"fairshare.user": "ann"}


def test_beside_a_unix_socket_the_http_address_is_used(run, monkeypatch, tmp_path):
    monkeypatch.setenv("FAIRSHARE_URL", "unix:/run/x.sock")
    monkeypatch.setenv("FAIRSHARE_STATE", str(tmp_path))
    refused = CliRunner().invoke(fairshare, ["ray", "job", "list"])
    assert (refused.exit_code, "FAIRSHARE_URL=http://" in refused.output) == (1, True)
    (tmp_path / "url").write_text("http://127.0.0.1:8088\n")
    _, environment = run("list")
    assert environment["RAY_API_SERVER_ADDRESS"] == "http://127.0.0.1:8088"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["submit", "--queue"], "--queue needs a value"),
        (["submit", "--queue", "a", "--metadata-json", "[]", "--", "x"], "is not a JSON object"),
    ],
)
def test_wrong_words_are_called_so(run, words, message):
    done = CliRunner().invoke(fairshare, ["ray", "job", *words])
    assert done.exit_code == 2
    assert message in done.output


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(ray, "find_spec", lambda name: None)
    done = CliRunner().invoke(fairshare, ["ray", "job", "list"])
    assert done.exit_code == 1
    assert "pip install 'fairshare[ray]'" in done.output

"""The command line of a server in the background: that of the one in the foreground."""

import click
import pytest
from click.testing import CliRunner

from fairshare.cli import serve
from fairshare.cli.verbs import fairshare


@pytest.mark.parametrize(
    "words",
    [
        ["--no-hadoop"],
        ["--hadoop", "--keep-containers"],
        ["--stop-containers", "--port", "0", "--nodes", "3"],
        ["--gpus", "2", "--memory-mb", "2048"],
        ["--gpus", "0,1"],
    ],
)
def test_a_server_in_the_background_gets_all_options(tmp_path, words):
    def parameters(words):
        return serve.command.make_context("serve", ["--conf", str(tmp_path), *words])

    given = parameters([*words, "--background"])
    passed_on = parameters(serve.options_of(given, "conf", "background"))
    assert {**passed_on.params, "background": True} == given.params
    assert isinstance(given, click.Context)


def test_without_a_configuration_directory_a_server_says_how_to_make_one(tmp_path, monkeypatch):
    monkeypatch.setattr(serve, "default_directory", lambda: tmp_path / "missing")
    done = CliRunner().invoke(fairshare, ["serve"])
    assert done.exit_code == 2
    assert "`fairshare init`" in done.stderr
    assert str(tmp_path) in done.stderr

"""The command line of a server in the background: that of the one in the foreground."""

import click
import pytest

from fairshare.cli import serve


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

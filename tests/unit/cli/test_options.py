"""Options that several verbs have: names that users may say in more than one way."""

import click
import pytest
from click.testing import CliRunner

from fairshare.cli.options import scheduler_option
from fairshare.cli.verbs import fairshare


@click.command()
@scheduler_option(("fair", "pools"))
def verb(scheduler: str | None) -> None:
    click.echo(scheduler)


@pytest.mark.parametrize(
    ("said", "meant"), [("fair", "fair"), ("mapreduce", "pools"), ("pools", "pools")]
)
def test_the_scheduler_of_mapreduce_has_two_names(said: str, meant: str) -> None:
    assert CliRunner().invoke(verb, ["--scheduler", said]).output == f"{meant}\n"


def test_the_help_says_one_name_and_so_does_a_refusal() -> None:
    assert "[fair|mapreduce]" in CliRunner().invoke(verb, ["--help"]).output
    refused = CliRunner().invoke(verb, ["--scheduler", "drf"])
    assert refused.exit_code == 2
    assert "'drf' is not one of 'fair', 'mapreduce'" in refused.output


@pytest.mark.parametrize(
    ("words", "argument"),
    [
        (["cron", "add", "nightly", "@daily", "--queue", "a", "--", "true"], "NAME: move --queue"),
        (["exec", "1", "--terminal", "sh"], "APP: move --terminal"),
    ],
)
def test_an_option_behind_the_arguments_is_refused(words: list[str], argument: str) -> None:
    environment = {"FAIRSHARE_URL": "http://127.0.0.1:1"}
    refused = CliRunner().invoke(fairshare, words, env=environment)
    assert refused.exit_code == 2
    assert f"options come before {argument} to there" in refused.output

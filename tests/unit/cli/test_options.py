"""Options that several verbs have: names that users may say in more than one way."""

from pathlib import Path

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


@pytest.mark.parametrize("text", ["banana", "-1", "0", "101", "nan", "1e400", ""])
def test_a_number_out_of_its_range_reads_what_is_possible(text: str, tmp_path: Path) -> None:
    words = ["plan", "--against", str(tmp_path), "--load", text]
    refused = CliRunner().invoke(fairshare, words)
    assert refused.exit_code == 2
    assert "is not a number that is possible here: from more than 0 to 100" in refused.output


def test_a_verb_of_admin_is_suggested_where_it_is_missing() -> None:
    assert "did you mean admin drain?" in CliRunner().invoke(fairshare, ["drain", "n1"]).output


@pytest.mark.parametrize("name", ["/", "//"])
def test_slashes_alone_name_no_queue(name: str) -> None:
    refused = CliRunner().invoke(fairshare, ["why", name, "--url", "http://127.0.0.1:1"])
    assert "names nothing: write an id, a number or a name" in refused.output

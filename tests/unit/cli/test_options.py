"""Options that several verbs have: names that users may say in more than one way."""

import click
import pytest
from click.testing import CliRunner

from fairshare.cli.options import scheduler_option


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

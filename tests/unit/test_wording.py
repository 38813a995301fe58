"""Phrases that all rooms say alike."""

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import failure_of, fairshare
from fairshare.documents.problems import Problem
from fairshare.errors import ConfigurationError
from fairshare.wording import cause, counted, failed_call


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("container",), "0 containers"),
        (1, ("container",), "1 container"),
        (1200, ("container",), "1,200 containers"),
        (2, ("query", "queries"), "2 queries"),
        (1, ("query", "queries"), "1 query"),
    ],
)
def test_a_count_agrees_with_its_noun(number, words, text):
    assert counted(number, *words) == text


def test_the_text_of_a_system_error_has_no_number():
    error = PermissionError(13, "Permission denied", "a.xml")
    assert cause(error) == "Permission denied"
    assert failed_call(error) == "a.xml: Permission denied"
    moved = OSError(18, "Invalid cross-device link", "a", None, "b")
    assert failed_call(moved) == "a -> b: Invalid cross-device link"
    assert failed_call(OSError("the line is dead")) == "the line is dead"
    assert cause(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad")) == "this is not a text in UTF-8"


def test_the_error_of_an_unwritable_file_has_no_number(tmp_path):
    scenario = tmp_path / "s.yaml"
    scenario.write_text("scenario: 1\nname: x\nscheduler: fifo\nnodes: []\nsteps: []\n")
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    done = CliRunner().invoke(fairshare, ["record", str(scenario), "--out", str(blocked / "x")])
    assert done.exit_code == 1
    assert done.stderr == f"Error: {blocked / 'x'}: Not a directory\n"


def test_a_problem_that_calls_itself_an_error_gets_no_second_word(capsys):
    problem = Problem("a.xml", 3, 1, "xml", "error", "bad XML")
    failure_of(ConfigurationError([problem, problem])).show()
    assert capsys.readouterr().err == "a.xml:3:1: error: bad XML [xml]\n" * 2
    failure_of(ConfigurationError(["host 'x' is no IP address"])).show()
    assert capsys.readouterr().err == "Error: host 'x' is no IP address\n"

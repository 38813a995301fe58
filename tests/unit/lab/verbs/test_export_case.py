"""Decisions of a small history as scenarios."""

import json

import pytest
from click.testing import CliRunner
from tests.unit.lab.plan.test_plan import SITE, files, recorded

from fairshare.cli.verbs import fairshare
from fairshare.lab.scenarios.report import check_file


@pytest.fixture
def history(tmp_path):
    """Queues a and b have 12 tasks of 10 s each; four run at once, of which three are of a."""
    return recorded(tmp_path, 12)


@pytest.fixture
def conf(tmp_path):
    """The configuration that was in force."""
    return written(tmp_path / "conf", files(3.0))


def written(directory, allocations):
    directory.mkdir()
    (directory / "yarn-site.xml").write_text(SITE)
    (directory / "fair-scheduler.xml").write_text(allocations)
    return directory


def exported(history, conf, *words):
    arguments = ["export-case", "--against", history, "--conf", conf, *words]
    return CliRunner().invoke(fairshare, [str(word) for word in arguments])


@pytest.mark.parametrize("moment", [4, 12, 30, 50])
def test_a_grant_is_exported_as_a_scenario_that_passes(tmp_path, history, conf, moment):
    case = tmp_path / "case.yaml"
    reported = exported(history, conf, "--at", f"record:{moment}", "--out", case)
    assert reported.exit_code == 0, reported.output
    assert check_file(case).result == "passed"
    assert "gets 1 container on n1" in case.read_text()


def test_the_case_of_another_configuration_fails(tmp_path, history, conf):
    case = tmp_path / "case.yaml"
    exported(history, conf, "--at", "record:20", "--out", case)
    case.write_text(case.read_text().replace("<weight>3.0</weight>", "<weight>0.2</weight>"))
    assert check_file(case).result == "failed"


def test_an_application_that_waits_is_exported_with_its_reason(tmp_path, conf):
    history = recorded(tmp_path, 12, until_ms=5_000)
    case = tmp_path / "case.yaml"
    reported = exported(history, conf, "2", "--out", case)
    assert reported.exit_code == 0, reported.output
    assert check_file(case).result == "passed"
    assert json.dumps({"a2": {"why": {"cause": "no-room"}}}) in case.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("1",), "application 1 has ended by that moment: name an earlier one with --at"),
        (("99",), "there is no application 99 at that moment"),
        ((), "nothing is granted after that moment"),
        (("x",), "'x' is not an application"),
        (("--at", "record:9999"), "the journal ends with record"),
    ],
)
def test_what_cannot_be_exported_is_said(history, conf, words, message):
    reported = exported(history, conf, *words)
    assert reported.exit_code == 1
    assert message in " ".join(reported.stderr.split())


def test_a_decision_that_another_configuration_would_not_make_is_not_written(tmp_path, history):
    other = written(tmp_path / "other", files(0.2))
    case = tmp_path / "case.yaml"
    reported = exported(history, other, "--at", "record:20", "--out", case)
    assert reported.exit_code == 1
    assert "the state alone does not reproduce this decision" in reported.stderr
    assert not case.exists()

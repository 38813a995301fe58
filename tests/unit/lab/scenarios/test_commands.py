"""`fairshare check` and `fairshare record`, as they are called."""

import json

import pytest
from click.testing import CliRunner

from fairshare.lab.verbs.scenarios import check_command as check
from fairshare.lab.verbs.scenarios import record_command as record

GOOD = """
scenario: 1
name: good
scheduler: fair
nodes: [{name: n1, resources: {memory-mb: 1024, vcores: 1}}]
steps:
  - expect: {cluster: {total: {memory-mb: 1024}}, nodes: {n1: {exists: true}}}
"""
BAD = GOOD.replace("total: {memory-mb: 1024}", "total: {memory-mb: 2048}").replace("good", "bad")


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "good.yaml").write_text(GOOD)
    return tmp_path


def call(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_scenarios_that_hold_exit_with_zero(directory):
    result = call(check, directory)
    assert result.exit_code == 0
    assert result.output == "1 passed, 0 failed, 0 skipped\n"


WAITING = """
scenario: 1
name: waiting
scheduler: fair
nodes: [{name: n1, resources: {memory-mb: 1024, vcores: 1}}]
steps:
  - submit:
      app: x
      user: ann
      queue: root.a
      asks: [{count: 2, resources: {memory-mb: 1024, vcores: 1}}]
  - update: 1
  - heartbeat: {node: n1, times: 3}
  - expect: {apps: {x: {containers: 2}}}
  - expect: {apps: {x: {containers: 3}}}
"""


def test_the_first_failed_check_shows_queues_and_what_applications_wait_for(directory):
    (directory / "waiting.yaml").write_text(WAITING)
    lines = call(check, directory / "waiting.yaml").output.splitlines()
    assert [line for line in lines if "The cluster after step" in line] == [
        "  The cluster after step 3, at 0 s:"
    ]
    queue = next(line for line in lines if "queue root.a:" in line)
    assert 'used {"memory-mb": 1024, "vcores": 1}' in queue
    assert 'demand {"memory-mb": 2048, "vcores": 2}' in queue
    assert "    x: RUNNING in root.a, 1 container, waits: no-room n1" in lines


def test_a_failed_check_is_one_line_with_expected_and_found(directory):
    path = directory / "bad.yaml"
    path.write_text(BAD)
    result = call(check, directory)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{path}:7 step 0 cluster.total:"
        ' expected {"memory-mb": 2048}, found {"memory-mb": 1024}',
        "  The cluster after step 0, at 0 s:",
        "1 passed, 1 failed, 0 skipped",
    ]


def test_verbose_names_every_scenario(directory):
    result = call(check, "-v", directory)
    assert f"passed {directory / 'below' / 'good.yaml'}: good" in result.output


def test_json_has_expected_and_found_of_each_failed_check(directory):
    path = directory / "bad.yaml"
    path.write_text(BAD)
    result = call(check, directory, "--json")
    assert result.exit_code == 1
    bad, good = json.loads(result.output)
    assert (good["result"], good["checks"], good["problems"]) == ("passed", 2, [])
    assert bad["file"] == str(path)
    assert bad["problems"] == [
        {
            "kind": "differs",
            "step": 0,
            "line": 7,
            "where": "cluster.total",
            "expected": {"memory-mb": 2048},
            "found": {"memory-mb": 1024},
        }
    ]


def test_a_malformed_file_fails_with_its_place(directory):
    path = directory / "malformed.yaml"
    path.write_text(GOOD.replace("expect:", "expct:"))
    result = call(check, directory)
    assert result.exit_code == 1
    assert f"{path}:7:5: error: unknown step 'expct': did you mean 'expect'?" in result.output
    assert result.output.endswith("1 passed, 1 failed, 0 skipped\n")


def test_a_step_of_another_scheduler_fails_and_is_never_skipped(directory):
    path = directory / "mapreduce.yaml"
    path.write_text(GOOD + "  - set_fifo: true\n")
    result = call(check, directory)
    assert result.exit_code == 1
    assert "unknown step 'set_fifo'" in result.output
    assert "1 passed, 1 failed, 0 skipped" in result.output


def test_an_unexpected_refusal_fails(directory):
    path = directory / "refused.yaml"
    path.write_text(GOOD + "  - kill: nobody\n")
    result = call(check, path)
    assert result.exit_code == 1
    assert f"{path}:8 step 1 error: expected no refusal, found no application nobody" in (
        result.output
    )


def test_a_refusal_that_does_not_come_fails(directory):
    path = directory / "accepted.yaml"
    path.write_text(GOOD + "  - submit: {app: a, error: full}\n")
    result = call(check, path)
    assert result.exit_code == 1
    assert "step 1 error: expected a refusal with 'full' in it, found none" in result.output


def test_a_configuration_that_must_be_refused_passes_only_when_it_is(directory):
    bad = "scenario: 1\nscheduler: fair\nerror: allocations\nconfig: {fair-scheduler.xml: <a/>}\n"
    path = directory / "refused.yaml"
    path.write_text(bad)
    assert call(check, path).exit_code == 0
    path.write_text(bad.replace("<a/>", "<allocations/>"))
    assert call(check, path).exit_code == 1


def test_other_yaml_files_of_a_directory_are_skipped_but_not_a_named_one(directory):
    other = directory / "mkdocs.yaml"
    other.write_text("site_name: documentation\n")
    assert "1 passed, 0 failed, 1 skipped" in call(check, directory).output
    named = call(check, other)
    assert named.exit_code == 1
    assert "not a scenario" in named.output


@pytest.mark.parametrize("command", [check, record])
def test_a_missing_file_or_an_empty_directory_is_a_usage_error(command, tmp_path):
    assert call(command, tmp_path / "none.yaml").exit_code == 2
    assert call(command).exit_code == 2
    empty = call(command, tmp_path)
    assert empty.exit_code == 2
    assert "no scenario in" in empty.output


def test_records_keep_the_paths_below_the_common_directory(directory):
    (directory / "top.yaml").write_text(GOOD)
    out = directory / "out"
    assert call(record, directory, "--out", out).exit_code == 0
    found = json.loads((out / "below" / "good.json").read_text())
    assert (found["file"], found["name"]) == ("below/good.yaml", "good")
    assert "state" in found["steps"][0]
    assert (out / "top.json").exists()


def test_records_are_printed_without_a_directory(directory):
    result = call(record, directory, "--states", "end")
    assert result.exit_code == 0
    assert "state" not in json.loads(result.output)["steps"][0]


def test_a_file_that_cannot_be_read_does_not_stop_the_other_records(directory):
    (directory / "a-broken.yaml").write_text("scenario: [")
    result = call(record, directory, "--out", directory / "out")
    assert result.exit_code == 1
    assert "a-broken.yaml:2:1: error: not well-formed YAML" in result.output
    assert list((directory / "out").rglob("*.json")) == [directory / "out" / "below" / "good.json"]

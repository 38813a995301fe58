"""`fairshare lint`: output for people and for programs, exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fairshare.cli.lint import command, wrapped

SHARED = Path(__file__).parents[4] / "shared" / "data" / "configs"
PUBLISHED = sorted([*SHARED.glob("fair/*.xml"), *SHARED.glob("mr1/*.xml")])

GOOD = "<allocations><queue name='a'/></allocations>"
TRAP = "<allocations>\n<queue name='a'><weight>0</weight></queue></allocations>"
BAD = "<allocations>\n<queue name='a'><weight>two</weight></queue></allocations>"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "fair-scheduler.xml"


def test_a_file_without_problems_is_answered_with_a_count_of_none(file: Path) -> None:
    file.write_text(GOOD)
    result = run(file)
    assert (result.exit_code, result.output) == (0, "0 errors, 0 warnings, 0 traps\n")


def test_a_problem_is_shown_below_its_file_with_place_rule_and_what_hadoop_does(file: Path) -> None:
    file.write_text(BAD)
    result = run(file)
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0] == str(file)
    assert " ".join(lines[1].split()) == ("2:25 error <weight>: 'two' is not a number [weight]")
    assert lines[2].strip() == "Hadoop refuses the whole file."
    assert lines[-1] == "1 error, 0 warnings, 0 traps"


def test_a_trap_alone_is_a_failure_only_for_the_strict(file: Path) -> None:
    file.write_text(TRAP)
    assert run(file).exit_code == 0
    assert run(file, "--strict").exit_code == 1
    file.write_text(GOOD)
    assert run(file, "--strict").exit_code == 0


def test_json_has_every_field_of_a_problem(file: Path) -> None:
    file.write_text(TRAP)
    result = run(file, "--json")
    answer = json.loads(result.output)
    (problem,) = answer.pop("problems")
    assert answer == {"errors": 0, "warnings": 0, "traps": 1}
    assert problem.pop("message").startswith("with weight 0")
    assert problem.pop("hadoop")
    assert problem == {
        "file": str(file),
        "line": 2,
        "column": 25,
        "rule": "weight-zero",
        "severity": "trap",
    }


@pytest.mark.parametrize("cluster", ["8192", "memory-mb=x", "vcores=1,vcores=2", "gpu=1", "=1"])
def test_a_cluster_that_cannot_be_is_a_wrong_command_line(file: Path, cluster: str) -> None:
    file.write_text(GOOD)
    result = run(file, "--cluster", cluster)
    assert result.exit_code == 2
    assert "--cluster" in result.output


def test_the_cluster_is_taken_from_the_command_line(file: Path) -> None:
    file.write_text(
        "<allocations>\n<queue name='a'><minResources>2048 mb,2 vcores</minResources></queue>"
        "</allocations>"
    )
    assert "minimums-above-bound" in run(file, "--cluster", "memory-mb=1024, vcores=9").output
    assert run(file, "--cluster", "memory-mb=2048,vcores=2").output.startswith("0 errors")


def test_a_path_that_is_not_there_is_a_wrong_command_line(tmp_path: Path) -> None:
    assert run(tmp_path / "none").exit_code == 2


def test_a_name_cannot_steer_the_terminal(file: Path) -> None:
    file.write_text("<allocations><queue name='a&#x9b;2J'><weight>0</weight></queue></allocations>")
    assert "\x9b" not in run(file).output


def test_a_message_is_wrapped_into_its_column_on_a_terminal_and_nowhere_else() -> None:
    text = "one queue of two has no weight at all"
    assert wrapped(text, None) == text
    lines = wrapped(text, 44).splitlines()
    assert len(lines) == 2
    assert all(len(line) <= 44 for line in (" " * 20 + lines[0], lines[1]))
    assert lines[1].startswith(" " * 20)
    assert " ".join(line.strip() for line in lines) == text


def test_the_examples_of_the_project_have_no_problems() -> None:
    for example in sorted((Path(__file__).parents[3] / "examples").glob("*/yarn-site.xml")):
        result = run(example.parent, "--strict")
        assert (result.exit_code, result.output.splitlines()[-1:]) == (
            0,
            ["0 errors, 0 warnings, 0 traps"],
        ), result.output


@pytest.mark.skipif(not PUBLISHED, reason="the published files in ../shared are not here")
def test_every_published_file_is_answered_without_a_crash() -> None:
    for path in PUBLISHED:
        for arguments in ([], ["--cluster", "memory-mb=8192,vcores=8"]):
            result = run(path, "--json", *arguments)
            assert result.exit_code in (0, 1), (path, result.exception)
            assert isinstance(result.exception, SystemExit | None), path
            problems = json.loads(result.output)["problems"]
            assert all(p["file"] == str(path) and p["line"] for p in problems), path
            errors = any(p["severity"] == "error" for p in problems)
            assert result.exit_code == int(errors)


def test_a_fairshare_toml_by_itself_is_read(tmp_path: Path) -> None:
    file = tmp_path / "fairshare.toml"
    file.write_text("[engine]\nnodes = 2\n")
    assert run(file).output == "0 errors, 0 warnings, 0 traps\n"
    file.write_text("[engine]\nnodez = 2\n")
    result = run(file)
    assert result.exit_code == 1
    assert "nodez" in result.output
    assert "XML" not in result.output


def test_a_fairshare_toml_that_cannot_be_read_is_not_held_against_other_files(tmp_path):
    (tmp_path / "fair-scheduler.xml").write_text(
        "<allocations><queue name='a'><maxResources>memory-mb=50%, vcores=50%, yarn.io/gpu=50%"
        "</maxResources></queue></allocations>"
    )
    (tmp_path / "fairshare.toml").write_text("[engine]\ngpus = 'auto'\n[server]\n[engine]\n")
    done = run(tmp_path)
    assert done.exit_code == 1
    assert "there are two [engine] tables, in lines 1 and 4" in done.stdout
    assert "1 error, 0 warnings" in done.stdout
    assert "yarn.io" not in done.stdout

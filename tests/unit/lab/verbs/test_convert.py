"""`fairshare convert`: what is printed, what is written, exit codes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fairshare.cli.verbs import fairshare
from fairshare.lab.verbs.convert import command
from fairshare.settings.directory import read_directory

FILE = """<allocations>
  <queue name="ml"><weight>1</weight><minResources>12288 mb, 12 vcores</minResources></queue>
  <queue name="etl"><weight>1</weight></queue>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/><rule name="reject"/>
  </queuePlacementPolicy>
</allocations>
"""
CLUSTER = "memory-mb=16384,vcores=16"
WORKLOAD = """
nodes: [{name: n, count: 2, resources: {memory-mb: 8192, vcores: 8}}]
applications:
  - {at: 0s, user: ann, queue: root.ml, groups: [{count: 100, duration: 10s,
     resources: {memory-mb: 1024, vcores: 1}}]}
  - {at: 0s, user: bob, queue: root.etl, groups: [{count: 100, duration: 10s,
     resources: {memory-mb: 1024, vcores: 1}}]}
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fair-scheduler.xml"
    path.write_text(FILE)
    return path


TRACE = "; MaxNodes: 2\n; MaxProcs: 4\n" + "".join(
    f"{number} {number} 0 300 1 -1 -1 1 -1 -1 1 {number % 3} 1 -1 2 -1 -1 -1\n"
    for number in range(1, 40)
)


def test_a_comparison_runs_a_trace_of_a_real_cluster(file: Path, tmp_path: Path) -> None:
    trace = tmp_path / "log.swf"
    trace.write_text(TRACE)
    result = run(file, "--compare", trace)
    assert result.exit_code == 0, result.output
    assert "39 applications" in result.stdout
    assert "waits" in result.stdout


def test_a_comparison_on_a_trace_without_competition_says_so(file: Path, tmp_path: Path) -> None:
    trace = tmp_path / "log.swf"
    trace.write_text("\n".join(TRACE.splitlines()[:3]) + "\n")
    result = run(file, "--compare", trace)
    assert result.exit_code == 0, result.output
    assert "nothing had to wait for room, so that this compares nothing" in result.stdout
    assert "alike" not in result.stdout


def test_the_report_lists_each_element_with_its_outcome_and_nothing_is_written(
    file: Path,
) -> None:
    result = run(file)
    assert result.exit_code == 0
    (row,) = [line for line in result.stdout.splitlines() if "minResources" in line]
    assert row.split()[:2] == ["ml", "minResources"]
    assert "lost" in row
    assert "fair-scheduler.xml:2" in row
    assert " kept, " in result.stdout.splitlines()[-1]
    assert [path.name for path in file.parent.iterdir()] == ["fair-scheduler.xml"]


def test_a_narrow_terminal_gets_a_list_queue_by_queue(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(file).stdout.splitlines()
    at = lines.index("root.ml")
    assert lines[at + 1].split() == ["kept", "weight", "1", "->", "capacity=1w"]
    assert lines[at + 2].split()[:2] == ["lost", "minResources"]


def test_what_is_written_is_a_directory_that_loads(file: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    result = run(file, "--output", new)
    assert result.exit_code == 0
    assert f"Wrote {new / 'capacity-scheduler.xml'}" in result.stdout
    assert sorted(path.name for path in new.iterdir()) == [
        "capacity-scheduler.xml",
        "yarn-site.xml",
    ]
    assert read_directory(new).scheduler == "capacity"


def test_what_is_there_is_written_over_only_by_force(file: Path, tmp_path: Path) -> None:
    (tmp_path / "yarn-site.xml").write_text("mine")
    result = run(file, "--output", tmp_path)
    assert result.exit_code == 1
    assert (tmp_path / "yarn-site.xml").read_text() == "mine"
    assert not (tmp_path / "capacity-scheduler.xml").exists()
    assert run(file, "--output", tmp_path, "--force").exit_code == 0
    assert "CapacityScheduler" in (tmp_path / "yarn-site.xml").read_text()


def test_the_strict_get_nothing_written_when_anything_is_lost(file: Path, tmp_path: Path) -> None:
    new = tmp_path / "new"
    result = run(file, "--strict", "--output", new)
    assert result.exit_code == 1
    assert not new.exists()
    whole = ("--mode", "percentage", "--cluster", CLUSTER, "--output", new)
    assert run(file, "--strict", *whole).exit_code == 0
    assert new.exists()


def test_what_is_not_known_without_yarn_site_xml_is_said_and_the_strict_do_not_take_it(
    file: Path, tmp_path: Path
) -> None:
    time = "<defaultMinSharePreemptionTimeout>60</defaultMinSharePreemptionTimeout></allocations>"
    file.write_text(FILE.replace("</allocations>", time))
    whole = ("--mode", "percentage", "--cluster", CLUSTER)
    result = run(file, *whole)
    lines = result.stdout.splitlines()
    assert lines[0].startswith("There is no yarn-site.xml. Assumed, as Hadoop's defaults: ")
    assert "yarn.scheduler.fair.preemption=false" in lines[0]
    assert lines[-1].endswith("0 lost, 1 not known without yarn-site.xml")
    (row,) = [line for line in lines if "defaultMinSharePreemptionTimeout" in line]
    assert "unknown" in row
    answer = json.loads(run(file, *whole, "--json").stdout)
    assert answer["assumed"]["yarn.acl.enable"] == "false"
    assert answer["unknown"] == 1
    new = tmp_path / "new"
    refused = run(file, *whole, "--strict", "--output", new)
    assert (refused.exit_code, new.exists()) == (1, False)
    assert "Without yarn-site.xml something may be lost" in refused.stderr


def test_a_comparison_of_nothing_is_called_one(file: Path, tmp_path: Path) -> None:
    workload = tmp_path / "workload.yaml"
    workload.write_text(WORKLOAD.replace("count: 100", "count: 2"))
    result = run(file, "--compare", workload)
    assert "this compares nothing" in result.stdout.splitlines()[-1]
    assert "fares alike" not in result.stdout
    answer = json.loads(run(file, "--compare", workload, "--json").stdout)
    assert answer["contended"] is False


def test_rules_of_fs2cs_are_followed(file: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text("minResources.action=abort\n")
    result = run(file, "--rules", rules, "--output", tmp_path / "new")
    assert result.exit_code == 1
    assert not (tmp_path / "new").exists()


def test_both_files_alone_are_printed_where_they_are_wanted(file: Path) -> None:
    result = run(file, "--print")
    assert result.stdout.startswith("<!-- capacity-scheduler.xml -->\n<?xml")
    assert result.stdout.count("</configuration>") == 2
    assert "minResources" in result.stderr


def test_programs_get_everything(file: Path, tmp_path: Path) -> None:
    workload = tmp_path / "workload.yaml"
    workload.write_text(WORKLOAD)
    result = run(file, "--json", "--compare", workload)
    answer = json.loads(result.stdout)
    assert answer["lost"] == 1
    assert "capacity-scheduler.xml" in answer["files"]
    ml = next(queue for queue in answer["comparison"] if queue["name"] == "root.ml")
    assert ml["before"]["shares"][0] == pytest.approx(0.75, abs=0.02)
    assert ml["after"]["shares"][0] == pytest.approx(0.5, abs=0.02)
    assert "its minimum of 12 GB, 12 vcores is not guaranteed there" in ml["sentence"]


def test_a_comparison_has_two_rows_for_each_queue_and_a_sentence(file: Path) -> None:
    result = run(file, "--cluster", CLUSTER, "--nodes", "2", "--compare", "--until", "5m")
    assert result.exit_code == 0
    rows = [line.split()[:2] for line in result.stdout.splitlines()]
    assert ["ml", "fair"] in rows
    assert "root.ml " in result.stdout.splitlines()[-2]
    again = run(file, "--cluster", CLUSTER, "--nodes", "2", "--compare", "--until", "5m")
    assert again.stdout == result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--print", "--json"), "use one"),
        (("--cluster", "gpu=1"), "no resource type 'gpu'"),
        (
            ("--compare", "nowhere.yaml"),
            "there is no workload, trace or state directory nowhere.yaml",
        ),
    ],
)
def test_a_wrong_command_line_is_refused_with_a_message(
    file: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = run(file, *arguments)
    assert (result.exit_code, message in result.stderr) == (2, True)


def test_the_error_of_an_unusable_file_names_its_line(file: Path) -> None:
    file.write_text(FILE.replace("<weight>1<", "<weight>one<", 1))
    result = CliRunner().invoke(fairshare, ["convert", str(file)])
    assert result.exit_code == 1
    assert "fair-scheduler.xml:2" in result.stderr


def test_amounts_without_a_cluster_are_refused_with_the_way_out(file: Path) -> None:
    result = CliRunner().invoke(fairshare, ["convert", str(file), "--mode", "absolute"])
    assert (result.exit_code, "--cluster" in result.stderr) == (1, True)


def test_a_capacity_scheduler_configuration_cannot_be_converted(tmp_path: Path) -> None:
    (tmp_path / "capacity-scheduler.xml").write_text(
        "<configuration><property><name>yarn.scheduler.capacity.root.queues</name>"
        "<value>a</value></property></configuration>"
    )
    done = CliRunner().invoke(fairshare, ["convert", str(tmp_path), "-o", str(tmp_path / "new")])
    assert done.exit_code == 1
    assert "this is a Capacity Scheduler configuration already" in done.output
    assert not (tmp_path / "new").exists()

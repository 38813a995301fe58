"""The verb that runs a workload in no time."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare
from fairshare.core.model.events import NodeAdded
from fairshare.runtime.journal.memory import read_lines

EXAMPLES = Path(__file__).parents[4] / "examples"
CONFIGURATION = EXAMPLES / "three-teams"
WORKLOAD = EXAMPLES / "workloads" / "three-teams.yaml"

SMALL = """
applications:
  - at: 0s
    user: ann
    queue: root.research
    name: "small\\e[31m"
    groups: [{count: 3, resources: {memory-mb: 256, vcores: 1}, duration: 10s}]
"""


@pytest.fixture
def simulate(tmp_path):
    """Call the verb; other options and another workload may be given."""

    def call(*options: str, workload: str | Path = SMALL, conf: Path = CONFIGURATION):
        if isinstance(workload, str):
            path = tmp_path / "w.yaml"
            path.write_text(workload)
        else:
            path = workload
        arguments = ["simulate", "--conf", str(conf), "--workload", str(path), *options]
        return CliRunner().invoke(fairshare, arguments)

    return call


def report_of(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_example_shows_what_fair_shares_are_good_for(simulate):
    waits = {}
    for scheduler in ("fair", "fifo"):
        report = report_of(simulate("--json", "--scheduler", scheduler, workload=WORKLOAD))
        assert report["scheduler"] == scheduler
        assert report["applications_by_state"]["FINISHED"] == len(report["applications"]) > 50
        (questions,) = (user for user in report["users"] if user["name"] == "ada")
        waits[scheduler] = questions["waiting"]["p95"]
    assert waits["fair"] < 60_000 < 600_000 < waits["fifo"]


def test_the_tables_name_queues_users_and_applications(simulate):
    result = simulate(workload=WORKLOAD)
    assert result.exit_code == 0
    for word in ("production", "research", "adhoc", "rhea", "parameter-sweep", "flaky-import"):
        assert word in result.stdout
    assert "applications with the longest turnaround of 58" in result.stdout


def test_names_cannot_steer_the_terminal(simulate):
    result = simulate()
    assert "small?[31m" in result.stdout
    assert "\x1b" not in result.stdout


def test_without_nodes_in_the_workload_those_of_fairshare_toml_are_taken(simulate, tmp_path):
    events = tmp_path / "events.jsonl"
    report_of(simulate("--json", "--events", str(events)))
    added = [e for r in read_lines(events) for e in r.events if isinstance(e, NodeAdded)]
    assert [(one.node, one.total) for one in added] == [("node-1", (3072, 12))]


def test_nodes_of_the_command_line_come_first(simulate, tmp_path):
    events = tmp_path / "events.jsonl"
    options = ["--nodes", "2", "--node-memory-mb", "512", "--node-vcores", "3"]
    report = report_of(simulate("--json", "--events", str(events), *options, workload=WORKLOAD))
    assert report["timeline"][0]["total"] == {"memory-mb": 1024, "vcores": 6}
    added = [e for r in read_lines(events) for e in r.events if isinstance(e, NodeAdded)]
    assert [one.node for one in added] == ["node-1", "node-2"]


def test_a_node_has_hadoop_s_size_unless_something_else_is_said(simulate):
    report = report_of(simulate("--json", "--nodes", "1"))
    assert report["timeline"][0]["total"] == {"memory-mb": 8192, "vcores": 8}


def test_sizes_without_a_number_of_nodes_are_refused(simulate):
    result = simulate("--node-memory-mb", "512")
    assert result.exit_code == 2
    assert "need --nodes" in result.stderr


def test_without_any_nodes_it_says_what_to_do(simulate, tmp_path):
    conf = tmp_path / "conf"
    conf.mkdir()
    for name in ("yarn-site.xml", "fair-scheduler.xml"):
        (conf / name).write_bytes((CONFIGURATION / name).read_bytes())
    result = simulate(conf=conf)
    assert result.exit_code == 2
    assert "say how many with --nodes" in result.stderr


def test_a_simulation_may_be_cut_off(simulate):
    report = report_of(simulate("--json", "--until", "5s"))
    assert report["end_ms"] == 5_000
    assert report["applications_by_state"]["RUNNING"] == 1


def test_every_problem_of_a_workload_is_printed(simulate):
    result = simulate(workload="applications: [{at: soon, user: 3}]\n")
    assert result.exit_code == 1
    assert "w.yaml:1:21: error: applications[0].at: 'soon' is not a duration" in result.stderr
    assert "applications[0] needs a value for 'groups'" in result.stderr


def test_the_error_names_the_file_of_an_unusable_configuration(simulate, tmp_path):
    (tmp_path / "fair-scheduler.xml").write_text("<allocations>")
    (tmp_path / "yarn-site.xml").write_bytes((CONFIGURATION / "yarn-site.xml").read_bytes())
    result = simulate(conf=tmp_path)
    assert result.exit_code == 1
    assert "fair-scheduler.xml" in result.stderr


def test_an_unwritable_file_of_records_is_reported(simulate, tmp_path):
    result = simulate("--events", str(tmp_path / "nowhere" / "events"))
    assert result.exit_code == 1
    assert "cannot write" in result.stderr


def test_traces_take_their_own_options(simulate, tmp_path):
    path = tmp_path / "log.swf"
    columns = [-1] * 18
    for column, value in {1: 1, 2: 0, 4: 5, 8: 6, 12: 9, 13: 2}.items():
        columns[column - 1] = value
    path.write_text(" ".join(map(str, columns)) + "\n")
    options = ["--queue-from", "user", "--processors-per-task", "4"]
    options += ["--memory-per-processor-mb", "100", "--scheduler", "fifo"]
    report = report_of(simulate("--json", *options, workload=path))
    (one,) = report["applications"]
    assert (one["user"], one["containers"], one["state"]) == ("user9", 2, "FINISHED")


def test_nodes_offer_the_further_types_that_the_configuration_gives_them(simulate, tmp_path):
    conf = tmp_path / "conf"
    conf.mkdir()
    for file in CONFIGURATION.iterdir():
        (conf / file.name).write_bytes(file.read_bytes())
    (conf / "resource-types.xml").write_text(
        "<configuration><property><name>yarn.resource-types</name><value>fpga</value></property>"
        "</configuration>"
    )
    (conf / "fairshare.toml").write_text("[engine.resources]\nfpga = 2\n")
    events = tmp_path / "events"
    result = simulate("--nodes", "2", "--events", str(events), conf=conf)
    assert result.exit_code == 0, result.output
    records = read_lines(events)
    totals = [e.total for record in records for e in record.events if isinstance(e, NodeAdded)]
    assert [total[2] for total in totals] == [2, 2]


def test_an_application_that_never_finishes_is_reported_with_its_reason_and_exit_code_1(simulate):
    large = SMALL.replace("vcores: 1}, duration", "vcores: 4}, duration")
    result = simulate("--nodes", "2", "--node-vcores", "3", workload=large)
    assert result.exit_code == 1
    assert "Not over at the end: 1 application." in result.output
    (line,) = [line for line in result.output.splitlines() if line.startswith("  small")]
    assert "4" in line
    assert "3" in line
    found = json.loads(
        simulate("--json", "--nodes", "2", "--node-vcores", "3", workload=large).stdout
    )
    (unfinished,) = found["unfinished"]
    assert (unfinished["cause"], unfinished["for_ever"]) == ("larger-than-every-node", True)
    assert unfinished["sentence"] in " ".join(result.output.split())
    assert unfinished["remedy"]


def test_a_gang_that_is_larger_than_the_cluster_never_starts(simulate):
    gang = SMALL.replace("count: 3,", "count: 3, gang: true,")
    result = simulate("--json", "--nodes", "2", "--node-vcores", "1", workload=gang)
    assert result.exit_code == 1
    (unfinished,) = json.loads(result.stdout)["unfinished"]
    assert (unfinished["cause"], unfinished["for_ever"]) == ("gang-larger-than-cluster", True)


def test_unfinished_work_is_not_a_failure(simulate):
    result = simulate("--until", "5s")
    assert result.exit_code == 0
    assert "it runs" in result.output


def test_a_rejected_application_is_reported_with_its_reason_and_exit_code_1(simulate):
    refused = SMALL.replace("memory-mb: 256", "memory-mb: 99999999")
    assert refused != SMALL
    result = simulate("--nodes", "2", workload=refused)
    assert result.exit_code == 1
    assert result.stderr.startswith("rejected: small?[31m: ")
    assert "99,999,999 MB of memory" in result.stderr


@pytest.mark.parametrize("options", [(), ("--scheduler", "capacity")])
def test_the_configuration_or_the_option_chooses_the_capacity_scheduler(simulate, options):
    conf = EXAMPLES / "three-teams-capacity"
    report = report_of(simulate("--json", *options, workload=WORKLOAD, conf=conf))
    assert report["scheduler"] == "capacity"
    assert report["applications_by_state"]["FINISHED"] == len(report["applications"]) > 50
    (questions,) = (user for user in report["users"] if user["name"] == "ada")
    assert questions["waiting"]["p95"] < 60_000

"""What is tried without a cluster can be called from Python, and shows itself in a notebook."""

import inspect
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import fairshare
from fairshare.client import Rows
from fairshare.errors import FairshareError
from fairshare.lab.testing.cluster import FairshareCluster

ROOT = Path(__file__).parents[3]
CONF = ROOT / "examples" / "three-teams"
NODE = "{name: n1, resources: {memory-mb: 1024, vcores: 2}}"
NAME = "<img src=x onerror=alert(1)>"


@pytest.fixture
def workload(tmp_path):
    path = tmp_path / "workload.yaml"
    group = "{name: g, count: 4, resources: {memory-mb: 1024, vcores: 1}, duration: 1m}"
    job = f"{{at: 0s, user: ann, queue: root.adhoc, name: '{NAME}', groups: [{group}]}}"
    path.write_text(f"nodes: [{NODE}]\napplications: [{job}, {job}]\n")
    return path


def test_a_simulation_has_its_report_which_shows_itself(workload):
    report = fairshare.simulate(CONF, str(workload))
    assert report.makespan_ms >= 480_000, "eight tasks, one after the other"
    shown = report._repr_html_()
    assert "Wait p50" in shown
    assert "<img" not in shown
    assert "&lt;img" in shown


def test_a_simulation_ends_at_a_time_and_has_as_many_nodes_as_the_call_says(workload):
    report = fairshare.simulate(CONF, workload, nodes=8, node_memory_mb=1024, until_s=30)
    assert report.end_ms == 30_000
    assert report.containers.granted == 8
    assert "Not over at the end" in report._repr_html_()


def test_simulations_are_compared_by_name(workload):
    one = fairshare.simulate(CONF, workload)
    two = fairshare.simulate(CONF, workload, nodes=2, node_memory_mb=1024)
    comparison = fairshare.compare({"one <b>": one, "two": two})
    assert [run.name for run in comparison.runs] == ["one <b>", "two"]
    assert comparison.pairings[0].mean_ms < 0
    shown = comparison._repr_html_()
    assert "one &lt;b&gt;" in shown
    assert "the mean turnaround changes by" in shown


def test_a_plan_says_what_more_nodes_would_have_done(workload):
    plan = fairshare.plan(workload, nodes="2x", present=CONF)
    assert plan.edits
    assert plan.trace is not None
    assert plan.whole.after.turnaround_mean < plan.whole.before.turnaround_mean
    shown = plan._repr_html_()
    assert plan.edits[0] in shown
    assert "Reaches back" not in shown, "a trace has no instants of its own"


def test_the_queues_of_a_plan_become_a_frame(workload, monkeypatch):
    stub = SimpleNamespace(DataFrame=lambda rows, columns: (rows, columns))
    monkeypatch.setitem(sys.modules, "pandas", stub)
    plan = fairshare.plan(workload, nodes="2x", present=CONF)
    rows, columns = Rows(plan.queues).to_frame()
    assert {"name", "before.turnaround_mean", "after.turnaround_mean"} <= {*columns}
    assert [row["name"] for row in rows] == [one.name for one in plan.queues]
    rows, columns = fairshare.simulate(CONF, workload).to_frame()
    assert [row["waiting_ms"] for row in rows] == sorted(row["waiting_ms"] for row in rows)


def test_a_trace_of_a_cluster_is_simulated_by_its_mapping(tmp_path):
    trace = tmp_path / "trace.swf"
    fields = "{n} {n} -1 60 1 -1 -1 1 60 -1 1 7 1 1 1 1 -1 -1\n"
    trace.write_text("; MaxNodes: 1\n; MaxProcs: 4\n" + "".join(fields.format(n=n) for n in (1, 2)))
    mapping = tmp_path / "map.yaml"
    mapping.write_text("default: root.production\n")
    report = fairshare.simulate(CONF, trace, mapping=mapping, limit=1, nodes=1)
    assert [one.queue for one in report.applications] == ["root.production"]


def test_a_simulated_cluster_shows_its_queues():
    cluster = FairshareCluster(CONF)
    cluster.submit("root.adhoc", tasks=2)
    cluster.advance(5)
    shown = cluster._repr_html_()
    assert "At 5 s" in shown
    assert "root.adhoc" in shown
    assert "2048 MB, 2 vcores" in shown


def test_scenarios_are_checked(tmp_path):
    text = (ROOT / "examples" / "scenarios" / "three-teams.yaml").read_text()
    broken = tmp_path / "broken.yaml"
    broken.write_text("scenario: 1\n<b>: 1\n")
    good = tmp_path / "good.yaml"
    good.write_text(
        text.replace("../three-teams", str(CONF)).replace(
            "three-teams-with", f"{ROOT}/examples/scenarios/three-teams-with"
        )
    )
    results = fairshare.check(tmp_path)
    assert [one.result for one in results] == ["failed", "passed"]
    shown = results._repr_html_()
    assert "passed" in shown
    assert "<b>" not in shown


def test_lint_has_a_row_for_each_problem(tmp_path):
    file = tmp_path / "fair-scheduler.xml"
    file.write_text('<allocations><queue name="a"><weight>no</weight></queue></allocations>')
    problems = fairshare.lint(file)
    assert [one.severity for one in problems] == ["error"]
    assert "is not a number" in problems._repr_html_()
    assert fairshare.lint(CONF) == ()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fairshare.simulate("/nowhere", "w.yaml"), "/nowhere is not a directory"),
        (lambda: fairshare.simulate(CONF, "/nowhere.yaml"), "there is no trace /nowhere.yaml"),
        (lambda: fairshare.simulate(CONF, "w.yaml", nodes=0), "nodes is 0: write a number from 1"),
        (lambda: fairshare.simulate(CONF, "w.yaml", scheduler="best"), "no scheduler 'best'"),
        (lambda: fairshare.plan("/nowhere", nodes="2x"), "/nowhere has no journal"),
        (lambda: fairshare.plan("/nowhere"), "nothing changes"),
        (lambda: fairshare.plan("/nowhere", nodes="2x", last_s=-1), "last_s is -1"),
        (lambda: fairshare.plan("/nowhere", load=0), "load is 0"),
        (lambda: fairshare.compare({}), "there are no reports"),
        (fairshare.check, "name files of scenarios"),
        (lambda: fairshare.lint("/nowhere"), "there is no /nowhere"),
    ],
)
def test_a_wrong_call_is_refused_in_plain_words(call, words):
    with pytest.raises((ValueError, FairshareError)) as error:
        call()
    assert words in str(error.value)


@pytest.mark.parametrize("name", ["check", "compare", "lint", "plan", "simulate"])
def test_each_call_is_described(name):
    call = getattr(fairshare, name)
    assert inspect.getdoc(call)
    assert f"fairshare.{name}(" in (ROOT / "docs" / "python.md").read_text()

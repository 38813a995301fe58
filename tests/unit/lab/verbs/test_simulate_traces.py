"""The verb that simulates, with traces of real clusters."""

import doctest
import json
import signal
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from fairshare.cli.verbs import fairshare
from fairshare.lab.simulate.traces.rows import lines_of, on_read
from fairshare.lab.verbs import simulation_watch
from fairshare.lab.verbs.simulation_watch import Watch, progress_text

ROOT = Path(__file__).parents[4]
CONFIGURATION = ROOT / "examples" / "three-teams"
TRACES = ROOT.parent / "shared" / "data" / "traces"
LOG = "; MaxNodes: 4\n; MaxProcs: 32\n" + "".join(
    f"{number} {60 * number} 0 300 {number} -1 -1 {number} -1 -1 1 {number % 3} 1 -1 2 -1 -1 -1\n"
    for number in range(1, 11)
)


@pytest.fixture
def simulate(tmp_path):
    def call(*options, trace=None, conf=CONFIGURATION):
        if trace is None:
            trace = tmp_path / "log.swf"
            trace.write_text(LOG)
        arguments = ["simulate", str(trace), "--conf", str(conf), *map(str, options)]
        return CliRunner().invoke(fairshare, arguments)

    return call


def test_a_trace_runs_under_a_configuration_that_does_not_know_it(simulate):
    result = simulate()
    assert result.exit_code == 0, result.output
    assert "Applications  10 finished" in result.stdout
    assert "The configuration has no place for these queues and users of the trace" in " ".join(
        result.stdout.split()
    )


def test_tasks_are_whole_or_divided(simulate):
    """The nodes have 8 processors and 8 GB, the configuration's largest container has 1 GB."""
    report = json.loads(simulate("--json").stdout)
    assert [one["containers"] for one in report["applications"]] == [1] * 8 + [2, 2]
    assert any("is memory-mb=8192, vcores=8, not" in note for note in report["notes"])
    divided = json.loads(simulate("--json", "--divide").stdout)
    assert [one["containers"] for one in divided["applications"]] == list(range(1, 11))
    assert not any("maximum allocation" in note for note in divided["notes"])


@pytest.mark.parametrize("scheduler", ["capacity", "fifo"])
def test_tasks_are_whole_under_other_schedulers_too(simulate, scheduler):
    report = json.loads(simulate("--json", "--scheduler", scheduler).stdout)
    assert report["applications_by_state"]["FINISHED"] == 10
    assert [one["containers"] for one in report["applications"]] == [1] * 8 + [2, 2]


def test_the_first_jobs_of_a_trace_can_be_taken(simulate):
    for option in (("--limit", 3), ("--span", "2m")):
        assert len(json.loads(simulate("--json", *option).stdout)["applications"]) == 3


def test_the_nodes_can_be_those_of_another_cluster(simulate, tmp_path):
    file = tmp_path / "nodes.txt"
    file.write_text("NodeName=n1 CPUTot=16 RealMemory=65536 State=IDLE")
    total = json.loads(simulate("--json", "--cluster-from", file).stdout)["timeline"][0]["total"]
    assert total == {"memory-mb": 65536, "vcores": 16}
    example = ROOT / "examples" / "workloads" / "three-teams.yaml"
    options = ("--json", "--until", "1m", "--cluster-from", file)
    report = json.loads(simulate(*options, trace=example).stdout)
    assert report["timeline"][0]["total"] == {"memory-mb": 65536, "vcores": 16}
    assert simulate("--cluster-from", file, "--nodes", 3).exit_code == 2
    assert "cannot read nowhere" in simulate("--cluster-from", "nowhere").stderr


def test_a_mapping_chooses_queues(simulate, tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text("{users: {user1: root.research}, default: root.adhoc}")
    report = json.loads(simulate("--json", "--map", file).stdout)
    queues = {one["user"]: one["queue"] for one in report["applications"]}
    assert queues == {"user0": "root.adhoc", "user1": "root.research", "user2": "root.adhoc"}


def test_rejected_jobs_are_the_first_line_and_exit_code_1(simulate, tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text("{users: {user1: root.zoo}}")
    result = simulate("--map", file)
    assert result.exit_code == 1
    first = result.stdout.splitlines()[0]
    assert first.startswith("4 of 10 applications were rejected: ")
    assert first.endswith("Choose queues that take them with --map.")


def test_a_workload_may_be_named_like_a_trace(simulate):
    example = ROOT / "examples" / "workloads" / "three-teams.yaml"
    assert simulate("--until", "1m", trace=example).exit_code == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--workload", __file__], "name a TRACE, or a workload with --workload, and not both"),
        (["--queue-from", "user"], "--queue-from cannot be given here: a trace says it itself"),
        (["--limit", "0"], "0 is too small"),
        (["--map", "/nowhere"], "does not exist"),
    ],
)
def test_options_without_an_effect_are_refused(simulate, options, reason):
    result = simulate(*options)
    assert result.exit_code == 2
    assert reason in result.output


def test_options_of_traces_are_refused_with_a_workload(simulate):
    result = simulate("--gang", trace=ROOT / "examples" / "workloads" / "three-teams.yaml")
    assert result.exit_code == 2
    assert "--gang cannot be given here" in result.output
    result = simulate("--divide", trace=ROOT / "examples" / "workloads" / "three-teams.yaml")
    assert "--divide cannot be given here" in result.output


def test_neither_a_trace_nor_a_workload_is_a_usage_error():
    result = CliRunner().invoke(fairshare, ["simulate", "--conf", str(CONFIGURATION)])
    assert result.exit_code == 2


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("log.swf", "1 2 3\n", "log.swf:1: has 3 columns"),
        ("table.csv", "a,b\n", "no known trace is in"),
    ],
)
def test_what_is_not_a_trace_is_refused_with_its_line(simulate, tmp_path, name, text, reason):
    trace = tmp_path / name
    trace.write_text(text)
    result = simulate(trace=trace)
    assert result.exit_code == 1
    assert reason in result.stderr


def test_ctrl_c_ends_a_simulation_with_a_report(simulate, monkeypatch):
    asked = []

    def interrupt(self, now_ms):
        asked.append(now_ms)
        if now_ms >= 180_000:
            signal.raise_signal(signal.SIGINT)
        return self.interrupted

    monkeypatch.setattr(Watch, "__call__", interrupt)
    result = simulate()
    assert result.exit_code == 130
    assert "Ctrl-C ended the simulation" in result.stderr
    assert "Scheduler     fair" in result.stdout
    assert asked[-1] < 600_000


def test_ctrl_c_while_a_trace_is_read_says_that_there_is_no_report(simulate, monkeypatch):
    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("fairshare.lab.verbs.simulate.read_trace", interrupt)
    result = simulate()
    assert (result.exit_code, result.stdout) == (130, "")
    assert "Ctrl-C ended it: there is no report" in result.stderr


@pytest.mark.slow
def test_ctrl_c_ends_an_instant_that_takes_long(simulate, tmp_path, monkeypatch):
    """Its 60 jobs start 60,000 tasks at once, and it is interrupted soon after it has begun."""
    nodes = "; MaxNodes: 2000\n; MaxProcs: 64000\n"
    jobs = "".join(
        f"{number} 0 0 3000 1000 -1 -1 1000 -1 -1 1 1 1 -1 2 -1 -1 -1\n" for number in range(1, 61)
    )
    trace = tmp_path / "large.swf"
    trace.write_text(nodes + jobs)
    timer = threading.Timer(0.05, lambda: signal.raise_signal(signal.SIGINT))
    begins = Watch.simulates

    def begin(watch, times_ms, later=0):
        begins(watch, times_ms, later)
        timer.start()

    monkeypatch.setattr(Watch, "simulates", begin)
    began_s = time.monotonic()
    result = simulate(trace=trace)
    timer.join()
    assert result.exit_code == 130, result.output
    assert time.monotonic() - began_s < 30


@pytest.mark.slow
def test_a_terminal_sees_how_far_it_is_although_one_instant_takes_long(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Watch() as watch:
        watch.reads(CONFIGURATION)
        until("reading three-teams", capsys)
        watch.simulates([0, 10])
        until("1 of 2 applications arrived", capsys)
        assert watch(10) is False
        until("waiting for their ends", capsys)


def until(text, capsys):
    """Wait until this was written."""
    said, began_s = "", time.monotonic()
    while text not in said:
        assert time.monotonic() - began_s < 30, said
        time.sleep(0.01)
        said += capsys.readouterr().err


def test_progress_estimates_the_rest_by_the_pace_so_far():
    assert progress_text(0, 0, [10], 1.0) == "0 h simulated, 0 of 1 application arrived, for 1 s"
    assert progress_text(10, 1, [10], 1.0).endswith("waiting for their ends")
    assert progress_text(1, 1, [0, 3_601], 1.0).endswith("about 1h 00m left")
    assert doctest.testmod(simulation_watch).failed == 0


def test_reading_is_measured_by_what_was_read(tmp_path, monkeypatch):
    trace = tmp_path / "log.swf"
    trace.write_text(LOG)
    monkeypatch.setattr("sys.stderr.isatty", lambda: False)
    with Watch() as watch:
        watch.reads(trace)
        read = sum(len(text) + 1 for _, text in lines_of(trace))
        assert watch._read == read == trace.stat().st_size
    assert on_read.get() is None


@pytest.mark.slow
@pytest.mark.skipif(not TRACES.is_dir(), reason="the shared traces are not beside this checkout")
@pytest.mark.parametrize(
    "folder", sorted(TRACES.iterdir()) if TRACES.is_dir() else [], ids=lambda path: path.name
)
def test_every_shared_trace_runs_on_the_first_try(simulate, folder):
    result = simulate("--limit", 3, "--json", trace=folder)
    assert result.exit_code == 0, result.output
    states = json.loads(result.stdout)["applications_by_state"]
    assert states["FINISHED"] == sum(states.values())

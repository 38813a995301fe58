"""What a report says of fairness and lost work, and its tables and plots."""

import contextlib
import doctest
import sqlite3
import xml.etree.ElementTree as ElementTree

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined, SubmitApplication
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.model.work import TaskGroup
from fairshare.core.schedulers.fair.settings import AllocationSettings, FairSettings, QueueSettings
from fairshare.lab.simulate import plots
from fairshare.lab.simulate.comparison import starvations, summary, used_most
from fairshare.lab.simulate.plots import svg, write_plots
from fairshare.lab.simulate.simulator import Simulator
from fairshare.lab.simulate.tables import ExportError, tables, write_parquet, write_sqlite
from fairshare.lab.simulate.workload import Arrival, GroupPlan, Workload
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.settings.registry import family_of

QUEUES = {
    "root.a": QueueSettings("root.a", min_share=(1024, 1)),
    "root.<b>": QueueSettings("root.<b>", fair_share_timeout_ms=2_000, fair_share_threshold=1.0),
}


def run(*arrivals, preemption=False):
    queues = AllocationSettings(queues=QUEUES, from_file=True)
    settings = FairSettings(allocations=queues, preemption=preemption)
    manager = ResourceManager(family_of("fair").create(ResourceTypes()))
    nodes = (NodeJoined("n1", (4096, 4)), NodeJoined("n2", (4096, 4), "/far"))
    workload = Workload(nodes, arrivals)
    return Simulator(manager, msgspec.json.encode(settings), workload, MemoryJournal()).run()


def arrival(at_ms, queue, tasks, run_ms, **fields):
    group = TaskGroup("t", tasks, (1024, 1), **fields)
    return Arrival(at_ms, SubmitApplication("ann", queue, tasks=(group,)), (GroupPlan(run_ms),))


@pytest.fixture(scope="module")
def report():
    """a has all 8 containers for 60 s; b wants 4 from 10 s on and gets them by preemption."""
    return run(
        arrival(0, "root.a", 16, 60_000),
        arrival(10_000, "root.<b>", 4, 30_000, hosts=("n1",)),
        preemption=True,
    )


def test_queues_have_demand_entitlement_and_guarantee_over_time(report):
    sample = next(one for one in report.timeline if one.at_ms == 4_000)
    a = sample.queues["root.a"]
    assert (a.used["memory-mb"], a.demand["memory-mb"]) == (8192, 16384)
    assert a.entitled["memory-mb"] == a.fair_share["memory-mb"] == 8192
    assert a.guaranteed["memory-mb"] == 1024
    later = next(one for one in report.timeline if one.at_ms == 12_000).queues["root.<b>"]
    assert (later.demand["memory-mb"], later.entitled["memory-mb"]) == (4096, 4096)


def test_what_preemption_destroyed_is_the_memory_times_the_age_of_the_containers(report):
    a, b = report.applications
    assert a.preempted_containers > 0
    assert a.preempted_mb_ms == a.lost_mb_ms > 0
    assert a.preempted_mb_ms % 1024 == 0
    assert (b.preempted_mb_ms, b.lost_mb_ms) == (0, 0)
    whole = summary("", report).whole
    assert whole.preempted_gb_hours == pytest.approx(a.lost_mb_ms / 1024 / 3_600_000)


def test_locality_is_of_applications_that_want_places(report):
    a, b = report.applications
    assert a.near == ()
    assert sum(b.near) == b.containers
    run_ = summary("", report)
    assert run_.whole.on_node == b.near[0] / b.containers
    assert run_.queues[1].on_node is None  # of a


def test_the_longest_starvation_is_that_of_the_queue_below_its_entitlement(report):
    found = starvations(report)
    run_ = summary("", report)
    assert (run_.starved_queue, run_.starved_ms) == ("root.<b>", found["root.<b>"])
    assert 2_000 <= run_.starved_ms <= 20_000
    assert used_most(report) == 1.0


def test_the_tables_are_in_an_sqlite_file(report, tmp_path):
    path = tmp_path / "run.db"
    for _ in range(2):  # a new file takes the place of an earlier one
        write_sqlite(path, tables(report))
    with contextlib.closing(sqlite3.connect(path)) as file, file:
        assert file.execute("SELECT count(*) FROM applications").fetchone() == (2,)
        (used, wanted) = file.execute(
            "SELECT used, demand FROM timeline"
            " WHERE at_ms = 4000 AND queue = 'root.a' AND resource = 'memory-mb'"
        ).fetchone()
        assert (used, wanted) == (8192, 16384)
        assert file.execute("SELECT scheduler, starved_queue FROM run").fetchone() == (
            "fair",
            "root.<b>",
        )
        names = file.execute("SELECT name FROM groups WHERE kind = 'queue' ORDER BY name")
        assert names.fetchall() == [("root.<b>",), ("root.a",)]
    assert [one.name for one in tmp_path.iterdir()] == ["run.db"]


def test_a_file_that_cannot_be_written_is_named(report, tmp_path):
    with pytest.raises(ExportError, match=r"cannot write .*nowhere"):
        write_sqlite(tmp_path / "nowhere" / "run.db", tables(report))


def test_without_pyarrow_the_message_says_what_to_install(report, tmp_path, monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr("fairshare.lab.simulate.tables.importlib.import_module", absent)
    with pytest.raises(ExportError, match=r"pip install 'fairshare\[parquet\]'"):
        write_parquet(tmp_path, tables(report))


def test_the_tables_are_in_parquet_files(report, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is an extra")
    write_parquet(tmp_path / "new", tables(report))
    found = parquet.read_table(tmp_path / "new" / "applications.parquet")
    assert found.column("queue").to_pylist() == ["root.a", "root.<b>"]


def test_plots_are_images_in_which_names_are_text(report, tmp_path):
    paths = write_plots(tmp_path / "new", report)
    assert sorted(path.name for path in paths) == [
        "queue--b-.svg",
        "queue-a.svg",
        "use.svg",
        "waits.svg",
    ]
    for path in paths:
        ElementTree.parse(path)
    text = (tmp_path / "new" / "use.svg").read_text()
    assert "&lt;b&gt;" in text
    assert text == svg(plots.plots(report)["use"])


def test_a_report_of_nothing_has_plots_too(tmp_path):
    for path in write_plots(tmp_path, run()):
        ElementTree.parse(path)


def test_queues_whose_names_are_alike_have_plots_of_their_own():
    queue = run(arrival(0, "root.a", 1, 1_000)).queues[0]
    same = [msgspec.structs.replace(queue, name=name) for name in ("root.x.y", "root.x-y")]
    report = msgspec.structs.replace(run(), queues=tuple(same))
    assert len([name for name in plots.plots(report) if name.startswith("queue-")]) == 2


@pytest.mark.parametrize("module", [plots])
def test_the_examples_of_the_modules_hold(module):
    assert doctest.testmod(module).failed == 0

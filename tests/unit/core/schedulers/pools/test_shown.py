"""What is shown of pools and jobs, to readers and on the command line."""

import msgspec
from rich.console import Console
from tests.unit.core.schedulers.pools.conftest import Cluster, maps, pools, reduces, settings

from fairshare.cli.queues import job_line, pool_table
from fairshare.client.answers import JobFigures, JobSlots, PoolFigures, Queue
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.schedulers.pools.settings import PoolAllocation


def test_a_job_shows_what_the_job_tracker_knows() -> None:
    file = pools(PoolAllocation("p", min_share=(2, 0)))
    cluster = Cluster(settings("0.19", allocations=file), (4, 2))
    number = cluster.submit("p", maps(6), reduces(1))
    cluster.tell(NodeBeat("n1"))
    cluster.update(after_ms=2000)
    job = msgspec.convert(msgspec.to_builtins(cluster.job(number)), JobFigures)
    assert job.priority == "NORMAL"
    assert job_line(job.maps) == (
        "1 run, 5 to start, 0 done; fair share 4.0, minimum 2, weight 1.0, deficit 6s"
    )


def test_a_job_that_wants_nothing_shows_no_deficit_and_one_of_1_2_has_none() -> None:
    assert job_line(JobSlots(deficit=9000)).endswith("deficit --")
    assert "deficit" not in job_line(JobSlots())


def test_pools_are_shown_by_name_with_the_default_one_last(generation: str) -> None:
    cluster = Cluster(settings(generation), (4, 2))
    for name in ("zoo", "ads"):
        cluster.submit(name, maps(6))
    cluster.tell(NodeBeat("n1"))
    views = cluster.scheduler.queue_views(cluster.now_ms)
    assert [view.name for view in views] == ["root", "root.ads", "root.zoo", "root.default"]
    queues = [
        Queue(
            view.name,
            parent=view.parent,
            policy=view.policy,
            pool=msgspec.convert(msgspec.to_builtins(view.pool), PoolFigures),
        )
        for view in views
    ]
    console = Console(width=200)
    shown = pool_table(queues)
    assert shown is not None
    with console.capture() as captured:
        console.print(shown)
    lines = captured.get().splitlines()
    assert lines[1].split()[:6] == ["ads", "1", str(views[1].used[2]), "6", "2.0", "0"]
    assert [line.split()[0] for line in lines[1:4]] == ["ads", "zoo", "default"]


def test_other_schedulers_have_no_table_of_pools() -> None:
    assert pool_table([Queue("root"), Queue("root.a", parent="root")]) is None

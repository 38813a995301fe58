"""How a trace becomes the workload of a cluster that knows nothing of it."""

import msgspec
import pytest

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.documents.gpus import GPU
from fairshare.errors import ConfigurationError
from fairshare.lab.simulate.traces.fitting import Fitting, QueueChoice, fitted, read_mapping
from fairshare.lab.simulate.traces.records import Trace, TraceGroup, TraceJob, TraceNodes
from fairshare.settings.directory import read_directory
from fairshare.settings.registry import family_of

TYPES = ResourceTypes()
WITH_GPUS = ResourceTypes((MEMORY, VCORES, GPU), ("Mi", "", ""))
CLOSED = (
    "<allocations><queue name='a'/><queue name='b'><queue name='c'/></queue>"
    "<queuePlacementPolicy><rule name='specified' create='false'/><rule name='reject'/>"
    "</queuePlacementPolicy></allocations>"
)


class SameQueue:
    note = ""

    def queue_of(self, job):
        return "root.a"


def group(count=1, memory_mb=1024, vcores=1, durations_ms=1000, **more):
    amounts = {MEMORY: memory_mb, VCORES: vcores, **more.pop("amounts", {})}
    return TraceGroup("tasks", count, durations_ms, amounts, **more)


def job(*groups, at_ms=0, user="ann", queue=None, name="j"):
    return TraceJob(1, name, at_ms, user, groups or (group(),), queue)


TWO_NODES = (TraceNodes(2, {MEMORY: 8192, VCORES: 8}),)


def fit(*jobs, nodes=TWO_NODES, maximum=(4096, 4), **more):
    types = more.pop("types", TYPES)
    given = more.pop("given", ())
    trace = Trace("A trace", tuple(nodes), iter(jobs), ["A note."])
    return fitted(trace, Fitting(types, maximum, nodes=given, **more), SameQueue())


def tasks_of(workload):
    groups = [one for arrival in workload.arrivals for one in arrival.submission.tasks]
    return [(one.count, one.resource) for one in groups]


def said(workload, words):
    return [note for note in workload.notes if words in note]


def test_jobs_arrive_as_in_the_trace():
    workload = fit(job(name="first"), job(at_ms=500, user="bob", name="second"))
    assert [
        (one.at_ms, one.submission.user, one.submission.queue, one.submission.name)
        for one in workload.arrivals
    ] == [(0, "ann", "root.a", "first"), (500, "bob", "root.a", "second")]
    assert [node.node for node in workload.nodes] == ["node-1", "node-2"]
    assert workload.notes == ("A trace.", "A note.")


def test_a_task_larger_than_a_container_may_be_is_divided():
    workload = fit(job(group(count=2, memory_mb=10_000, vcores=2, durations_ms=(5, 7))))
    assert tasks_of(workload) == [(6, (3334, 1))]
    (plan,) = workload.arrivals[0].plans
    assert plan.durations_ms == (5, 5, 5, 7, 7, 7)
    assert said(workload, "Tasks larger than a container may be (memory-mb=4096, vcores=4)")


def test_a_task_larger_than_every_node_is_divided_too():
    assert tasks_of(fit(job(group(vcores=12)), maximum=(2**20, 100))) == [(2, (512, 6))]


def whole(*jobs, **more):
    return fit(*jobs, divide=False, **{"step": (1024, 1), **more})


def test_tasks_that_are_not_divided_set_the_maximum():
    workload = whole(job(group(count=3, memory_mb=6000, vcores=2)), job(group(vcores=6)))
    assert tasks_of(workload) == [(3, (6000, 2)), (1, (1024, 6))]
    assert workload.maximum == (6144, 6)
    assert said(workload, "maximum allocation") == [
        "The maximum allocation is memory-mb=6144, vcores=6, not memory-mb=4096, vcores=4, for 4"
        " larger tasks (--divide: tasks are divided instead)."
    ]


def test_tasks_below_the_maximum_leave_it_as_it_is():
    workload = whole(job(group(memory_mb=4096)))
    assert workload.maximum == (4096, 4)
    assert said(workload, "maximum allocation") == []
    assert fit(job(group(memory_mb=4096))).maximum is None


def test_a_task_larger_than_every_node_is_divided_even_then():
    workload = whole(job(group(memory_mb=12_000, vcores=4)))
    assert tasks_of(workload) == [(2, (6000, 2))]
    assert said(workload, "Tasks larger than every node (memory-mb=8192, vcores=8)")


def test_nodes_have_room_for_a_container_as_large_as_they_are():
    odd = (TraceNodes(1, {MEMORY: 5000, VCORES: 8}),)
    wanted = job(group(memory_mb=5000))
    workload = whole(wanted, nodes=odd)
    assert [node.total for node in workload.nodes] == [(5120, 8)]
    assert workload.maximum == (5120, 4)
    assert whole(wanted, nodes=odd, step=(0, 0)).nodes[0].total == (5000, 8)
    assert fit(wanted, nodes=odd).nodes[0].total == (5000, 8)


def test_the_maximum_is_not_larger_than_given_nodes():
    given = (NodeJoined("n", (5000, 8)),)
    workload = whole(job(group(memory_mb=5000)), given=given)
    assert workload.nodes == given
    assert workload.maximum == (5000, 4)


def test_tasks_of_a_trace_without_nodes_stay_whole_too():
    workload = whole(job(group(memory_mb=100_000, durations_ms=3_600_000)), nodes=())
    assert tasks_of(workload) == [(1, (100_000, 1))]
    assert [node.total for node in workload.nodes] == [(100_352, 16)] * 2


def test_gpus_are_left_out_where_the_configuration_has_none():
    workload = fit(job(group(amounts={GPU: 2})))
    assert tasks_of(workload) == [(1, (1024, 1))]
    assert said(workload, "does not know yarn.io/gpu")


def test_gpus_stay_whole_when_a_task_is_divided():
    nodes = (TraceNodes(1, {MEMORY: 65_536, VCORES: 64, GPU: 8}),)
    wanted = group(memory_mb=40_960, vcores=8, amounts={GPU: 2})
    workload = fit(job(wanted), nodes=nodes, types=WITH_GPUS, maximum=(4096, 4, 8))
    assert tasks_of(workload) == [(2, (4096, 4, 1))]
    assert said(workload, "Containers cut to the largest")


def test_parallel_tasks_start_one_by_one_unless_gangs_are_wanted():
    for gang, words in ((False, "start one by one"), (True, "start as a whole")):
        workload = fit(job(group(count=3, gang=True)), gang=gang)
        assert workload.arrivals[0].submission.tasks[0].gang is gang
        assert said(workload, words)


def test_the_first_jobs_or_the_first_hours_can_be_taken():
    jobs = [job(at_ms=1000 * number) for number in range(10)]
    assert len(fit(*jobs, limit=3).arrivals) == 3
    assert len(fit(*jobs, span_ms=4000).arrivals) == 5


def test_a_trace_without_nodes_gets_those_that_its_work_keeps_busy():
    jobs = [job(group(count=20, durations_ms=3_600_000)) for _ in range(5)]
    last = job(group(durations_ms=0), at_ms=18_000_000)
    workload = fit(*jobs, last, nodes=())
    assert [node.total for node in workload.nodes] == [(65_536, 16)] * 2
    assert said(workload, "The trace names no nodes: it runs on 2 nodes")


def test_a_task_of_more_than_half_a_node_counts_as_a_node():
    jobs = [job(group(count=20, vcores=9, durations_ms=3_600_000)) for _ in range(5)]
    last = job(group(durations_ms=0), at_ms=18_000_000)
    assert len(fit(*jobs, last, nodes=()).nodes) == 29


def test_nodes_of_the_command_line_replace_those_of_the_trace():
    nodes = (NodeJoined("n", (2048, 2)),)
    trace = Trace("T", TWO_NODES, iter([job(group(memory_mb=4096))]), [])
    workload = fitted(trace, Fitting(TYPES, (4096, 4), nodes=nodes), SameQueue())
    assert (workload.nodes, tasks_of(workload)) == (nodes, [(2, (2048, 1))])


@pytest.fixture
def choice(tmp_path):
    def make(allocations, mapping=None):
        (tmp_path / "fair-scheduler.xml").write_text(allocations)
        configuration = read_directory(tmp_path)
        manager = ResourceManager(family_of("fair").create(configuration.types))
        settings = msgspec.json.encode(configuration.settings)
        return QueueChoice(manager, settings, mapping)

    return make


def test_the_placement_of_the_configuration_chooses_first(choice):
    queues = choice(CLOSED)
    assert queues.queue_of(job(queue="a")) == "a"
    assert queues.queue_of(job(queue="root.b.c")) == "root.b.c"
    assert queues.note == ""


def test_a_configuration_that_places_by_user_does_so(choice):
    queues = choice("<allocations/>")
    assert queues.queue_of(job(user="eve")) == "default"


def test_queues_that_are_not_there_share_the_leaves_and_that_is_said(choice):
    queues = choice(CLOSED)
    chosen = [queues.queue_of(job(queue=name)) for name in ("x", "y", "x", "z")]
    assert chosen[0] == chosen[2] != chosen[1]
    assert chosen[3] == chosen[0]
    assert set(chosen) == {"root.a", "root.b.c"}
    assert f"x -> {chosen[0]}" in queues.note
    assert "--map" in queues.note


def test_without_a_queue_of_the_trace_users_share_the_leaves(choice):
    queues = choice(CLOSED)
    assert queues.queue_of(job(user="ann")) != queues.queue_of(job(user="bob"))


def test_a_mapping_file_counts_before_everything_else(choice, tmp_path):
    file = tmp_path / "map.yaml"
    file.write_text("{users: {ann: root.b.c}, queues: {x: root.a}, default: root.zoo}")
    queues = choice(CLOSED, read_mapping(file))
    chosen = [queues.queue_of(job(user=user, queue="x")) for user in ("ann", "bob")]
    assert chosen == ["root.b.c", "root.a"]
    assert queues.queue_of(job(user="eve", queue="a")) == "root.zoo"
    assert queues.note == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("users: [ann]", "map.yaml:1:8: error: users must be a mapping"),
        ("people: {}", "unknown key 'people'"),
        ("default: [a]", "must be a text"),
    ],
)
def test_a_wrong_mapping_is_named_with_its_line(tmp_path, text, reason):
    file = tmp_path / "map.yaml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=reason.replace("[", r"\[")):
        read_mapping(file)


def test_a_mapping_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        read_mapping(tmp_path)

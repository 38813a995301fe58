"""What this machine offers, and what a container is told of it."""

import os

import pytest

from fairshare.core.model.work import Command
from fairshare.engines.local import engine as engine_module
from fairshare.engines.local import hierarchies, machine
from fairshare.engines.local.engine import LocalEngine
from fairshare.engines.local.preparation import THREADS, environment, inherited
from fairshare.engines.protocol import LaunchOrder
from fairshare.errors import EngineError


def test_one_machine_is_one_node_called_local(tmp_path):
    engine = LocalEngine(tmp_path, memory_mb=1000, vcores=3, enforcement="watch")
    (node,) = engine.nodes()
    assert (node.node, node.rack) == ("local", "/default-rack")
    assert node.resources == {"memory-mb": 1000, "vcores": 3}
    assert node.attributes["memory-limit"] == "watch"
    assert node.attributes["limits-note"] == "cgroups are switched off"


def test_several_nodes_split_everything_evenly(tmp_path):
    engine = LocalEngine(
        tmp_path, nodes=4, memory_mb=4002, vcores=6, resources={"yarn.io/gpu": 2}, rack="/r",
        enforcement="watch",
    )  # fmt: skip
    nodes = engine.nodes()
    assert [node.node for node in nodes] == ["local-1", "local-2", "local-3", "local-4"]
    assert [node.resources["memory-mb"] for node in nodes] == [1001, 1001, 1000, 1000]
    assert [node.resources["vcores"] for node in nodes] == [2, 2, 1, 1]
    assert [node.resources["yarn.io/gpu"] for node in nodes] == [1, 1, 0, 0]
    assert {node.rack for node in nodes} == {"/r"}


def test_every_node_has_a_vcore_also_with_fewer_processors(tmp_path):
    engine = LocalEngine(tmp_path, nodes=3, memory_mb=300, vcores=2, enforcement="watch")
    assert [node.resources["vcores"] for node in engine.nodes()] == [1, 1, 1]


def test_a_processor_may_be_worth_several_vcores_or_less_than_one(tmp_path):
    processors = len(os.sched_getaffinity(0))
    for worth, offered in ((10, 10 * processors), (0.001, 1)):
        engine = LocalEngine(tmp_path, memory_mb=300, vcores_per_core=worth, enforcement="watch")
        (node,) = engine.nodes()
        assert node.resources["vcores"] == offered


def test_by_default_four_fifths_of_the_memory_and_all_processors_are_offered(tmp_path):
    (node,) = LocalEngine(tmp_path, enforcement="watch").nodes()
    physical_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    assert 1 <= node.resources["memory-mb"] <= physical_mb * 0.8
    assert node.resources["vcores"] == len(os.sched_getaffinity(0))
    assert machine.default_memory_mb(1000 * 2**20) == 800


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"nodes": 0}, "cannot be offered as 0 nodes"),
        ({"nodes": 3, "memory_mb": 2}, "2 MB of memory cannot be split into 3 nodes"),
        ({"vcores": 0}, "a vcore at least"),
        ({"resources": {"yarn.io/gpu": -1}}, "no amount below 0"),
    ],
)
def test_what_cannot_be_offered_is_refused(tmp_path, settings, words):
    with pytest.raises(EngineError, match=words):
        LocalEngine(tmp_path, enforcement="watch", **settings)


def test_cgroups_that_are_demanded_and_missing_are_an_error(tmp_path, monkeypatch):
    none = hierarchies.Hierarchies(notes=("memory: not here",))
    monkeypatch.setattr(engine_module, "choose", lambda name, mounts: none)
    with pytest.raises(EngineError, match=r"demanded and cannot be used: memory: not here"):
        LocalEngine(tmp_path, enforcement="cgroup")
    (node,) = LocalEngine(tmp_path, enforcement="auto").nodes()
    assert node.attributes["memory-limit"] == "watch"
    assert node.attributes["limits-note"] == "memory: not here"


def test_an_engine_that_is_not_started_says_so(tmp_path):
    engine = LocalEngine(tmp_path, enforcement="watch")
    assert engine.running() == frozenset()
    with pytest.raises(EngineError, match="not started"):
        engine.stop(1)
    engine.close(stop_containers=True)
    assert list(tmp_path.iterdir()) == []


def test_a_container_inherits_little_and_its_facts_win(tmp_path):
    order = LaunchOrder(
        container=1,
        container_name="container_1_0001_01_000001",
        application_name="application_1_0001",
        node="local-2",
        user="alice",
        memory_mb=64,
        vcores=2,
        command=Command(
            environment={
                "LANG": "xx",
                "FAIRSHARE_NODE": "forged",
                "INDEX": "theirs",
                "MKL_NUM_THREADS": "1",
            }
        ),
        environment={"INDEX": "ours"},
    )
    server = {"LANG": "C", "SECRET": "s", "HOME": "/home/x", "PYTHONPATH": "/x"}
    result = environment(order, tmp_path, server)
    assert result == {
        "PATH": inherited({})["PATH"],
        "HOME": "/home/x",
        "LANG": "xx",
        "INDEX": "ours",
        **dict.fromkeys(THREADS, "2"),
        "MKL_NUM_THREADS": "1",
        "FAIRSHARE_APPLICATION": "application_1_0001",
        "FAIRSHARE_CONTAINER": "container_1_0001_01_000001",
        "FAIRSHARE_CONTAINER_DIRECTORY": str(tmp_path),
        "FAIRSHARE_NODE": "local-2",
        "FAIRSHARE_MEMORY_MB": "64",
        "FAIRSHARE_VCORES": "2",
    }


def test_a_launch_context_of_hadoop_has_no_variables_for_threads(tmp_path):
    command = Command(callable=b"context", is_launch_context=True)
    order = LaunchOrder(1, "container_1_0001_01_000001", "a", "local", "ann", 64, 2, command, {})
    assert not environment(order, tmp_path, {}).keys() & set(THREADS)


def test_raising_the_file_limit_returns_the_previous_one():
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        assert machine.raise_file_limit() == (256, before[1])
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 256
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

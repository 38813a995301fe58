"""Which processors a container gets: its own, near each other and near its GPUs."""

import os
from pathlib import Path

import pytest

from fairshare.engines.local.gpus.found import Gpu
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.processors import OwnProcessors, Processor, find_processors, memory_of

# Two NUMA nodes of two cores with two threads each, numbered as most machines do.
MACHINE = tuple(sorted(Processor(n % 4 // 2, n % 4, n) for n in range(8)))


def launch(*processors: int) -> Launch:
    return Launch(1, "c", ("true",), {}, "/", 0, "watch", processors=processors)


def test_a_container_has_the_threads_of_a_core_and_no_other_has_them():
    own = OwnProcessors(MACHINE)
    first = own.choose(2)
    assert first == (0, 4)
    own.enter(launch(*first))
    second = own.choose(2)
    assert second == (2, 6)  # of the other memory, where more are free
    own.enter(launch(*second))
    assert not {*own.choose(4)} & {*first, *second}


def test_a_container_is_near_its_gpus_and_in_one_memory_if_that_has_enough():
    own = OwnProcessors(MACHINE, {"0": 0, "1": 1})
    assert own.choose(2, ("1",)) == (2, 6)
    own.enter(launch(2, 3, 6))
    assert own.choose(2, ("1",)) == (0, 7)  # one there, the rest elsewhere
    assert own.choose(4) == (0, 1, 4, 5)
    assert own.choose(2, ("unknown",)) == (0, 4)


def test_processors_that_others_have_are_shared_last_and_come_back():
    own = OwnProcessors(MACHINE)
    own.enter(launch(*range(7)))
    assert own.choose(1) == (7,)
    assert 7 in own.choose(2)
    own.leave(launch(*range(7)))
    assert own.choose(8) == tuple(range(8))
    assert own.choose(9) == ()
    assert own.choose(0) == ()
    assert OwnProcessors().choose(1) == ()


def test_the_machines_topology_is_read_and_may_be_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 5})
    assert find_processors(tmp_path) == tuple(Processor(-1, n, n) for n in (0, 1, 2, 5))
    for node, text in (("node0", "0-1,4\n"), ("node1", "2,5-7\n"), ("node2", "\n")):
        folder = tmp_path / "sys/devices/system/node" / node
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(text)
    for number, siblings in ((0, "0,5"), (5, "0,5"), (1, "1-2"), (2, "1-2")):
        folder = tmp_path / f"sys/devices/system/cpu/cpu{number}/topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{siblings}\n")
    assert find_processors(tmp_path) == ((0, 0, 0), (0, 1, 1), (1, 0, 5), (1, 1, 2))
    device = tmp_path / "sys/bus/pci/devices/0000:3b:00.0"
    device.mkdir(parents=True)
    (device / "numa_node").write_text("1\n")
    assert memory_of(Gpu("0", address="0000:3b:00.0"), tmp_path) == 1
    assert memory_of(Gpu("0", address="0000:af:00.0"), tmp_path) == -1
    assert memory_of(Gpu("0"), tmp_path) == -1

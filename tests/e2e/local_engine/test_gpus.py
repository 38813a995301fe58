"""GPUs of real containers: each has its own, whatever ends or is killed. The GPUs are pretended."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from tests.e2e.local_engine.conftest import TWO_GPUS, on_gpus, order, shell, until
from tests.e2e.local_engine.test_restarts import kill, server

from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.engines.local.gpus.chosen import ChosenGpus, assigned_elsewhere
from fairshare.engines.local.gpus.found import Gpu
from fairshare.engines.local.limits import Interactive
from fairshare.engines.protocol import GpuUse

GPU = "yarn.io/gpu"


def gpus_of(reports, number: int) -> tuple[str, ...]:
    container = container_id(1, 1, number)
    reports.started(container)
    (report,) = reports.of(ContainerStarted, container)
    assert isinstance(report, ContainerStarted)
    return report.gpus


def text(local, wanted) -> str:
    return local.files(wanted.application_name, wanted.container_name).stdout.read_text()


def test_containers_get_different_gpus_and_those_without_see_none(start):
    local, reports = start(gpus=TWO_GPUS)
    assert local.nodes()[0].resources[GPU] == 2
    assert local.nodes()[0].attributes["gpus"] == "0,1"
    line = 'echo "$CUDA_VISIBLE_DEVICES/$NVIDIA_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES"; sleep 1000'
    for number, amount in ((1, 1), (2, 1), (3, 0)):
        local.launch(on_gpus(number, line, amount))
    assert [gpus_of(reports, number) for number in (1, 2, 3)] == [("0",), ("1",), ()]
    until(lambda: all(text(local, shell(number, line)).endswith("\n") for number in (1, 2, 3)))
    reported = [text(local, shell(number, line)).strip() for number in (1, 2, 3)]
    assert reported == ["0/0/0", "1/1/1", "/void/"]


def test_a_container_cannot_choose_another_gpu_by_its_own_variables(start):
    local, reports = start(gpus=TWO_GPUS)
    wanted = order(1, "/bin/sh", "-c", "echo $CUDA_VISIBLE_DEVICES",
                   environment={"CUDA_VISIBLE_DEVICES": "1"})  # fmt: skip
    wanted.resources[GPU] = 1
    local.launch(wanted)
    reports.exited(wanted.container)
    assert text(local, wanted) == "0\n"


def test_a_gpu_is_free_only_when_all_processes_of_its_container_have_ended(start, tmp_path):
    local, reports = start(gpus=assigned_elsewhere(("0",), ()), grace_ms=60_000)
    may_die = tmp_path / "may-die"
    slow = f"trap 'while [ ! -e {may_die} ]; do sleep 0.02; done; exit 0' TERM; echo ready\n"
    first = on_gpus(1, slow + "while :; do sleep 0.02; done")
    local.launch(first)
    until(lambda: gpus_of(reports, 1) and text(local, first) == "ready\n")
    local.stop(first.container)
    second = on_gpus(2, "true")
    local.launch(second)
    third = on_gpus(3, "true", 0)  # needs no GPU, and overtakes
    local.launch(third)
    reports.exited(third.container)
    assert not reports.of(ContainerStarted, second.container)
    may_die.touch()
    reports.exited(second.container)
    assert gpus_of(reports, 2) == ("0",)


def test_a_gpu_that_is_granted_too_early_is_waited_for(start, tmp_path):
    local, reports = start(gpus=TWO_GPUS)
    go = tmp_path / "go"
    for number in (1, 2):
        local.launch(on_gpus(number, f"while [ ! -e {go} ]; do sleep 0.02; done"))
    assert {gpus_of(reports, 1), gpus_of(reports, 2)} == {("0",), ("1",)}
    local.launch(on_gpus(3, "true"))
    fourth = on_gpus(4, "true", 0)
    local.launch(fourth)
    reports.exited(fourth.container)
    assert not reports.of(ContainerStarted, container_id(1, 1, 3))
    go.touch()
    reports.exited(container_id(1, 1, 3))


def test_more_gpus_than_there_are_is_an_end_with_the_reason(start):
    local, reports = start(gpus=TWO_GPUS)
    local.launch(on_gpus(1, "true", 3))
    ended = reports.exited(container_id(1, 1, 1))
    assert "3 of yarn.io/gpu are granted to it, and local has 2 GPUs" in ended.diagnostics


def test_the_next_server_knows_which_gpus_the_containers_of_a_killed_one_have(start, state):
    kill(server(state, "[on_gpus(1, 'sleep 1000')]", "gpus=TWO_GPUS"))
    local, reports = start(gpus=TWO_GPUS)
    assert gpus_of(reports, 1) == ("0",)
    local.launch(on_gpus(2, "sleep 1000"))
    assert gpus_of(reports, 2) == ("1",)
    local.stop(container_id(1, 1, 1))
    reports.exited(container_id(1, 1, 1))
    local.launch(on_gpus(3, "sleep 1000"))
    assert gpus_of(reports, 3) == ("0",)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """A device file that is the same as /dev/null, but for its number."""
    path = tmp_path / "device"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        subprocess.run(["head", "-c", "1", str(path)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("device files cannot be made here")
    return path


def test_the_kernel_keeps_a_container_from_the_gpus_of_others(start, device):
    own = Gpu("0", files=("/dev/null",))
    other = Gpu("1", files=(str(device),))
    local, reports = start(gpus=ChosenGpus({GPU: (own, other)}))
    if local.nodes()[0].attributes["gpu-fence"].startswith("off"):
        pytest.skip(local.nodes()[0].attributes["gpu-fence"])
    line = f"head -c 1 {device} >&2 && echo opened || echo refused"
    local.launch(on_gpus(1, f"{line}; sleep 1000"))
    local.launch(on_gpus(2, line))
    reports.exited(container_id(1, 1, 2))
    assert gpus_of(reports, 2) == ("1",)
    until(lambda: text(local, shell(1, line)))
    assert text(local, shell(1, line)) == "refused\n"
    assert text(local, shell(2, line)) == "opened\n"


def test_the_compiled_supervisor_starts_containers_with_and_without_gpus(start):
    local, reports = start(gpus=TWO_GPUS)
    if local.nodes()[0].attributes["supervisor"] != "compiled":
        pytest.skip("this engine has the supervisor in Python")
    for number, amount in ((1, 1), (2, 0)):
        wanted = on_gpus(number, "readlink /proc/$PPID/exe; echo $FAIRSHARE_GPUS", amount)
        local.launch(wanted)
        reports.exited(wanted.container)
        program, gpus = text(local, wanted).splitlines()
        assert program.endswith("fs-supervisor")
        assert gpus == ("0" if amount else "")


def test_a_container_that_does_not_use_its_gpus_is_ended_after_the_time_of_its_queue(start):
    limits = Interactive(0, idle_of_queues_ms={"root.a": 60_000})
    local, reports = start(gpus=TWO_GPUS, gpu_idle=limits)
    for number, queue in ((1, "root.a.b"), (2, "root.c")):
        wanted = on_gpus(number, "sleep 1000")
        wanted.environment["FAIRSHARE_QUEUE"] = queue
        local.launch(wanted)
        reports.started(container_id(1, 1, number))
    local._end_idle((GpuUse("local", "0", idle_s=59.0), GpuUse("local", "1", idle_s=3600.0)))
    local._end_idle((GpuUse("local", "0", idle_s=61.0), GpuUse("local", "1", idle_s=3600.0)))
    ended = reports.exited(container_id(1, 1, 1))
    assert "did not use its GPU for 60 s, the limit of root.a.b" in ended.diagnostics
    assert not reports.of(ContainerExited, container_id(1, 1, 2))

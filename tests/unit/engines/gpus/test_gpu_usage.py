"""The use of each GPU, by pretended tools and files."""

import threading
import time

from tests.e2e.local_engine.conftest import shell

from fairshare.engines.local.gpus.engine import AssignedGpus, GpuUsage
from fairshare.engines.local.gpus.found import AMD, NVIDIA, Gpu
from fairshare.engines.local.launch import Launch
from fairshare.engines.protocol import GpuUse

ROWS = "0, 00000000:3B:00.0, 1024, 81920, 37\n1, 00000000:D8:00.0, [N/A], [N/A], [N/A]\n"


def node_of(name: str) -> str:
    return "local"


def test_nvidias_tool_is_asked_for_memory_and_utilization():
    sampled = threading.Event()

    def tool(arguments):
        assert arguments[0] == "nvidia-smi"
        sampled.set()
        return ROWS

    gpus = [
        Gpu("0", NVIDIA, "A100", address="0000:3b:00.0", memory_mb=7),
        Gpu("1", NVIDIA),
        Gpu("9", NVIDIA),
    ]
    usage = GpuUsage(gpus, node_of, tool, interval_s=1000)
    try:
        assert sampled.wait(60)
        assert usage.sample() == (
            GpuUse("local", "0", "A100", 81920, 1024, 37),
            GpuUse("local", "1"),
            GpuUse("local", "9"),
        )
    finally:
        usage.close()


def test_amds_use_is_read_in_files(tmp_path):
    (tmp_path / "mem_info_vram_used").write_text(f"{2**30}\n")
    (tmp_path / "gpu_busy_percent").write_text("12\n")
    gpus = [Gpu("0", AMD, memory_mb=65536, folder=str(tmp_path))]
    usage = GpuUsage(gpus, node_of, interval_s=1000)
    try:
        assert usage.sample() == (GpuUse("local", "0", "", 65536, 1024, 12),)
    finally:
        usage.close()


def test_what_cannot_be_measured_is_not_invented():
    usage = GpuUsage([Gpu("0"), Gpu("1")], node_of)
    assert usage.last() == (GpuUse("local", "0"), GpuUse("local", "1"))
    usage.close()


def judging(busy_mb: int = 1000) -> tuple[AssignedGpus, GpuUsage]:
    assigned = AssignedGpus({"local": {"yarn.io/gpu": ["0", "1"]}})
    usage = GpuUsage([Gpu("0"), Gpu("1")], node_of, assigned=assigned, busy_mb=busy_mb)
    return assigned, usage


def holding(*gpus: str) -> Launch:
    return Launch(1, "c", (), {}, "", 0, "watch", gpus=gpus)


def test_a_gpu_that_no_container_has_and_others_use_is_assigned_last():
    assigned, usage = judging()
    sample = (GpuUse("local", "0", used_mb=1001), GpuUse("local", "1", used_mb=1000))
    first, second = usage.judged(sample, time.monotonic())
    assert (first.elsewhere, second.elsewhere) == (True, False)
    order = shell(1, "true")
    order.resources["yarn.io/gpu"] = 1
    assert assigned.choose(order) == ("1",)
    order.resources["yarn.io/gpu"] = 2
    assert assigned.choose(order) == ("1", "0")  # the state has decided that they are free
    assert not any(use.elsewhere for use in judging(busy_mb=0)[1].judged(sample, time.monotonic()))


def test_what_a_container_has_or_had_while_it_was_measured_is_not_used_elsewhere():
    assigned, usage = judging()
    sample = (GpuUse("local", "0", used_mb=5000),)
    assigned.enter(holding("0"))
    assert not usage.judged(sample, time.monotonic())[0].elsewhere
    began_s = time.monotonic()
    assigned.leave(holding("0"))
    assert not usage.judged(sample, began_s)[0].elsewhere
    assert usage.judged(sample, time.monotonic())[0].elsewhere


def test_a_gpu_is_idle_since_its_container_has_it_and_does_not_use_it():
    assigned, usage = judging()
    idle, busy = (GpuUse("local", "0", utilization_percent=percent) for percent in (0, 1))
    assert usage.judged((idle,), time.monotonic())[0].idle_s is None  # no container has it
    assigned.enter(holding("0"))
    assert usage.judged((idle,), time.monotonic() - 100)[0].idle_s < 50
    assert usage.judged((busy,), time.monotonic())[0].idle_s is None
    assigned.enter(holding("0"))
    first = usage.judged((idle,), time.monotonic())[0].idle_s
    second = usage.judged((idle,), time.monotonic())[0].idle_s
    assert 0 <= first < second
    unknown = GpuUse("local", "0")
    assert usage.judged((unknown,), time.monotonic())[0].idle_s is None

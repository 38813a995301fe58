"""The use of each GPU, by pretended tools and files."""

import threading

from fairshare.engines.local.gpus.engine import GpuUsage
from fairshare.engines.local.gpus.found import AMD, NVIDIA, Gpu
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

"""The GPUs of a machine, by the files and tools of their vendors, which are pretended here."""

import stat
from pathlib import Path

import pytest

from fairshare.engines.local.gpus.found import AMD, NVIDIA, find_gpus, run_tool

SMI = """\
0, 00000000:3B:00.0, GPU-11111111-aaaa, NVIDIA A100-SXM4-80GB, 81920
1, 00000000:D8:00.0, GPU-22222222-bbbb, Tesla T4, [N/A]
"""


def no_tool(arguments):
    return ""


def driver(root: Path, address: str, minor: int, model: str = "Tesla T4") -> None:
    folder = root / "proc/driver/nvidia/gpus" / address
    folder.mkdir(parents=True)
    (folder / "information").write_text(
        f"Model: \t\t {model}\nIRQ:   \t\t 99\nGPU UUID: \t GPU-{minor}\nDevice Minor: \t {minor}\n"
    )


def amd(root: Path, node: int, minor: int, *, gpu_id: str = "4711", vendor: int = 0x1002) -> None:
    folder = root / f"sys/class/kfd/kfd/topology/nodes/{node}"
    folder.mkdir(parents=True)
    (folder / "gpu_id").write_text(f"{gpu_id}\n")
    (folder / "name").write_text("aldebaran\n")
    (folder / "properties").write_text(
        f"simd_count 416\nvendor_id {vendor}\ndrm_render_minor {minor}\nunique_id 255\n"
    )
    device = root / f"sys/class/drm/renderD{minor}/device"
    (device / f"drm/card{minor - 128}").mkdir(parents=True)
    (device / "mem_info_vram_total").write_text(f"{64 * 2**30}\n")


def test_nvidias_tool_lists_the_gpus_and_the_driver_knows_their_device_files(tmp_path):
    driver(tmp_path, "0000:d8:00.0", 0)
    driver(tmp_path, "0000:3b:00.0", 3)
    first, second = find_gpus(tmp_path, lambda arguments: SMI)
    assert (first.name, first.vendor, first.uuid) == ("0", NVIDIA, "GPU-11111111-aaaa")
    assert (first.model, first.memory_mb) == ("NVIDIA A100-SXM4-80GB", 81920)
    assert (first.address, first.files) == ("0000:3b:00.0", ("/dev/nvidia3",))
    assert (second.files, second.memory_mb) == (("/dev/nvidia0",), 0)


def test_without_the_tool_the_drivers_gpus_are_numbered_by_their_bus_addresses(tmp_path):
    driver(tmp_path, "0000:d8:00.0", 0, "Tesla T4")
    driver(tmp_path, "0000:3b:00.0", 1, "NVIDIA A100")
    found = find_gpus(tmp_path, no_tool)
    assert [(gpu.name, gpu.model, gpu.files) for gpu in found] == [
        ("0", "NVIDIA A100", ("/dev/nvidia1",)),
        ("1", "Tesla T4", ("/dev/nvidia0",)),
    ]


def test_where_only_the_device_files_are_seen_they_are_counted(tmp_path):
    (tmp_path / "dev").mkdir()
    for name in ("nvidia10", "nvidia2", "nvidiactl", "nvidia-uvm"):
        (tmp_path / "dev" / name).touch()
    found = find_gpus(tmp_path, no_tool)
    assert [(gpu.name, gpu.files) for gpu in found] == [
        ("0", ("/dev/nvidia2",)),
        ("1", ("/dev/nvidia10",)),
    ]


def test_amds_gpus_are_the_nodes_of_the_kernels_topology_without_processors(tmp_path):
    amd(tmp_path, 0, 0, gpu_id="0")
    amd(tmp_path, 10, 129)
    amd(tmp_path, 2, 128)
    amd(tmp_path, 3, 130, vendor=0x8086)
    first, second = find_gpus(tmp_path, no_tool)
    assert (first.name, first.vendor, first.model) == ("0", AMD, "aldebaran")
    assert first.files == ("/dev/dri/renderD128", "/dev/dri/card0")
    assert (first.memory_mb, first.uuid) == (65536, "GPU-00000000000000ff")
    assert (second.name, second.files[0]) == ("1", "/dev/dri/renderD129")


def test_beside_nvidias_the_graphics_of_an_amd_processor_are_not_offered(tmp_path):
    amd(tmp_path, 1, 128)
    driver(tmp_path, "0000:3b:00.0", 0)
    assert [gpu.vendor for gpu in find_gpus(tmp_path, no_tool)] == [NVIDIA]


def test_a_machine_without_gpus_has_none(tmp_path):
    assert find_gpus(tmp_path, no_tool) == ()


@pytest.mark.parametrize("output", ["No devices were found\n", "a, b\n", ", , , , \n"[:3]])
def test_a_tool_that_says_something_else_is_not_believed(tmp_path, output):
    assert find_gpus(tmp_path, lambda arguments: output) == ()


def test_a_tool_that_is_missing_or_fails_says_nothing(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho something\nexit 9\n")
    tool.chmod(stat.S_IRWXU)
    assert run_tool([str(tool)]) == ""
    assert run_tool([str(tmp_path / "missing")]) == ""
    tool.write_text("#!/bin/sh\necho something\n")
    assert run_tool([str(tool)]) == "something\n"

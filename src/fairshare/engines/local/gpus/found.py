"""The list of this machine's GPUs.

NVIDIA's are numbered as CUDA and nvidia-smi do with CUDA_DEVICE_ORDER=PCI_BUS_ID, AMD's as ROCm
does, in the order of the kernel's topology. On a machine with both only NVIDIA's are listed: AMD's
is then mostly the graphics of the processor.
"""

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.documents.sizes import MEBIBYTE

NVIDIA = "nvidia"
AMD = "amd"

_PATIENCE_S = 20.0
_AMD_VENDOR = 0x1002


class Gpu(NamedTuple):
    """One GPU. `name` is its index, or another name that programs know (a UUID).

    `files` are the device files of this GPU alone, `folder` is AMD's in /sys. Unknown is empty.
    """

    name: str
    vendor: str = ""
    model: str = ""
    uuid: str = ""
    address: str = ""  # of the PCI bus: 0000:3b:00.0
    memory_mb: int = 0
    files: tuple[str, ...] = ()
    folder: str = ""


Tool = Callable[[Sequence[str]], str]
"""Runs a command and returns its output; empty if there is no such command, or if it fails."""


def run_tool(arguments: Sequence[str]) -> str:
    """Run a vendor's tool, with a limit of time."""
    try:
        done = subprocess.run(
            list(arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def find_gpus(root: Path = Path("/"), tool: Tool = run_tool) -> tuple[Gpu, ...]:
    """The GPUs of this machine, in the order of their indexes. `root` is where /proc is."""
    return _nvidia(root, tool) or _amd(root)


def nvidia_rows(tool: Tool, *fields: str) -> list[list[str]]:
    """The fields of `nvidia-smi --query-gpu`, a row for each GPU; none without that tool."""
    output = tool(
        ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
    )
    rows = [[cell.strip() for cell in line.split(",")] for line in output.splitlines()]
    return [row for row in rows if len(row) == len(fields)]


def bus_address(text: str) -> str:
    """An address of the PCI bus as the kernel writes it.

    >>> bus_address("00000000:3B:00.0")
    '0000:3b:00.0'
    """
    domain, _, rest = text.strip().lower().partition(":")
    return f"{domain[-4:]}:{rest}"


def _nvidia(root: Path, tool: Tool) -> tuple[Gpu, ...]:
    driver = {gpu.address: gpu for gpu in _nvidia_driver(root)}
    gpus: list[Gpu] = []
    for index, address, uuid, model, memory in nvidia_rows(
        tool, "index", "pci.bus_id", "uuid", "name", "memory.total"
    ):
        described = driver.get(bus_address(address))
        gpus.append(
            Gpu(
                name=index,
                vendor=NVIDIA,
                model=model,
                uuid=uuid,
                address=bus_address(address),
                memory_mb=int(memory) if memory.isdigit() else 0,
                files=described.files if described else (),
            )
        )
    if gpus:
        return tuple(gpus)
    if driver:
        return tuple(driver.values())
    minors = sorted(_number(path.name) for path in root.glob("dev/nvidia[0-9]*"))
    return tuple(
        Gpu(str(index), NVIDIA, files=(f"/dev/nvidia{minor}",))
        for index, minor in enumerate(minors)
        if minor >= 0
    )


def _nvidia_driver(root: Path) -> list[Gpu]:
    """The GPUs that NVIDIA's driver lists in /proc, in the order of their addresses."""
    folders = sorted(root.glob("proc/driver/nvidia/gpus/*"), key=lambda path: path.name)
    described: list[Gpu] = []
    for folder in folders:
        facts = _facts(_text(folder / "information"), ":")
        minor = facts.get("Device Minor", "")
        described.append(
            Gpu(
                name=str(len(described)),
                vendor=NVIDIA,
                model=facts.get("Model", ""),
                uuid=facts.get("GPU UUID", ""),
                address=bus_address(folder.name),
                files=(f"/dev/nvidia{minor}",) if minor.isdigit() else (),
            )
        )
    return described


def _amd(root: Path) -> tuple[Gpu, ...]:
    gpus: list[Gpu] = []
    nodes = root.glob("sys/class/kfd/kfd/topology/nodes/*")
    for node in sorted(nodes, key=lambda path: _number(path.name)):
        if _text(node / "gpu_id") in ("", "0"):  # a processor
            continue
        facts = _facts(_text(node / "properties"), " ")
        minor = facts.get("drm_render_minor", "")
        if facts.get("vendor_id") != str(_AMD_VENDOR) or not minor.isdigit() or minor == "0":
            continue
        folder = Path("sys/class/drm", f"renderD{minor}", "device")
        cards = sorted(path.name for path in (root / folder).glob("drm/card[0-9]*"))
        unique = facts.get("unique_id", "")
        memory = _text(root / folder / "mem_info_vram_total")
        gpus.append(
            Gpu(
                name=str(len(gpus)),
                vendor=AMD,
                model=_text(root / folder / "product_name") or _text(node / "name"),
                uuid=f"GPU-{int(unique):016x}" if unique.isdigit() and unique != "0" else "",
                memory_mb=int(memory) // MEBIBYTE if memory.isdigit() else 0,
                files=(f"/dev/dri/renderD{minor}", *(f"/dev/dri/{card}" for card in cards)),
                folder=str(root / folder),
            )
        )
    return tuple(gpus)


def _facts(text: str, separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _number(name: str) -> int:
    """The number with which a name ends; -1: none."""
    found = re.search(r"[0-9]+$", name)
    return int(found[0]) if found else -1


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""

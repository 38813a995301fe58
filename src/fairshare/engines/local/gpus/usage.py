"""Owns the use of each GPU: its memory and utilization, sampled in a thread while containers run.

NVIDIA's are asked by nvidia-smi, AMD's are read in /sys. What cannot be measured is not shown.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from fairshare.engines.local.gpus.found import (
    AMD,
    NVIDIA,
    Gpu,
    Tool,
    bus_address,
    nvidia_rows,
    run_tool,
)
from fairshare.engines.protocol import GpuUse

INTERVAL_S = 10.0
_MEBIBYTE = 1024 * 1024

_log = logging.getLogger("fairshare.engine")


class GpuUsage:
    """The last sample of all GPUs of an engine; `node_of` is the node of each, by name."""

    def __init__(
        self,
        gpus: Sequence[Gpu],
        node_of: Callable[[str], str],
        tool: Tool = run_tool,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._gpus = tuple(gpus)
        self._node_of = node_of
        self._tool = tool
        self._interval_s = interval_s
        self._over = threading.Event()
        self._last = tuple(self._plain(gpu) for gpu in self._gpus)
        measured = any(gpu.vendor in (NVIDIA, AMD) for gpu in self._gpus)
        self._thread = threading.Thread(target=self._run, name="gpu-usage", daemon=True)
        if measured:
            self._thread.start()

    def last(self) -> tuple[GpuUse, ...]:
        """The last sample; called from any thread."""
        return self._last

    def close(self) -> None:
        """End the thread; a sample that is being taken may go on for a moment."""
        self._over.set()

    def _run(self) -> None:
        while True:
            try:
                self._last = self.sample()
            except Exception:
                _log.exception("the use of GPUs could not be measured")
            if self._over.wait(self._interval_s):
                return

    def sample(self) -> tuple[GpuUse, ...]:
        """Measure all GPUs now."""
        rows: list[list[str]] = []
        if any(gpu.vendor == NVIDIA for gpu in self._gpus):
            rows = nvidia_rows(
                self._tool, "index", "pci.bus_id", "memory.used", "memory.total", "utilization.gpu"
            )
        by_address = {bus_address(row[1]): row for row in rows}
        by_index = {row[0]: row for row in rows}
        found = []
        for gpu in self._gpus:
            if gpu.vendor == AMD:
                numbers = tuple(
                    _file_number(gpu.folder, name)
                    for name in ("mem_info_vram_used", "mem_info_vram_total", "gpu_busy_percent")
                )
                used, total = (None if n is None else n // _MEBIBYTE for n in numbers[:2])
                busy = numbers[2]
            else:
                row = by_address.get(gpu.address) if gpu.address else by_index.get(gpu.name)
                used, total, busy = (
                    _number(cell) for cell in (row[2:] if row is not None else ("", "", ""))
                )
            found.append(
                GpuUse(
                    node=self._node_of(gpu.name),
                    name=gpu.name,
                    model=gpu.model,
                    memory_mb=total or gpu.memory_mb,
                    used_mb=used,
                    utilization_percent=busy,
                )
            )
        return tuple(found)

    def _plain(self, gpu: Gpu) -> GpuUse:
        return GpuUse(self._node_of(gpu.name), gpu.name, gpu.model, gpu.memory_mb)


def _number(text: str) -> int | None:
    """A whole number of nvidia-smi; None for `[N/A]`."""
    return int(text) if text.isascii() and text.isdigit() else None


def _file_number(folder: str, name: str) -> int | None:
    try:
        return _number(Path(folder, name).read_text().strip())
    except OSError:
        return None

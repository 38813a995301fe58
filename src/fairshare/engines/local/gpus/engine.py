"""The GPUs of one engine, the parts of this package put together: which container has which, and
the use of each: its memory and utilization, sampled in a thread while containers run.

A container has its GPUs from before its start until all its processes have ended; none has two
containers at once. They are in its launch.json, so that the next server knows them. NVIDIA's are
asked by nvidia-smi, AMD's are read in /sys. What cannot be measured is not shown.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from fairshare.documents.gpus import GPU
from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.local.gpus.chosen import ChosenGpus, per_node
from fairshare.engines.local.gpus.fence import GpuFence, fence
from fairshare.engines.local.gpus.found import (
    AMD,
    NVIDIA,
    Gpu,
    Tool,
    bus_address,
    nvidia_rows,
    run_tool,
)
from fairshare.engines.local.hierarchies import Hierarchies, Mounts
from fairshare.engines.local.launch import Launch
from fairshare.engines.local.outcome import ABORTED, StartFailure
from fairshare.engines.protocol import GpuUse, LaunchOrder, NodeOffer
from fairshare.wording import counted


class AssignedGpus:
    """The GPUs of an engine's nodes, by node and resource type; used by the engine's thread."""

    def __init__(self, nodes: Mapping[str, Mapping[str, Iterable[str]]]) -> None:
        self._nodes = {
            node: {name: tuple(gpus) for name, gpus in types.items()}
            for node, types in nodes.items()
        }
        self._held: Counter[str] = Counter()  # an earlier server may have assigned others
        self._changed_s: dict[str, float] = {}  # when one was assigned or left (monotonic)
        self.elsewhere: frozenset[str] = frozenset()
        """Those that are used, and not by a container."""

    def enter(self, launch: Launch) -> None:
        """A container has its GPUs from now on."""
        self._held.update(launch.gpus)
        self._changed_s |= dict.fromkeys(launch.gpus, time.monotonic())

    def leave(self, launch: Launch) -> None:
        """All processes of a container have ended."""
        self._held.subtract(launch.gpus)
        self._changed_s |= dict.fromkeys(launch.gpus, time.monotonic())

    def holder_since(self, gpu: str) -> tuple[bool, float]:
        """Whether a container has a GPU, and since when that is so; called from any thread."""
        return self._held[gpu] > 0, self._changed_s.get(gpu, 0.0)

    def choose(self, order: LaunchOrder) -> tuple[str, ...] | None:
        """The GPUs for a container, the first free ones, those that are used elsewhere last; None
        if it has to wait for them.

        Raises StartFailure if its node has fewer.
        """
        chosen: list[str] = []
        for name, gpus in self._nodes.get(order.node, {}).items():
            count = order.resources.get(name, 0)
            if count > len(gpus):
                has = counted(len(gpus), "GPU") if gpus else "no GPU"
                raise StartFailure(
                    ABORTED, f"{count} of {name} are granted to it, and {order.node} has {has}"
                )
            free = [gpu for gpu in gpus if self._held[gpu] <= 0]
            free.sort(key=self.elsewhere.__contains__)
            if count > len(free):
                return None
            chosen += free[:count]
        return tuple(chosen)


INTERVAL_S = 10.0

_log = logging.getLogger("fairshare.engine")


class GpuUsage:
    """The last sample of all GPUs of an engine; `node_of` is the node of each, by name, and `types`
    as what each is offered, if not as `yarn.io/gpu`.

    One that no container of `assigned` has had since the sample began, and of which more than
    `busy_mb` are in use, is used elsewhere; 0: that is not examined. `sampled` is called in the
    thread after each sample.
    """

    def __init__(
        self,
        gpus: Sequence[Gpu],
        node_of: Callable[[str], str],
        tool: Tool = run_tool,
        interval_s: float = INTERVAL_S,
        *,
        types: Mapping[str, str] | None = None,
        assigned: AssignedGpus | None = None,
        busy_mb: int = 0,
        sampled: Callable[[tuple[GpuUse, ...]], None] = lambda uses: None,
    ) -> None:
        self._gpus = tuple(gpus)
        self._types = types or {}
        self._assigned = assigned or AssignedGpus({})
        self._busy_mb = busy_mb
        self._sampled = sampled
        self._idle_since_s: dict[str, float] = {}
        self._node_of = node_of
        self._tool = tool
        self._interval_s = interval_s
        self._over = threading.Event()
        self._last = tuple(
            GpuUse(
                self._node_of(gpu.name),
                gpu.name,
                gpu.model,
                gpu.memory_mb,
                type=self._types.get(gpu.name, GPU),
            )
            for gpu in self._gpus
        )
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
                began_s = time.monotonic()
                self._last = self.judged(self.sample(), began_s)
                self._sampled(self._last)
            except Exception:
                _log.exception("the use of GPUs could not be measured")
            if self._over.wait(self._interval_s):
                return

    def judged(self, uses: Iterable[GpuUse], began_s: float) -> tuple[GpuUse, ...]:
        """What a sample that began then says of each GPU: whether it is used elsewhere, and how
        long the container that has it has not used it."""
        result, now_s = [], time.monotonic()
        for use in uses:
            held, since_s = self._assigned.holder_since(use.name)
            before = since_s <= began_s
            if held and use.utilization_percent == 0:
                idle_s = max(self._idle_since_s.setdefault(use.name, began_s), since_s)
                use = msgspec.structs.replace(use, idle_s=now_s - idle_s)
            else:
                self._idle_since_s.pop(use.name, None)
            busy = self._busy_mb and (use.used_mb or 0) > self._busy_mb
            if not held and busy and before:
                use = msgspec.structs.replace(use, elsewhere=True)
            result.append(use)
        self._assigned.elsewhere = frozenset(use.name for use in result if use.elsewhere)
        return tuple(result)

    def sample(self) -> tuple[GpuUse, ...]:
        """Measure all GPUs now."""
        rows: list[list[str]] = []
        if any(gpu.vendor == NVIDIA for gpu in self._gpus):
            rows = nvidia_rows(
                self._tool, "index", "pci.bus_id", "memory.used", "memory.total", "utilization.gpu"
            )
        by_address = {bus_address(row[1]): row for row in rows}
        by_index = {row[0]: row for row in rows}
        uses = []
        for gpu in self._gpus:
            if gpu.vendor == AMD:
                numbers = tuple(
                    _file_number(gpu.folder, name)
                    for name in ("mem_info_vram_used", "mem_info_vram_total", "gpu_busy_percent")
                )
                used, total = (None if n is None else n // MEBIBYTE for n in numbers[:2])
                busy = numbers[2]
            else:
                row = by_address.get(gpu.address) if gpu.address else by_index.get(gpu.name)
                used, total, busy = (
                    _number(cell) for cell in (row[2:] if row is not None else ("", "", ""))
                )
            uses.append(
                GpuUse(
                    node=self._node_of(gpu.name),
                    name=gpu.name,
                    model=gpu.model,
                    memory_mb=total or gpu.memory_mb,
                    used_mb=used,
                    utilization_percent=busy,
                    type=self._types.get(gpu.name, GPU),
                )
            )
        return tuple(uses)


def _number(text: str) -> int | None:
    """A whole number of nvidia-smi; None for `[N/A]`."""
    return int(text) if text.isascii() and text.isdigit() else None


def _file_number(folder: str, name: str) -> int | None:
    try:
        return _number(Path(folder, name).read_text().strip())
    except OSError:
        return None


class EngineGpus:
    """The GPUs of an engine with these nodes; None: it assigns none. Groups are below `group`, in
    `hierarchies`; None: cgroups are not used."""

    def __init__(
        self,
        chosen: ChosenGpus | None,
        nodes: Sequence[str],
        group: str,
        mounts: Mounts,
        hierarchies: Hierarchies | None,
        busy_mb: int = 0,
    ) -> None:
        self._chosen = chosen
        self._busy_mb = busy_mb
        self._of_nodes = per_node(chosen or ChosenGpus(), nodes)
        self._usage: GpuUsage | None = None
        self.fence = GpuFence()
        if chosen is not None:
            self.fence = fence(chosen, group, mounts, hierarchies)

    @property
    def amounts(self) -> dict[str, int]:
        """The number of GPUs of all nodes, by resource type."""
        offered = self._chosen.offered if self._chosen is not None else {}
        return {name: len(gpus) for name, gpus in offered.items()}

    @property
    def vendor(self) -> str | None:
        """The vendor, empty: unknown; None: GPUs are not assigned."""
        return None if self._chosen is None else self._chosen.vendor

    def described(self, offer: NodeOffer) -> NodeOffer:
        """An offer whose attributes name its GPUs, and how they are fenced."""
        names = [gpu.name for gpus in self._of_nodes[offer.node].values() for gpu in gpus]
        if not names:
            return offer
        hierarchy = self.fence.hierarchy
        fenced = f"off: {self.fence.reason}" if hierarchy is None else hierarchy.kind
        attributes = {**offer.attributes, "gpus": ",".join(names), "gpu-fence": fenced}
        return msgspec.structs.replace(offer, attributes=attributes)

    def unassigned(self) -> AssignedGpus:
        """The GPUs before any container has one."""
        self._assigned = AssignedGpus(
            {
                node: {name: [gpu.name for gpu in gpus] for name, gpus in types.items()}
                for node, types in self._of_nodes.items()
            }
        )
        return self._assigned

    def start(self, sampled: Callable[[tuple[GpuUse, ...]], None]) -> None:
        """Measure from now on; `sampled` is called after each sample."""
        if self._chosen is None:
            return
        places = {
            gpu.name: (node, name)
            for node, types in self._of_nodes.items()
            for name, gpus in types.items()
            for gpu in gpus
        }
        self._usage = GpuUsage(
            self._chosen.all,
            lambda gpu: places[gpu][0],
            types={gpu: name for gpu, (_, name) in places.items()},
            assigned=self._assigned,
            busy_mb=self._busy_mb,
            sampled=sampled,
        )

    def uses(self) -> tuple[GpuUse, ...]:
        """All GPUs, as of the last sample."""
        return self._usage.last() if self._usage is not None else ()

    def close(self) -> None:
        """Measure no more."""
        if self._usage is not None:
            self._usage.close()

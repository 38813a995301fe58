"""Which processors of this machine each container runs on; used by the server only.

Where a vcore is a processor, a container has as many of its own as it has vcores, so that programs
that ask for their number start as many threads. Those of one container are near each other and near
its GPUs: of one NUMA node if it has enough, with the threads of a core side by side.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local.gpus.chosen import ChosenGpus
from fairshare.engines.local.gpus.found import Gpu
from fairshare.engines.local.launch import Launch

UNKNOWN = -1


class Processor(NamedTuple):
    """One processor, in the order in which they are taken; `core` is the first one of its core."""

    memory: int  # its NUMA node
    core: int
    number: int


def find_processors(root: Path = Path("/")) -> tuple[Processor, ...]:
    """The processors that this process may use. `root` is where /sys is."""
    memories = {}
    for folder in (root / "sys/devices/system/node").glob("node[0-9]*"):
        for number in _numbers(folder / "cpulist"):
            memories[number] = int(folder.name.removeprefix("node"))
    processors = []
    for number in os.sched_getaffinity(0):
        siblings = f"sys/devices/system/cpu/cpu{number}/topology/thread_siblings_list"
        core = min(_numbers(root / siblings), default=number)
        processors.append(Processor(memories.get(number, UNKNOWN), core, number))
    return tuple(sorted(processors))


def memory_of(gpu: Gpu, root: Path = Path("/")) -> int:
    """The NUMA node of a GPU, -1: unknown."""
    bus = f"sys/bus/pci/devices/{gpu.address}"
    folder = root / bus if gpu.address else Path(gpu.folder) if gpu.folder else None
    if folder is not None:
        with contextlib.suppress(OSError, ValueError):
            return int((folder / "numa_node").read_text())
    return UNKNOWN


def memories_of(chosen: ChosenGpus | None) -> dict[str, int]:
    """The NUMA nodes of GPUs, by their names."""
    return {gpu.name: memory_of(gpu) for gpu in (chosen.all if chosen is not None else ())}


def _numbers(path: Path) -> Iterator[int]:
    """The numbers of a list of the kernel's, such as 0-3,8-11."""
    with contextlib.suppress(OSError, ValueError):
        for part in path.read_text().split(","):
            first, _, last = part.partition("-")
            yield from range(int(first), int(last or first) + 1)


class OwnProcessors:
    """The processors of an engine, and which of them containers have; none: all are shared.
    `near` are the NUMA nodes of GPUs."""

    def __init__(
        self, processors: Sequence[Processor] = (), near: Mapping[str, int] | None = None
    ) -> None:
        self._processors = tuple(processors)
        self._near = near or {}
        self._held: Counter[int] = Counter()  # an earlier server may have chosen others

    @property
    def chosen(self) -> bool:
        """Whether containers have processors of their own."""
        return bool(self._processors)

    def enter(self, launch: Launch) -> None:
        """A container has its processors from now on."""
        self._held.update(launch.processors)

    def leave(self, launch: Launch) -> None:
        """All processes of a container have ended."""
        self._held.subtract(launch.processors)

    def choose(self, vcores: int, gpus: Sequence[str] = ()) -> tuple[int, ...]:
        """The processors of a container with these GPUs; empty: it shares all.

        They are those of the fewest other containers: none, unless the containers of an earlier
        server, or such that share all, are in the way.
        """
        if not vcores or vcores > len(self._processors):
            return ()
        free = Counter(
            processor.memory for processor in self._processors if self._held[processor.number] <= 0
        )
        wanted = {self._near.get(gpu, UNKNOWN) for gpu in gpus} - {UNKNOWN}

        def order(processor: Processor) -> tuple[int, bool, bool, int, Processor]:
            few = free[processor.memory] < vcores
            return (
                max(0, self._held[processor.number]),
                bool(wanted) and processor.memory not in wanted,
                few,
                -free[processor.memory],
                processor,
            )

        return tuple(
            sorted(processor.number for processor in sorted(self._processors, key=order)[:vcores])
        )

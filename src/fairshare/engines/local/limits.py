"""The times after which interactive containers end, and the limits that this machine supports, and
their values for one container.

The engine tries them: it creates, sets, enters and removes a group. If a method is not available,
the next one is used, and nodes report it by its name:

    memory   cgroup-v2 | cgroup-v1 | watch (resident memory is checked periodically) | off
    cpu      cgroup-v2 | cgroup-v1 | nice (of single processes: a container with more of them
             gets more)
    process  cgroup-v2 | cgroup-v1 | off (processes and threads of a container)
    kill     cgroup (all at once) | subreaper (one by one, until none is left)
"""

import contextlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.local import groups
from fairshare.engines.local.gpus.fence import GpuFence
from fairshare.engines.local.hierarchies import Hierarchies
from fairshare.engines.local.launch import GroupPlan
from fairshare.engines.local.outcome import ABORTED, StartFailure
from fairshare.errors import EngineError
from fairshare.wording import cause

_NICE_STEP = 1.25  # the kernel's ratio of CPU time between adjacent nice values
_LARGEST_NICE = 19
_QUOTA_PERIOD_US = 100_000
_MOST_WEIGHT_OF_PROCESSOR = 6  # the maximum weight of all containers, per processor


class ContainerLimits(NamedTuple):
    """The limits of one container, as fields of `Launch`."""

    memory_checked: bool
    memory_limit: str
    groups: tuple[GroupPlan, ...]
    kill_group: str | None
    niceness: int
    process_group: str = ""
    process_limit: int = 0


class Limits:
    """The limits in force for the containers of one engine.

    `vcores` is the engine's total, and `cpus` the number of processors: with strict CPU a vcore is
    at most `cpus / vcores` of a processor, even when others are idle. `process_limit` is the
    maximum of processes and threads of a container; 0: no limit. `fence` keeps containers from the
    GPUs of others.
    """

    def __init__(
        self, name: str, hierarchies: Hierarchies, *, vcores: int, cpus: int, memory_check: bool,
        strict_cpu: bool, process_limit: int = 0, fence: GpuFence | None = None,
    ) -> None:  # fmt: skip
        self._name = name
        self._vcores = vcores
        self._cpus = cpus
        self._memory_check = memory_check
        self._strict_cpu = strict_cpu
        self._memory = hierarchies.memory
        self._cpu = hierarchies.cpu
        self._kill = hierarchies.kill
        self._process_limit = process_limit
        self._processes = hierarchies.processes if process_limit else None
        self._fence = fence or GpuFence()
        used = (self._memory, self._cpu, self._kill, self._processes, self._fence.hierarchy)
        self._bases = {one: str(one.base(name)) for one in used if one is not None}
        self.notes = hierarchies.notes

    @property
    def attributes(self) -> dict[str, str]:
        """The limits in force, as node attributes."""
        memory = self._memory.kind if self._memory else "watch"
        cpu = self._cpu.kind if self._cpu else "nice"
        if self._cpu and self._strict_cpu:
            cpu += " strict"
        result = {
            "memory-limit": memory if self._memory_check else "off",
            "cpu-limit": cpu,
            "process-limit": self._processes.kind if self._processes else "off",
            "tree-kill": "cgroup" if self._kill else "subreaper",
        }
        if self.notes:
            more = len(self.notes) - 1  # mostly the same of the groups above and beside it
            result["limits-note"] = self.notes[0] + (f", and {more} more" if more else "")
        return result

    @property
    def bases(self) -> frozenset[str]:
        """The groups that `prepare` creates."""
        return frozenset(self._bases.values())

    def prepare(self) -> None:
        """Create the parent groups of all containers' groups; raises EngineError."""
        for hierarchy, base in self._bases.items():
            try:
                hierarchy.make_base(self._name)
                if hierarchy is self._cpu:
                    # Caps the weight of all containers together against other processes: with a
                    # hundred vcores per processor they would otherwise starve the server.
                    most = _MOST_WEIGHT_OF_PROCESSOR * max(1, self._cpus)
                    for file, value, _ in hierarchy.weight(min(self._vcores, most)):
                        groups.write(f"{base}/{file}", value)
            except OSError as error:
                raise EngineError(
                    f"cannot make the cgroup {base}: {error.strerror}; "
                    "make it writable, or start the engine with enforcement 'watch'"
                ) from error

    def dispose(self) -> None:
        """Remove the groups that `prepare` created, unless containers still run in them."""
        for base in self._bases.values():
            with contextlib.suppress(OSError):
                Path(base).rmdir()

    def container(
        self, container_name: str, memory_mb: int, vcores: int, gpus: Sequence[str] = ()
    ) -> ContainerLimits:
        """The limits of one container; `memory_mb` 0 is unlimited, `gpus` are its own.

        The memory group, if there is one, comes first.
        """
        plans = []
        for hierarchy, base in self._bases.items():
            settings: list[tuple[str, str, bool]] = []
            if hierarchy is self._memory and self._memory_check and memory_mb > 0:
                settings += hierarchy.memory(memory_mb * MEBIBYTE)
            if hierarchy is self._cpu:
                settings += hierarchy.weight(vcores)
                if self._strict_cpu:
                    share = self._cpus * max(1, vcores) / self._vcores
                    settings += hierarchy.quota(share, _QUOTA_PERIOD_US)
            if hierarchy is self._processes:
                settings += hierarchy.processes(self._process_limit)
            if hierarchy is self._fence.hierarchy:
                settings += self._fence.settings(gpus)
            plans.append(GroupPlan(f"{base}/{container_name}", tuple(settings)))
        return ContainerLimits(
            memory_checked=self._memory_check,
            memory_limit=self._memory.kind if self._memory else "watch",
            groups=tuple(plans),
            kill_group=f"{self._bases[self._kill]}/{container_name}" if self._kill else None,
            niceness=0 if self._cpu else niceness(vcores, self._vcores),
            process_group=(
                f"{self._bases[self._processes]}/{container_name}" if self._processes else ""
            ),
            process_limit=self._process_limit,
        )

    def fence(self, container_name: str, gpus: Sequence[str]) -> None:
        """Close the GPUs of others to a container that is about to start, if its supervisor cannot
        do that by a setting. Raises StartFailure."""
        if self._fence.hierarchy is not None:
            try:
                self._fence.make_group(container_name, self._bases[self._fence.hierarchy], gpus)
            except OSError as error:
                raise StartFailure(
                    ABORTED, f"the GPUs of others cannot be closed to it: {cause(error)}"
                ) from error


def niceness(vcores: int, all_vcores: int) -> int:
    """The nice value of a process, relative to the server's, for its part of a contended processor.

    Adjacent values differ by a factor of 1.25, hence `round(log(all / vcores) / log(1.25))`:
    >>> [niceness(vcores, 8) for vcores in (8, 4, 2, 1)]
    [0, 3, 6, 9]
    """
    if vcores >= all_vcores:
        return 0
    step = math.log(all_vcores / max(1, vcores)) / math.log(_NICE_STEP)
    return min(_LARGEST_NICE, round(step))


class Interactive(NamedTuple):
    """`idle_ms`: they end after this time without typing, output or computation; 0: never.
    `detached_ms`: without a user. `idle_of_queues_ms` are times of queues and of those below
    them."""

    idle_ms: int = 3_600_000
    detached_ms: int = 60_000
    idle_of_queues_ms: Mapping[str, int] = {}

    def idle_in(self, queue: str) -> int:
        """The idle time in a queue: its own, else that of the nearest queue above it.

        >>> times = Interactive(5, 1, {"root.ml": 2, "root.ml.free": 0})
        >>> times.idle_in("root.ml.a"), times.idle_in("root.ml.free"), times.idle_in("root.mlx")
        (2, 0, 5)
        """
        while queue:
            if queue in self.idle_of_queues_ms:
                return self.idle_of_queues_ms[queue]
            queue = queue.rpartition(".")[0]
        return self.idle_ms


INTERACTIVE = Interactive()
NEVER = Interactive(0)

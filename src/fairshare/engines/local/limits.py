"""Owns which limits this machine lets us set, and what they are for one container.

Found out by trying: a group is made, set, entered and removed again. What cannot be had is
replaced by the next best, and named as what it is:

    memory   cgroup-v2 | cgroup-v1 | watch (the resident memory is looked at) | off
    cpu      cgroup-v2 | cgroup-v1 | nice (of single processes: a container with more of them
             gets more)
    process  cgroup-v2 | cgroup-v1 | off (processes and threads of a container)
    kill     cgroup (all at one word) | subreaper (one by one, until none is left)
"""

import contextlib
import math
from collections.abc import Sequence
from typing import NamedTuple

from fairshare.engines.local import groups
from fairshare.engines.local.hierarchies import Hierarchies, Hierarchy
from fairshare.engines.local.launch import GroupPlan
from fairshare.errors import EngineError

_NICE_STEP = 1.25  # the kernel's ratio of CPU between two neighbouring nice values
_LARGEST_NICE = 19
_QUOTA_PERIOD_US = 100_000
_MEBIBYTE = 1024 * 1024
_MOST_WEIGHT_OF_PROCESSOR = 6  # of all containers together, in processes that are as busy


class ContainerLimits(NamedTuple):
    """What `Launch` wants to know of the limits of one container."""

    memory_checked: bool
    memory_limit: str
    groups: tuple[GroupPlan, ...]
    kill_group: str | None
    niceness: int
    process_group: str = ""
    process_limit: int = 0


class Limits:
    """The limits in force for the containers of one engine.

    `vcores` are all that the engine offers and `cpus` the processors behind them: with strict CPU a
    vcore is worth `cpus / vcores` of a processor at most, also when others idle. A container may
    have `process_limit` processes and threads; 0: any number.
    """

    def __init__(
        self, name: str, hierarchies: Hierarchies, *, vcores: int, cpus: int, memory_check: bool,
        strict_cpu: bool, process_limit: int = 0,
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
        self.notes = hierarchies.notes

    @property
    def attributes(self) -> dict[str, str]:
        """What is in force, for the node's attributes."""
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
            result["limits-note"] = "; ".join(self.notes)
        return result

    @property
    def bases(self) -> frozenset[str]:
        """The groups that `prepare` makes."""
        return frozenset(str(hierarchy.base(self._name)) for hierarchy in self._hierarchies())

    def prepare(self) -> None:
        """Make the group that holds those of all containers; raises EngineError."""
        for hierarchy in self._hierarchies():
            try:
                hierarchy.make_base(self._name)
                if hierarchy is self._cpu:
                    # Together they weigh as much as that many processes of others beside them. A
                    # hundred vcores per processor would otherwise starve the server.
                    most = _MOST_WEIGHT_OF_PROCESSOR * max(1, self._cpus)
                    for file, value, _ in hierarchy.weight(min(self._vcores, most)):
                        groups.write(f"{hierarchy.base(self._name)}/{file}", value)
            except OSError as error:
                raise EngineError(
                    f"cannot make the cgroup {hierarchy.base(self._name)}: {error.strerror}; "
                    "make it writable, or start the engine with enforcement 'watch'"
                ) from error

    def dispose(self) -> None:
        """Remove what `prepare` made, unless containers still live in it."""
        for hierarchy in self._hierarchies():
            with contextlib.suppress(OSError):
                hierarchy.base(self._name).rmdir()

    def container(self, container_name: str, memory_mb: int, vcores: int) -> ContainerLimits:
        """The limits of one container; `memory_mb` 0 is unlimited.

        The group of the memory, if there is one, comes first.
        """
        plans = []
        for hierarchy in self._hierarchies():
            settings: list[tuple[str, str, bool]] = []
            if hierarchy is self._memory and self._memory_check and memory_mb > 0:
                settings += hierarchy.memory(memory_mb * _MEBIBYTE)
            if hierarchy is self._cpu:
                settings += hierarchy.weight(vcores)
                if self._strict_cpu:
                    share = self._cpus * max(1, vcores) / self._vcores
                    settings += hierarchy.quota(share, _QUOTA_PERIOD_US)
            if hierarchy is self._processes:
                settings += hierarchy.processes(self._process_limit)
            path = hierarchy.base(self._name) / container_name
            plans.append(GroupPlan(str(path), tuple(settings)))
        return ContainerLimits(
            memory_checked=self._memory_check,
            memory_limit=self._memory.kind if self._memory else "watch",
            groups=tuple(plans),
            kill_group=str(self._kill.base(self._name) / container_name) if self._kill else None,
            niceness=0 if self._cpu else niceness(vcores, self._vcores),
            process_group=(
                str(self._processes.base(self._name) / container_name) if self._processes else ""
            ),
            process_limit=self._process_limit,
        )

    def _hierarchies(self) -> Sequence[Hierarchy]:
        unique: list[Hierarchy] = []
        for hierarchy in (self._memory, self._cpu, self._kill, self._processes):
            if hierarchy is not None and hierarchy not in unique:
                unique.append(hierarchy)
        return unique


def niceness(vcores: int, all_vcores: int) -> int:
    """How much nicer than the server a process is, to get its part of a contended processor.

    Two neighbouring values differ by a factor of 1.25, so `round(log(all / vcores) / log(1.25))`:
    >>> [niceness(vcores, 8) for vcores in (8, 4, 2, 1)]
    [0, 3, 6, 9]
    """
    if vcores >= all_vcores:
        return 0
    step = math.log(all_vcores / max(1, vcores)) / math.log(_NICE_STEP)
    return min(_LARGEST_NICE, round(step))

"""Whether the kernel keeps a container from the GPUs of others, and how.

By the controller `devices` of cgroups of the first version: a container's group may not open the
device files of other GPUs. The second version has no such file; a BPF program would be needed,
which this engine does not load. Without a fence a container can open any GPU.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local.gpus.chosen import ChosenGpus
from fairshare.engines.local.hierarchies import DEVICES, Hierarchy, Mounts, Setting, usable
from fairshare.wording import cause


class GpuFence(NamedTuple):
    """The hierarchy in which containers are fenced, None: they are not, because of `reason`.

    `files` are the numbers of the device files of each GPU: `c 195:0`.
    """

    hierarchy: Hierarchy | None = None
    reason: str = ""
    files: dict[str, tuple[str, ...]] = {}  # noqa: RUF012 - never mutated

    def settings(self, gpus: Sequence[str]) -> list[Setting]:
        """The settings of the group of a container with these GPUs."""
        if self.hierarchy is None:
            return []
        own = {file for name in gpus for file in self.files.get(name, ())}
        others = dict.fromkeys(file for files in self.files.values() for file in files)
        return self.hierarchy.deny([file for file in others if file not in own])


def fence(chosen: ChosenGpus, name: str, mounts: Mounts, *, cgroups: bool) -> GpuFence:
    """The fence for groups below one named `name`, found by trying."""
    if not cgroups:
        return GpuFence(reason="cgroups are switched off")
    unknown = [gpu.name for gpu in chosen.all if not gpu.files]
    if unknown:
        return GpuFence(reason=f"the device files of {', '.join(unknown)} are not known")
    parents = mounts.v1.get(DEVICES, ())
    if not parents:
        return GpuFence(
            reason="cgroup v2 would need a BPF program for it"
            if mounts.v2
            else "no cgroup hierarchy for devices is mounted"
        )
    try:
        # The names of those that are offered nowhere must not be mistaken for others.
        files = {gpu.name: _numbers(gpu.files) for gpu in chosen.all}
        files |= {f"other {gpu.name}": _numbers(gpu.files) for gpu in chosen.others}
    except OSError as error:
        return GpuFence(reason=cause(error))
    notes: list[str] = []
    for parent in parents:
        hierarchy = Hierarchy(1, parent)
        if usable(name, hierarchy, DEVICES, notes):
            return GpuFence(hierarchy, "", files)
    return GpuFence(reason="; ".join(notes))


def _numbers(files: Sequence[str]) -> tuple[str, ...]:
    """The device numbers as the kernel's list has them; raises OSError for a file that is gone."""
    devices = (Path(file).stat().st_rdev for file in files)
    return tuple(f"c {os.major(device)}:{os.minor(device)}" for device in devices)

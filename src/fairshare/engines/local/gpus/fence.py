"""Whether the kernel keeps a container from the GPUs of others, and how.

A container's cgroup may not open the device files of other GPUs. In the first version the
controller `devices` has a list of them, in the second version a BPF program decides
(`device_filter`). Without a fence a container can open any GPU.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local import groups
from fairshare.engines.local.gpus.chosen import ChosenGpus
from fairshare.engines.local.gpus.device_filter import Device, attach_filter
from fairshare.engines.local.hierarchies import (
    DEVICES,
    NO_DEVICE,
    Hierarchies,
    Hierarchy,
    Mounts,
    Setting,
    usable,
)
from fairshare.wording import cause

CGROUPS_OFF = "cgroups are switched off"


class GpuFence(NamedTuple):
    """The hierarchy in which containers are fenced, None: they are not, because of `reason`.

    `files` are the device files of each GPU.
    """

    hierarchy: Hierarchy | None = None
    reason: str = ""
    files: dict[str, tuple[Device, ...]] = {}  # noqa: RUF012 - never mutated

    def settings(self, gpus: Sequence[str]) -> list[Setting]:
        """The settings of the group of a container with these GPUs."""
        if self.hierarchy is None or self.hierarchy.version == 2:
            return []
        return self.hierarchy.deny(self._denied(gpus))

    def make_group(self, container_name: str, base: str, gpus: Sequence[str]) -> None:
        """Make the group of a container below `base`, where a list in a file does not do: a program
        is attached to a group that is there. Raises OSError.

        A group that an earlier start left behind goes first, with the program for other GPUs.
        """
        if self.hierarchy is not None and self.hierarchy.version == 2:
            group = f"{base}/{container_name}"
            groups.remove(group, patience_ms=0)
            Path(group).mkdir(mode=groups.MODE)
            try:
                attach_filter(group, self._denied(gpus))
            except OSError:
                groups.remove(group, patience_ms=0)
                raise

    def _denied(self, gpus: Sequence[str]) -> list[Device]:
        own = {file for name in gpus for file in self.files.get(name, ())}
        others = dict.fromkeys(file for files in self.files.values() for file in files)
        return [file for file in others if file not in own]


def fence(
    chosen: ChosenGpus, name: str, mounts: Mounts, hierarchies: Hierarchies | None
) -> GpuFence:
    """The fence for groups below one named `name`, found by trying; `hierarchies` are those that
    containers have anyway, None: cgroups are not used."""
    if hierarchies is None:
        return GpuFence(reason=CGROUPS_OFF)
    unknown = [gpu.name for gpu in chosen.all if not gpu.files]
    if unknown:
        return GpuFence(reason=f"the device files of {', '.join(unknown)} are not known")
    try:
        # The names of those that are offered nowhere must not be mistaken for others.
        files = {gpu.name: _numbers(gpu.files) for gpu in chosen.all}
        files |= {f"other {gpu.name}": _numbers(gpu.files) for gpu in chosen.others}
    except OSError as error:
        return GpuFence(reason=cause(error))
    notes: list[str] = []
    for parent in mounts.v1.get(DEVICES, ()):
        hierarchy = Hierarchy(1, parent)
        if usable(name, hierarchy, DEVICES, notes):
            return GpuFence(hierarchy, "", files)
    second = hierarchies.second
    if second is not None:
        try:
            _try_filter(second, name)
        except OSError as error:
            notes.append(f"the kernel takes no BPF program for {second.parent}: {cause(error)}")
        else:
            return GpuFence(second, "", files)
    return GpuFence(reason="; ".join(notes) or "no cgroup hierarchy for devices is usable")


def _try_filter(hierarchy: Hierarchy, name: str) -> None:
    """Attach a program to a group that is removed again; raises OSError."""
    base = hierarchy.base(name)
    existed, probe = base.is_dir(), str(base / f"probe-{os.getpid()}")
    try:
        hierarchy.make_base(name)
        groups.remove(probe, patience_ms=0)
        Path(probe).mkdir(mode=groups.MODE)
        attach_filter(probe, [NO_DEVICE])
    finally:
        groups.remove(probe)
        if not existed:
            groups.remove(str(base), patience_ms=0)


def _numbers(files: Sequence[str]) -> tuple[Device, ...]:
    """The device numbers of device files; raises OSError for a file that is gone."""
    devices = (Path(file).stat().st_rdev for file in files)
    return tuple((os.major(device), os.minor(device)) for device in devices)

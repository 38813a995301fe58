"""Whether the kernel keeps a container from the GPUs of others, and how.

A container's cgroup may not open the device files of other GPUs. In the first version the
controller `devices` has a list of them. In the second version a small BPF program decides, which
the kernel asks for each device file that a process of the group opens: it answers yes, except for
the listed character devices. The program and two calls of bpf(2) are written here (`struct
bpf_insn`, `struct bpf_cgroup_dev_ctx` and `union bpf_attr` in linux/bpf.h), and need no compiler
and no library. Without a fence a container can open any GPU.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local import groups
from fairshare.engines.local.gpus.chosen import ChosenGpus
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


Device = tuple[int, int]
"""The major and the minor number of a character device."""

_CALL = {"x86_64": 321, "aarch64": 280}
_LOAD, _ATTACH = 5, 8
_OF_CGROUP_DEVICES, _AT_CGROUP_DEVICES = 15, 6
_ALLOW_MULTI = 2
_CHARACTER_DEVICE = 2

_INSTRUCTION = struct.Struct("<BBhi")
_INSTRUCTION_BYTES = 8
_LOAD_WORD, _AND, _UNLESS, _IF, _SET, _EXIT = 0x61, 0x54, 0x55, 0x15, 0xB7, 0x95
_ANSWER, _CONTEXT, _KIND, _MAJOR, _MINOR = range(5)


def filter_program(denied: Sequence[Device]) -> bytes:
    """The instructions of a program that forbids these character devices, of which there is one at
    least, and allows all others."""
    allow = 5 + 2 * len(denied)
    deny = allow + 2
    instructions = [
        (_LOAD_WORD, _CONTEXT << 4 | _KIND, 0, 0),
        (_AND, _KIND, 0, 0xFFFF),  # the upper half is whether it is read, written or made
        (_UNLESS, _KIND, allow - 3, _CHARACTER_DEVICE),
        (_LOAD_WORD, _CONTEXT << 4 | _MAJOR, 4, 0),
        (_LOAD_WORD, _CONTEXT << 4 | _MINOR, 8, 0),
    ]
    for major, minor in denied:
        instructions.append((_UNLESS, _MAJOR, 1, major))
        instructions.append((_IF, _MINOR, deny - len(instructions) - 1, minor))
    for answer in (1, 0):
        instructions += [(_SET, _ANSWER, 0, answer), (_EXIT, 0, 0, 0)]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in instructions)


def attach_filter(group: str, denied: Sequence[Device]) -> None:
    """Forbid devices to a cgroup, given as its directory, until the group is removed. What groups
    above it forbid stays forbidden. Raises OSError, mostly EPERM: only root may do this."""
    if not denied:  # the kernel takes no program with instructions that are never reached
        return
    instructions = ctypes.create_string_buffer(filter_program(denied))
    license_text = ctypes.create_string_buffer(b"")
    count = (len(instructions) - 1) // _INSTRUCTION_BYTES
    addresses = ctypes.addressof(instructions), ctypes.addressof(license_text)
    loaded = _bpf(_LOAD, struct.pack("=IIQQIIQII", _OF_CGROUP_DEVICES, count, *addresses, *[0] * 5))
    try:
        directory = os.open(group, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _bpf(_ATTACH, struct.pack("=4I", directory, loaded, _AT_CGROUP_DEVICES, _ALLOW_MULTI))
        finally:
            os.close(directory)
    finally:
        os.close(loaded)


def _bpf(command: int, attributes: bytes) -> int:
    call = _CALL.get(platform.machine())
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    answer = ctypes.CDLL(None, use_errno=True).syscall(call, command, buffer, len(attributes))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return int(answer)


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

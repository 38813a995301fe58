"""A filter of device files for a cgroup of the second version: a small BPF program.

The kernel asks the program for each device file that a process of the group opens. It answers yes,
except for the listed character devices. What is written here is the program and two calls of
bpf(2) (`struct bpf_insn`, `struct bpf_cgroup_dev_ctx` and `union bpf_attr` in linux/bpf.h): no
compiler and no library is needed.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Sequence

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

"""Acting with the rights of a tenant.

What a container's user names or can replace (files of `--output`, everything below `work/`) is only
opened, listed, changed or deleted by a thread that has that user's rights at the time: a server of
root has no business on such a path with its own. Linux keeps the identity for access to files, and
the groups, for each thread. Must stay light: supervisors use it.
"""

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

_LIBC = ctypes.CDLL(None, use_errno=True)
_UNCHANGED = 0xFFFFFFFF  # an id that is never set, so that only the present one is returned
_UNRELATED = 65534  # the account that owns nothing
_PR_GET_SECUREBITS = 27
_KEEPS_CAPABILITIES = 1 << 2  # SECBIT_NO_SETUID_FIXUP
_SETGROUPS = {
    "x86_64": 116,
    "aarch64": 159,
    "riscv64": 159,
    "loongarch64": 159,
    "ppc64le": 81,
    "s390x": 206,
}
"""The system call by machine: the function of the C library changes the groups of all threads."""


class Rights(NamedTuple):
    """An account's identity for access to files; `groups` are its supplementary ones."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()

    @classmethod
    def of_owner(cls, found: os.stat_result) -> "Rights":
        """The owner of a file, with no other group than the file's."""
        return cls(found.st_uid, found.st_gid)


@contextlib.contextmanager
def acting_as(rights: Rights | None) -> Iterator[None]:
    """Access files with other rights, in this thread only, until the block ends.

    None, and a process that is not root's, keep the rights that they have. The block must not
    await, nor start threads or processes. Raises OSError if the rights cannot be changed; then they
    are as before.
    """
    if rights is None or rights.uid == 0 or os.geteuid() != 0 or sys.platform != "linux":
        yield
        return
    groups, gid, uid = os.getgroups(), _swap("setfsgid"), _swap("setfsuid")
    try:
        _set_groups(rights.groups)
        _swap("setfsgid", rights.gid)
        _swap("setfsuid", rights.uid)  # drops the capabilities that concern files
        if (_swap("setfsgid"), _swap("setfsuid")) != (rights.gid, rights.uid):
            raise PermissionError(errno.EPERM, f"cannot act as account {rights.uid}")
        yield
    finally:
        _swap("setfsuid", uid)
        _swap("setfsgid", gid)
        _set_groups(groups)


def check_rights() -> None:
    """Raise OSError if this process cannot act with the rights of others."""
    if _LIBC.prctl(_PR_GET_SECUREBITS, 0, 0, 0, 0) & _KEEPS_CAPABILITIES:
        raise PermissionError(errno.EPERM, "secure bits of this process keep its capabilities")
    with acting_as(Rights(1, 1)):
        pass


def closed_program(files: Sequence[str] = (sys.executable, os.__file__, __file__)) -> str:
    """Why other accounts cannot run this program, by the first folder or file that is closed to
    them; empty if they can, or if this process is not root's and cannot act as they."""
    for file in files:
        if closed := _closed(os.path.realpath(file)) or _closed(file):
            return (
                f"{closed} is closed to other accounts: users of this machine can run neither"
                f" `fairshare` nor Python calls, which need {file}. Install fairshare with an"
                " interpreter that all users can execute: /usr/bin/python3 -m venv /opt/fairshare"
            )
    return ""


def _closed(file: str) -> str:
    """The first part of a path that an account without rights cannot pass or open, or empty."""
    path = Path(file)
    way = [*reversed(path.parents), path]
    with contextlib.suppress(OSError), acting_as(Rights(_UNRELATED, _UNRELATED)):
        for above, part in pairwise(way):
            try:
                part.stat()
            except PermissionError:
                return str(above)
        try:
            os.close(os.open(file, os.O_RDONLY | os.O_CLOEXEC))
        except PermissionError:
            return file
    return ""


def _swap(call: str, number: int = _UNCHANGED) -> int:
    """Set a number of this thread; returns the one before."""
    function: Any = getattr(_LIBC, call)
    return int(function(ctypes.c_uint(number))) & 0xFFFFFFFF


def _set_groups(groups: Sequence[int]) -> None:
    number = _SETGROUPS.get(os.uname().machine) if sys.maxsize > 2**32 else None
    if number is None:
        words = f"threads on {os.uname().machine} cannot change their groups"
        raise OSError(errno.ENOSYS, words)
    array = (ctypes.c_uint * len(groups))(*groups)
    if _LIBC.syscall(ctypes.c_long(number), ctypes.c_size_t(len(groups)), array) != 0:
        failure = ctypes.get_errno()
        raise OSError(failure, os.strerror(failure))

"""What the operating system says of this machine: its identity, by which clients recognize a server
on their own machine, its accounts, those that listen at its ports, and which disk is full.

An address does not say the first: behind 127.0.0.1 may be a tunnel, or a container with other
files.
"""

import contextlib
import errno
import functools
import os
import pwd
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fairshare.errors import AccountsUnavailable


@functools.cache
def boot_id() -> str:
    """The identifier of the machine's current boot. Raises OSError where there is none."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def this_machine() -> str:
    """The same text for all processes of one boot of a machine that share the root of its files;
    empty if it is not known.

    A process with a private /tmp is on the same machine, one in a container's image is not.
    """
    try:
        boot = boot_id()
        root = Path("/").stat()
    except OSError:
        return ""
    import hashlib  # it loads OpenSSL, which only this needs

    return hashlib.sha256(f"{boot} {root.st_dev} {root.st_ino}".encode()).hexdigest()[:32]


_SMALL_BYTES, _SMALL_INODES = 1024 * 1024, 16
"""So little may have become free by what failed for want of it."""


def full_disk(directory: Path) -> str:
    """That the disk of a directory has no room for small files, and what is used up; empty if it
    has room, or cannot be seen."""
    try:
        room = os.statvfs(directory)
    except OSError:
        return ""
    if room.f_frsize * room.f_bavail < _SMALL_BYTES:
        used_up = "space"
    elif room.f_files and room.f_favail < _SMALL_INODES:
        used_up = "inodes"
    else:
        return ""
    return f"the disk of {directory} is full, it has no {used_up} left: make room there"


_LISTENING = "0A"
_UNKNOWN_ACCOUNT = 65_534
"""The number of accounts that a user namespace does not know, root's among them."""


def accounts_behind(connection: socket.socket) -> frozenset[int]:
    """The accounts of this machine whose programs may read what is sent over a TCP connection to a
    loopback address: the one that has accepted it, or those that listen there. Empty if they are
    not known: it leads out of this network namespace, or this is not Linux.

    Read after the connection is made: a program that listens later cannot get it.
    """
    (here, own), (there, port) = connection.getsockname()[:2], connection.getpeername()[:2]
    return _accounts(port, _spellings(there), {f"{one}:{own:04X}" for one in _spellings(here)})


def accounts_listening(address: str, port: int) -> frozenset[int]:
    """The accounts that listen at a port of an address; empty if there is none, or not known."""
    return _accounts(port, _spellings(address), set())


def _accounts(port: int, addresses: set[str], callers: set[str]) -> frozenset[int]:
    listening, accepted = set(), set()
    anywhere = {"0" * 8, "0" * 32}
    for table in ("tcp", "tcp6") if sys.platform == "linux" else ():
        try:
            lines = Path("/proc/net", table).read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            if f":{port:04X} " not in line:
                continue
            _, local, remote, state, *_, account, _, inode = line.split()[:10]
            address, _, local_port = local.partition(":")
            if int(local_port, 16) != port:
                continue
            if state == _LISTENING and address in addresses | anywhere:
                listening.add(int(account))
            elif address in addresses and remote in callers and inode != "0":
                accepted.add(int(account))
    found = accepted or listening
    return frozenset() if _UNKNOWN_ACCOUNT in found and _in_user_namespace() else frozenset(found)


def _spellings(address: str) -> set[str]:
    """An address as the kernel's tables write it: IPv4 also as IPv6 has it."""
    if ":" in address:
        return {_words(socket.inet_pton(socket.AF_INET6, address.partition("%")[0]))}
    short = socket.inet_aton(address)
    return {_words(short), _words(bytes(10) + b"\xff\xff" + short)}


def _words(address: bytes) -> str:
    return "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", address))


def _in_user_namespace() -> bool:
    try:
        mapped = Path("/proc/self/uid_map").read_text().split()
    except OSError:
        return False
    return mapped[:2] != ["0", "0"] or mapped[2:] != [str(2**32 - 1)]


_UNKNOWN = frozenset((0, errno.ENOENT, errno.ESRCH, errno.EBADF, errno.EPERM))
"""What getpwnam_r returns for an account that does not exist (its manual page)."""
_BUFFER_BYTES = 65_536


def account_named(name: str) -> pwd.struct_passwd | None:
    """The account of a name; None if there is none. Raises AccountsUnavailable.

    `pwd` says of an account that it does not know also where it could not ask.
    """
    try:
        asked = os.fsencode(name)
    except UnicodeEncodeError:  # no account has a name that the system cannot write
        return None
    return _account(pwd.getpwnam, name, "getpwnam_r", asked)


def account_numbered(uid: int) -> pwd.struct_passwd | None:
    """The account of a number; None if there is none. Raises AccountsUnavailable."""
    return _account(pwd.getpwuid, uid, "getpwuid_r", uid)


def _account(
    look: Callable[[Any], pwd.struct_passwd], key: str | int, function: str, asked: bytes | int
) -> pwd.struct_passwd | None:
    """The account, or that it does not exist, which is certain only if what the system needs to
    find that out can be had. It is asked twice, since files may have been short for a moment."""
    for _ in range(2):
        try:
            return look(key)
        except KeyError:
            _check_service(function, asked, repr(key))
            _check_files(repr(key))
        except ValueError:  # a NUL character in it
            break
    return None


def _check_service(function: str, key: bytes | int, shown: str) -> None:
    """Raise AccountsUnavailable unless the system says that there is no such account."""
    try:
        import ctypes  # rarely needed
    except (ImportError, OSError) as error:
        raise AccountsUnavailable(shown, "no file can be opened") from error
    entry, buffer = (ctypes.create_string_buffer(size) for size in (256, _BUFFER_BYTES))
    found = ctypes.c_void_p()
    asked = key if isinstance(key, bytes) else ctypes.c_uint(key)
    size = ctypes.c_size_t(_BUFFER_BYTES)
    number = getattr(ctypes.CDLL(None), function)(asked, entry, buffer, size, ctypes.byref(found))
    if number not in _UNKNOWN:
        raise AccountsUnavailable(shown, os.strerror(number))


def _check_files(shown: str) -> None:
    """Raise AccountsUnavailable if the file of accounts, or a connection to a service, cannot be
    opened: with several services the last one that answers hides that another could not."""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.close(os.open("/etc/passwd", os.O_RDONLY | os.O_CLOEXEC))
        socket.socket(socket.AF_UNIX).close()
    except OSError as error:
        raise AccountsUnavailable(shown, os.strerror(error.errno or errno.EMFILE)) from error


def physical_memory_mb() -> int:
    """The memory of this machine, in MB."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (1024 * 1024)

"""The information in /proc about processes: their identity, descendants and memory.

A process is identified by its pid *and* its start time (field 22 of /proc/PID/stat, in clock ticks
since boot), since pids are reused. Must stay light: supervisors use it.
"""

import contextlib
import functools
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

_READ_BYTES = 65536
SUPERVISOR = "fs-supervisor"
"""The process name of a supervisor. Its working directory is the container's directory."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@functools.cache
def boot_id() -> str:
    """The identifier of the machine's current boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _read(path: str) -> bytes:
    """Read a small file of /proc with few system calls, since memory is checked often."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = os.read(descriptor, _READ_BYTES)
        while more := os.read(descriptor, _READ_BYTES):
            data += more
        return data
    finally:
        os.close(descriptor)


def _fields(pid: int) -> list[bytes] | None:
    try:
        text = _read(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The second field is the command's name in parentheses, which may contain any character.
    return text[text.rindex(b")") + 2 :].split()


def start_time(pid: int) -> int | None:
    """The start time of a process; None if no process has this pid."""
    fields = _fields(pid)
    return int(fields[19]) if fields else None


TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_ticks(pids: Iterable[int]) -> int:
    """The processor time of processes and of the children that they have waited for."""
    found = (_fields(pid) for pid in pids)
    return sum(sum(map(int, fields[11:15])) for fields in found if fields)


def is_alive(pid: int) -> bool:
    """Whether a process can still run; a zombie cannot."""
    fields = _fields(pid)
    return fields is not None and fields[0] not in (b"Z", b"X")


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped, by SIGSTOP or by its tracer."""
    fields = _fields(pid)
    return fields is not None and fields[0] in (b"T", b"t")


def number_of(pidfd: int) -> int:
    """The pid of a pidfd's process; -1 if it has ended. Raises OSError."""
    lines = _read(f"/proc/self/fdinfo/{pidfd}").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(b"Pid:"))


def is_supervisor(pid: int, directory: Path) -> bool:
    """Whether the working directory of a process is a container's directory, as of its
    supervisor."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == directory
    except OSError:
        return False


def supervisors(directory: Path) -> list[int]:
    """The pids of the supervisors of a container's directory: at most one. Raises OSError."""
    name = f"{SUPERVISOR}\n".encode()
    pids = []
    for pid in all_pids():
        with contextlib.suppress(OSError):
            if _read(f"/proc/{pid}/comm") == name and is_supervisor(pid, directory):
                pids.append(pid)
    return pids


def supervised() -> frozenset[str]:
    """The directories of all containers with a supervisor."""
    directories = set()
    for pid in all_pids():
        with contextlib.suppress(OSError):
            if _read(f"/proc/{pid}/comm") == f"{SUPERVISOR}\n".encode():
                directories.add(str(Path(f"/proc/{pid}/cwd").readlink()))
    return frozenset(directories)


def all_pids() -> Iterator[int]:
    """All visible pids of the machine."""
    with os.scandir("/proc") as entries:
        for entry in entries:
            if entry.name.isdigit():
                yield int(entry.name)


def descendants(pid: int) -> list[int]:
    """The pids of all descendants of a process, parents before children.

    Concurrent forks may be missing: to kill all descendants, repeat until none is left.
    """
    children = _finder()
    pids: list[int] = []
    waiting = [pid]
    while waiting:
        new = children(waiting.pop())
        pids += new
        waiting += new
    return pids


def children(pid: int) -> list[int]:
    """The pids of the children of a process."""
    return _finder()(pid)


def _finder() -> Callable[[int], list[int]]:
    return _listed_children if _HAS_CHILDREN else _scanned_children()


def _listed_children(pid: int) -> list[int]:
    result: list[int] = []
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            result += map(int, _read(f"{thread.path}/children").split())
    return result


def _scanned_children() -> Callable[[int], list[int]]:
    """Finds children by scanning all processes, for kernels that do not list children."""
    found: dict[int, list[int]] = {}
    for pid in all_pids():
        fields = _fields(pid)
        if fields:
            found.setdefault(int(fields[1]), []).append(pid)
    return lambda pid: found.get(pid, [])


_HAS_CHILDREN = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists()


def resident_bytes(pids: Iterable[int]) -> int:
    """The resident memory of processes, each counted in full: shared pages count more than once."""
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, IndexError):
            total += int(_read(f"/proc/{pid}/statm").split()[1]) * _PAGE_BYTES
    return total


def proportional_bytes(pids: Iterable[int]) -> int:
    """The memory of processes, where a page shared by n processes counts 1/n for each.

    Uses the resident memory of a process whose proportional size the kernel does not report.
    """
    total = 0
    for pid in pids:
        try:
            lines = _read(f"/proc/{pid}/smaps_rollup").splitlines()
            total += next(int(line.split()[1]) * 1024 for line in lines if line[:4] == b"Pss:")
        except (OSError, StopIteration):
            total += resident_bytes([pid])
    return total


def marked(variable: str, value: str) -> list[int]:
    """The pids of processes that were started with `variable=value` in their environment."""
    assignment = f"{variable}={value}".encode("utf-8", "surrogateescape")
    result = []
    for pid in all_pids():
        with contextlib.suppress(OSError):
            if assignment in _read(f"/proc/{pid}/environ").split(b"\0"):
                result.append(pid)
    return result


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Send a signal to each process that still exists."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)

"""What a process costs: wall time, and processor time with that of its children."""

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

NO_CACHE = "PYTHONDONTWRITEBYTECODE"
"""With this variable each start of Python compiles all that it imports, as no user's does."""


def users_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a command that is measured."""
    found = {**os.environ, **(given or {})}
    found.pop(NO_CACHE, None)
    return found


class Cost(msgspec.Struct, frozen=True):
    """What a command took, in seconds: of the clock, and of processors."""

    wall_s: float
    processor_s: float


def cost_of(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end; raises RuntimeError if it fails. The processor time is that of the
    process and of those children that it waited for, not that of a server."""
    began_s = time.monotonic()
    process = subprocess.Popen(
        command,
        env=users_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    with process.stderr:
        words = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {words.decode(errors='replace').strip()}")
    return Cost(time.monotonic() - began_s, used.ru_utime + used.ru_stime)


def processor_s(pid: int) -> float:
    """The processor time of a process and of all its descendants, with those that they have waited
    for, in seconds. Children that nobody has waited for are not in it."""
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    parents: dict[int, list[int]] = {}
    used_s: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry.name))
        used_s[int(entry.name)] = sum(map(int, fields[11:15])) * tick_s
    total_s, left = 0.0, [pid]
    while left:
        one = left.pop()
        total_s += used_s.get(one, 0.0)
        left += parents.get(one, [])
    return total_s


class Spread(msgspec.Struct, frozen=True):
    """The median, the least and the most of some samples."""

    median: float
    least: float
    most: float


def spread_of(samples: Sequence[float]) -> Spread:
    """The spread of samples, of which there must be one.

    >>> spread_of([3.0, 1.0, 2.0])
    Spread(median=2.0, least=1.0, most=3.0)
    """
    return Spread(statistics.median(samples), min(samples), max(samples))

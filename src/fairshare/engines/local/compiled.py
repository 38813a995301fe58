"""Owns the choice between the two supervisors: a compiled program, where there is one, or Python.

The program (`native/`) is built at installation, if the machine has a C compiler. It does what
`supervisor` does, and hands a container over to it before the container starts, if the order says
something that it does not know. Must stay light: the zygote uses it.
"""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("native") / "fs-supervisor"
_CHANNEL, _LOCK = 100, 101
"""The descriptors of a supervisor; the zygote's own are lower."""

_PYTHON = """\
import sys
sys.path.insert(0, sys.argv[1])
from fairshare.engines.local.zygote import take_over
take_over(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
"""


def exists() -> bool:
    """Whether this installation has the program."""
    return os.access(PROGRAM, os.X_OK)


def spawn(path: bytes, channel: int, lock: int) -> int:
    """Start the program for the container of a directory; returns its pid. Raises OSError.

    The signals that are blocked here are blocked in the program, too.
    """
    source = str(Path(__file__).parents[3])
    python = (sys.executable, "-I", "-S", "-c", _PYTHON, source, path, str(_CHANNEL), str(_LOCK))
    return os.posix_spawn(
        PROGRAM,
        (PROGRAM, str(_CHANNEL), str(_LOCK), path, *python),
        os.environ,
        file_actions=((os.POSIX_SPAWN_DUP2, channel, _CHANNEL), (os.POSIX_SPAWN_DUP2, lock, _LOCK)),
    )

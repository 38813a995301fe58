"""What the command line does with its standard input: a command gets it as a file.

A file is named as it is, a pipe is read to its end into a temporary file first. A terminal, and a
device such as /dev/null, count as no input.
"""

import contextlib
import fcntl
import os
import stat
import struct
import termios
from collections.abc import Iterator
from pathlib import Path

from fairshare.client.errors import NotHere
from fairshare.documents.output_names import literal

MOST_BYTES = 1 << 30
"""Of a pipe: larger input belongs into a file."""

_PIECE_BYTES = 1 << 20


@contextlib.contextmanager
def input_file(*, here: bool, shared: bool) -> Iterator[str | None]:
    """A file with the standard input of this process, or None; a copy is deleted afterwards.

    Raises NotHere if it cannot be passed: to another machine (`here` is False) unless it is a file
    that containers share (`shared`), or as it is too large.
    """
    kind = _kind()
    if kind == "none":
        yield None
        return
    name = None
    if kind == "file":
        with contextlib.suppress(OSError):  # it was deleted
            path = Path("/proc/self/fd/0").readlink()
            unread = os.lseek(0, 0, os.SEEK_CUR) == 0
            if unread and os.path.samestat(path.stat(), os.fstat(0)):
                name = literal(str(path))
    if name is not None and (here or shared):
        yield name
        return
    if not here:
        raise NotHere(
            "standard input can be passed only to a server on this machine: name a file of its"
            " nodes with --input, or write < /dev/null"
        )
    # The container may have another account: others may pass through the directory, not list it.
    import tempfile  # it brings a generator of random numbers along, which only pipes need

    with tempfile.TemporaryDirectory(prefix="fairshare-run-") as directory:
        Path(directory).chmod(0o711)
        path = Path(directory, os.urandom(16).hex())
        _copy(path)
        yield literal(str(path))


def waits_unread() -> bool:
    """Whether a pipe has sent something to this process that will not be read."""
    if _kind() != "pipe":
        return False
    try:
        answer = fcntl.ioctl(0, termios.FIONREAD, b"\0" * 4)
    except OSError:
        return False
    waiting: int = struct.unpack("i", answer)[0]
    return waiting > 0


def _kind() -> str:
    """`file`, `pipe` or `none`."""
    try:
        mode = os.fstat(0).st_mode
    except OSError:  # it is closed
        return "none"
    if stat.S_ISREG(mode):
        return "file"
    return "pipe" if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else "none"


def _copy(path: Path) -> None:
    size = 0
    with path.open("wb") as file:
        while piece := os.read(0, _PIECE_BYTES):
            size += len(piece)
            if size > MOST_BYTES:
                raise NotHere(
                    f"standard input has more than {MOST_BYTES >> 30} GB: write it into a file, and"
                    " name that with --input"
                )
            file.write(piece)
    path.chmod(0o444)

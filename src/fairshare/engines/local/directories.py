"""Owns the files of one container, and how a file is replaced as a whole.

    launch.json   the order                pid.json        who runs it
    exit.json     how it ended             settled         that this was reported
    stdout.log    stderr.log               work/           its own working directory
    stdout.dropped  stderr.dropped         what the logs had in their middle, and have no more
    call.pickle   a Python call            result.pickle   what the call returned

Must stay light, as supervisors use it: standard library only, nothing of the model.
"""

import json
import os
from pathlib import Path
from typing import Any


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by write, fsync and rename: a reader sees the old one or the new one.

    Raises OSError and leaves nothing behind if it cannot be written.
    """
    temporary = path.with_name(path.name + ".new")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None if there is no file, or none that can be understood."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


class ContainerDirectory:
    """The files of one container."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.launch = path / "launch.json"
        self.pid = path / "pid.json"
        self.exit = path / "exit.json"
        self.settled = path / "settled"
        self.stdout = path / "stdout.log"
        self.stderr = path / "stderr.log"
        self.work = path / "work"
        self.call = path / "call.pickle"
        self.result = path / "result.pickle"

    def write_launch(self, launch: bytes, call: bytes) -> None:
        """Make the directory with its order; raises OSError, perhaps half-way."""
        self.work.mkdir(mode=0o700, parents=True, exist_ok=True)
        if call:
            self.call.write_bytes(call)
        descriptor = os.open(self.launch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(launch)

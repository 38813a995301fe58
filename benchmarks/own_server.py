"""A server of a benchmark: a process of its own, with real containers, on a free port."""

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.processes import users_environment

EXAMPLES = Path(__file__).parents[1] / "examples"
PATIENCE_S = 60


class OwnServer(msgspec.Struct, frozen=True):
    """Where a server is, and its process."""

    url: str
    pid: int


def url_of(process: subprocess.Popen[str]) -> str:
    """The URL that a server prints when it listens. Raises SystemExit if it does not start."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("listening on "):
        raise SystemExit(f"the server does not start: {line.strip() or 'no output'}")
    return line.removeprefix("listening on ").strip()


@contextlib.contextmanager
def own_server(configuration: Path = EXAMPLES / "three-teams") -> Iterator[OwnServer]:
    """A server that ends, with all its containers, at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="fairshare-benchmark-") as directory:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "fairshare", "serve", "--port", "0", "--stop-containers"),
                "--trust-local-users",
                *("--conf", str(configuration), "--state", str(Path(directory) / "state")),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=users_environment(),
            text=True,
        )
        try:
            yield OwnServer(url_of(process), process.pid)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)
            assert process.stdout is not None
            process.stdout.close()

"""What befalls a server besides a crash: killed and stopped helpers, a full disk, an upgrade.

Everything is found from outside, as a tenant or a system would meet it; the server is not asked.
"""

import contextlib
import errno
import os
import random
import resource
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import fairshare
from fairshare.engines.local.processes import SUPERVISOR, all_pids

DISK_MB = 384
DISK_INODES = 60_000


class Helpers:
    """The zygote and the supervisors of one server's containers, to be killed and stopped."""

    def __init__(self, containers: Path) -> None:
        self._containers = containers
        self._stopped: set[int] = set()
        self.killed_containers: set[str] = set()
        self.counts = {"zygotes": 0, "supervisors": 0}

    def disturb(self, server: int, numbers: random.Random, over: threading.Event) -> None:
        """Kill or stop one helper at some time in a server's life."""
        over.wait(numbers.uniform(0.0, 0.6))
        deed = numbers.choice((signal.SIGKILL, signal.SIGSTOP))
        if numbers.random() < 0.5:
            found = [(pid, "") for pid in self._zygotes(server)]
            kind = "zygotes"
        else:
            found, kind = self._supervisors(), "supervisors"
        if not found:
            return
        pid, container = numbers.choice(found)
        if container:  # before the deed: what it leaves may be any of several things
            self.killed_containers.add(container)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, deed)
            self.counts[kind] += 1
            if deed == signal.SIGSTOP:
                self._stopped.add(pid)

    def let_go(self) -> None:
        """Nothing that was stopped stays behind."""
        for pid in self._stopped:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _zygotes(self, server: int) -> list[int]:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{server}/task/{server}/children").read_text()
            return [int(pid) for pid in text.split()]
        return []

    def _supervisors(self) -> list[tuple[int, str]]:
        found = []
        for pid in all_pids():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().strip() != SUPERVISOR:
                    continue
                directory = Path(f"/proc/{pid}/cwd").readlink()
                if directory.is_relative_to(self._containers):
                    found.append((pid, directory.name))
        return found


class SmallDisk:
    """A file system in memory for the state directory, which can be full, of bytes or of files.
    Only root has one."""

    def __init__(self, folder: Path, *, mount: bool) -> None:
        self.path = folder / "disk"
        self.path.mkdir()
        self._ballast = self.path / "ballast"
        self._files = self.path / "files"
        size = f"size={DISK_MB}m,nr_inodes={DISK_INODES}"
        options = ("-t", "tmpfs", "-o", size, "fairshare-soak", str(self.path))
        self.mounted = mount and os.geteuid() == 0 and not self._run("mount", *options)

    def fill(self) -> None:
        """Leave no byte free."""
        with contextlib.suppress(OSError), self._ballast.open("wb") as file:
            for size in (2**24, 2**16, 2**12):
                while self._write(file.fileno(), size):
                    pass

    def use_up_inodes(self) -> None:
        """Leave no inode free."""
        with contextlib.suppress(OSError):
            self._files.mkdir()
            for number in range(DISK_INODES):
                os.close(os.open(self._files / str(number), os.O_CREAT | os.O_WRONLY))

    def _write(self, file: int, size: int) -> bool:
        try:
            return os.write(file, bytes(size)) == size
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return False

    def make_room(self) -> None:
        """Take away what fills it."""
        self._ballast.unlink(missing_ok=True)
        shutil.rmtree(self._files, ignore_errors=True)

    def unmount(self) -> None:
        """Give the memory back."""
        if self.mounted:
            self._run("umount", "-l", str(self.path))

    def _run(self, *command: str) -> int:
        try:
            return subprocess.run(command, capture_output=True).returncode
        except FileNotFoundError:
            return 1


def take_descriptors(server: int, numbers: random.Random, over: threading.Event) -> None:
    """Let a server open no further file for a while."""
    over.wait(numbers.uniform(0.0, 0.3))
    with contextlib.suppress(OSError):  # it is dead already
        before = resource.prlimit(server, resource.RLIMIT_NOFILE)
        count = sum(1 for _ in Path(f"/proc/{server}/fd").iterdir())
        resource.prlimit(server, resource.RLIMIT_NOFILE, (count, before[1]))
        over.wait(numbers.uniform(0.1, 0.5))
        resource.prlimit(server, resource.RLIMIT_NOFILE, before)


def next_version(folder: Path) -> Path:
    """A folder with the source of a later release, which has a field more in the middle of what
    snapshots and records hold: to be put before all others on Python's path."""
    source = Path(fairshare.__file__).parent
    copy = folder / "next" / "fairshare"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    inputs = copy / "core" / "model" / "inputs.py"
    text = inputs.read_text()
    before = "    queue: str = "
    if text.count(before) != 1:
        raise AssertionError(f"{inputs}: the field before which another one goes is not there")
    inputs.write_text(text.replace(before, f'    of_the_next_version: str = ""\n{before}'))
    return copy.parent

"""Owns where everything lies below the state directory. Used by the server only.

STATE/engine.lock    held by the server that uses the directory
STATE/zygote.lock    held by a zygote, and by supervisors whose pid.json does not stand yet
STATE/zygote.log     what a zygote or supervisor had to complain about
STATE/containers/<application>/<container>/    see `directories`
STATE/abandoned/<instant>/<application>/<container>/    of another life; nobody reads it
"""

import contextlib
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.groups import ENGINE_LOCK

GROUPS_PREFIX = "fairshare-"
_MORE = range(2, 100)


class StateDirectory:
    """The state directory of one engine."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.containers = self.path / "containers"
        self.abandoned = self.path / "abandoned"
        self.engine_lock = self.path / ENGINE_LOCK
        self.zygote_lock = self.path / "zygote.lock"
        self.zygote_log = self.path / "zygote.log"

    @property
    def group_name(self) -> str:
        """The name of this directory's cgroups, another one for each directory."""
        return f"{GROUPS_PREFIX}{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]}"

    def create(self) -> None:
        """Make it, for its owner only: orders hold the tokens of tenants."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.containers.mkdir(mode=0o700, exist_ok=True)

    def application(self, application_name: str) -> Path:
        """The directory of an application; raises ValueError for what is no plain name."""
        return self.containers / _plain(application_name)

    def container(self, application_name: str, container_name: str) -> ContainerDirectory:
        """The directory of a container; raises ValueError for what is no plain name."""
        return ContainerDirectory(self.application(application_name) / _plain(container_name))

    def all_containers(self) -> Iterator[ContainerDirectory]:
        """Every container that was ordered and not pruned, by name."""
        if self.containers.is_dir():
            for application in sorted(self.containers.iterdir()):
                for path in sorted(application.iterdir()) if application.is_dir() else ():
                    yield ContainerDirectory(path)

    def put_aside(self, directory: ContainerDirectory) -> Path:
        """Move the files of a container away, to where nobody takes them for another one's.

        None of its processes may live. Returns where they are now; raises OSError.
        """
        instant = time.strftime("%Y-%m-%dT%H-%M-%S")
        application = directory.path.parent
        for suffix in ("", *(f"-{number}" for number in _MORE)):
            place = self.abandoned / f"{instant}{suffix}"
            target = place / application.name / directory.path.name
            if not target.exists():
                break
        for folder in (self.abandoned, place):
            folder.mkdir(mode=0o700, exist_ok=True)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        directory.path.rename(target)
        with contextlib.suppress(OSError):  # there are others in it
            application.rmdir()
        return target

    def names(self, application_name: str) -> list[str]:
        """The containers of an application that have a directory, by name."""
        path = self.application(application_name)
        return sorted(entry.name for entry in path.iterdir()) if path.is_dir() else []


def _plain(name: str) -> str:
    if not name or name in (".", "..") or "/" in name or "\0" in name:
        raise ValueError(f"{name!r} cannot name a directory: one word without '/' is needed")
    return name


_DELETIONS = 10
"""How often a deletion begins again because somebody else deletes there too."""


def remove_tree(path: Path) -> None:
    """Delete a directory with all that is in it, also what a container made unwritable.

    Raises OSError for what cannot be deleted.
    """
    try:
        _delete(path)
    except OSError:
        # Either a container took rights away from itself, or a file came while we were at it: the
        # mark that an exit was reported.
        for root, directories, _ in os.walk(path):
            for name in directories:  # before the walk goes down into them
                entry = Path(root) / name
                if not entry.is_symlink():
                    with contextlib.suppress(FileNotFoundError):
                        entry.chmod(stat.S_IRWXU)
        _delete(path)


def _delete(path: Path) -> None:
    """Go on where somebody else deletes something inside meanwhile."""
    for _ in range(_DELETIONS):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            if path.exists():
                continue
        return
    shutil.rmtree(path)

"""The layout of the engine's files in the state directory. Used by the server only.

STATE/engine.lock    held by the server that uses the directory
STATE/zygote.lock    held by a zygote, and by supervisors whose pid.json does not exist yet
STATE/zygote.log     errors of a zygote or supervisor
STATE/containers/<application>/<container>/    see `directories`
STATE/appcache/<application>/    what containers with launch contexts of YARN share: LOCAL_DIRS
STATE/scratch/<container>/    temporary files of a container that runs; or in tmp-UID-GID/ its /tmp
STATE/deleted/<tree>/    what is being deleted; see `removal`
STATE/abandoned/<instant>/<application>/<container>/    of an earlier journal; not read
"""

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from fairshare.engines.local.directories import SCRATCH, ContainerDirectory
from fairshare.engines.local.groups import ENGINE_LOCK, ZYGOTE_LOCK

GROUPS_PREFIX = "fairshare-"
_PRIVATE_TMP = "tmp-"
_MORE = range(2, 100)


class StateDirectory:
    """The state directory of one engine."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.containers = self.path / "containers"
        self.appcache = self.path / "appcache"
        self.scratch = self.path / SCRATCH
        self.deleted = self.path / "deleted"
        self.abandoned = self.path / "abandoned"
        self.engine_lock = self.path / ENGINE_LOCK
        self.zygote_lock = self.path / ZYGOTE_LOCK
        self.zygote_log = self.path / "zygote.log"

    @property
    def opened(self) -> tuple[Path, ...]:
        """The directories through which users pass to their own files."""
        return self.containers, self.appcache, self.scratch

    @property
    def group_name(self) -> str:
        """The name of this directory's cgroups, unique to the directory."""
        return f"{GROUPS_PREFIX}{hashlib.sha256(os.fsencode(self.path)).hexdigest()[:12]}"

    def create(self) -> None:
        """Create the directory, accessible to its owner only: orders contain users' tokens."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (*self.opened, self.deleted):
            folder.mkdir(mode=0o700, exist_ok=True)

    def application(self, application_name: str) -> Path:
        """The directory of an application; raises ValueError if the name is not plain."""
        return self.containers / _plain(application_name)

    def container(self, application_name: str, container_name: str) -> ContainerDirectory:
        """The directory of a container; raises ValueError if a name is not plain."""
        return ContainerDirectory(self.application(application_name) / _plain(container_name))

    def shared(self, application_name: str) -> Path:
        """The directory that an application's containers share; raises ValueError."""
        return self.appcache / _plain(application_name)

    def shared_names(self) -> list[str]:
        """The applications that have such a directory."""
        return (
            sorted(path.name for path in self.appcache.iterdir()) if self.appcache.is_dir() else []
        )

    def make_shared(self, application_name: str, owner: tuple[int, int] | None) -> None:
        """Make this directory, for an account unless its containers run as the server; raises
        OSError."""
        path = self.shared(application_name)
        path.mkdir(mode=0o700, exist_ok=True)
        if owner is not None:
            os.chown(path, *owner, follow_symlinks=False)

    def make_scratch(self, path: Path, owner: tuple[int, int] | None) -> None:
        """Make a container's directory of temporary files; raises OSError."""
        path.mkdir(mode=0o700)
        if owner is not None:
            os.chown(path, *owner, follow_symlinks=False)

    def make_private_tmp(self, path: Path) -> None:
        """Make what becomes a container's /tmp: the server's, and open to all, as set-user-id
        programs expect it, in a directory that is closed to others. Raises OSError."""
        path.parent.mkdir(mode=0o700)
        path.mkdir()
        path.chmod(0o1777)

    def all_containers(self) -> Iterator[ContainerDirectory]:
        """All containers that were ordered and not pruned, by name."""
        if self.containers.is_dir():
            for application in sorted(self.containers.iterdir()):
                for path in sorted(application.iterdir()) if application.is_dir() else ():
                    yield ContainerDirectory(path)

    def put_aside(self, directory: ContainerDirectory) -> Path:
        """Move the files of a container to the abandoned ones, so that they are not taken for
        another container's.

        None of its processes may be alive. Returns the new location; raises OSError.
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
        with contextlib.suppress(OSError):  # it contains others
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


def private_tmp_in(scratch: Path, uid: int, gid: int) -> Path:
    """What is the /tmp of a container of this account."""
    return scratch / f"{_PRIVATE_TMP}{uid}-{gid}"


def move_scratch(scratch: Path) -> Path:
    """Move the temporary files of a container that has ended, and release them; returns where they
    are then. What a user has mounted over them cannot be moved, and root looks at none of it."""
    try:
        ended = scratch.rename(scratch.with_name(f"{scratch.name}-ended"))
    except OSError:
        return scratch
    release_scratch(ended)
    return ended


def release_scratch(scratch: Path) -> None:
    """Give the /tmp of a container that has ended to its account, with whose rights its content is
    deleted, if it had one of its own."""
    with contextlib.suppress(OSError):  # it is gone, or stays the server's
        if os.geteuid() != 0 or scratch.lstat().st_uid != 0:
            return  # it can be an account's, which fills it as it likes
        for private in scratch.iterdir():
            if ids := re.fullmatch(rf"{_PRIVATE_TMP}(\d+)-(\d+)", private.name, re.ASCII):
                os.chown(private, int(ids[1]), int(ids[2]), follow_symlinks=False)

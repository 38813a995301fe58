"""The files of packages: directories of programs that users upload as zip files for their jobs.

A user has packages by name, and sees none of others; equal contents share one file:

    STATE/packages/content/SHA256        a zip file
    STATE/packages/names/USER/NAME       the SHA-256 of what a user uploaded under this name
    STATE/packages/drafts/               uploads that are not complete

USER is the SHA-256 of the user's name. A package is deleted when it was not used for `KEEP_S` and
no unfinished job needs it. Everything here blocks on a disk. Raises OSError, and InputError if a
user has too much.
"""

import contextlib
import hashlib
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from fairshare.errors import InputError
from fairshare.server.state_directory import (
    pieces_of,
    remove_file,
    share_file,
    sync_directory,
    write_file,
)

FOLDER: Final = "packages"
KEEP_S: Final = 7 * 24 * 3600
"""How long a package is kept after its last use."""

NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,199}\.zip")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


class Packages:
    """The packages of one state directory. `now_s` is the time of day, as of files."""

    def __init__(self, state: Path, now_s: Callable[[], float] = time.time) -> None:
        self._folder = state / FOLDER
        self._now_s = now_s
        self._lock = threading.Lock()
        self._held: Counter[str] = Counter()
        if self._drafts.is_dir():
            shutil.rmtree(self._drafts, ignore_errors=True)

    @property
    def _drafts(self) -> Path:
        return self._folder / "drafts"

    @property
    def _content(self) -> Path:
        return self._folder / "content"

    def path(self, digest: str) -> Path:
        """The file of a content."""
        return self._content / digest

    def find(self, user: str, name: str) -> str | None:
        """The SHA-256 of a user's package, which is used now; None: there is none."""
        named = self._name(user, name)
        with self._lock, contextlib.suppress(FileNotFoundError):
            digest = named.read_text(encoding="ascii")
            if self.path(digest).is_file():
                named.touch()
                return digest
        return None

    @contextlib.contextmanager
    def draft(self) -> Iterator[Path]:
        """A new file to write a package into; it does not stay unless it is stored."""
        self._drafts.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self._drafts)
        try:
            with open(descriptor, "wb"):  # noqa: PTH123 - of a descriptor
                pass
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)

    def store(
        self, user: str, name: str, draft: Path, most_bytes: int, needed: frozenset[str]
    ) -> str:
        """Keep a draft, which is on the disk, as a user's package; its SHA-256.

        `most_bytes` is what one user may have: older packages of the user that no job needs
        (`needed`: their contents) are deleted for it. Raises InputError (`too-much-handed-in`).
        """
        with draft.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        with self._lock:
            needed |= frozenset(self._held)
            self._delete_unused(needed)
            named = self._name(user, name)
            self._make_room(named, user, draft.stat().st_size, most_bytes, needed | {digest})
            self._content.mkdir(mode=0o700, exist_ok=True)
            draft.chmod(0o400)
            share_file(self.path(digest), pieces_of(draft))
            draft.replace(self.path(digest))
            sync_directory(self._content)
            named.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_file(named, digest.encode())
            # Contents that have no name and that no job needs go.
            digests = {_digest_in(path) for path in (self._folder / "names").glob("*/*")}
            for path in self._content.glob("*"):
                if path.name not in digests and path.name not in needed:
                    remove_file(path)
        return digest

    @contextlib.contextmanager
    def hold(self, digests: frozenset[str]) -> Iterator[None]:
        """Keep contents while a job that needs them is submitted."""
        with self._lock:
            self._held.update(digests)
        try:
            yield
        finally:
            with self._lock:
                self._held.subtract(digests)
                self._held += Counter()  # drop those that are 0

    def _name(self, user: str, name: str) -> Path:
        folder = hashlib.sha256(user.encode()).hexdigest()
        return self._folder / "names" / folder / name

    def _make_room(
        self, new: Path, user: str, size: int, most_bytes: int, needed: frozenset[str]
    ) -> None:
        """Delete a user's oldest packages until `size` bytes for a new one are within the limit."""
        sizes = {}
        for named in sorted(new.parent.glob("*"), key=lambda path: path.stat().st_mtime):
            with contextlib.suppress(FileNotFoundError):
                if named != new:
                    sizes[named] = self.path(_digest_in(named)).stat().st_size
        total = size + sum(sizes.values())
        for named, package_size in sizes.items():
            if total <= most_bytes:
                break
            if _digest_in(named) not in needed:
                remove_file(named)
                total -= package_size
        if total > most_bytes:
            raise InputError(
                "too-much-handed-in",
                f"{user} has {total - size} bytes of packages that unfinished jobs need, and {size}"
                f" more are above the {most_bytes} of one user: wait until some jobs have ended, or"
                " exclude large files (.rayignore)",
            )

    def _delete_unused(self, needed: frozenset[str]) -> None:
        """Delete what was not used for long."""
        before_s = self._now_s() - KEEP_S
        for named in (self._folder / "names").glob("*/*"):
            with contextlib.suppress(FileNotFoundError):
                if named.stat().st_mtime < before_s and _digest_in(named) not in needed:
                    remove_file(named)


def _digest_in(named: Path) -> str:
    """What the file of a name says; empty if it says nothing sensible."""
    text = named.read_text(encoding="ascii", errors="replace")
    return text if _DIGEST.fullmatch(text) else ""


def copy_packages(state: Path, target: Path) -> None:
    """Copy the packages of a state directory to another one, except those that it has. A file that
    is deleted meanwhile is no longer needed. Raises OSError."""
    for part in ("content", "names"):
        for path in sorted((state / FOLDER / part).rglob("*")):
            copy = target / path.relative_to(state)
            if path.is_file() and not path.name.startswith(".") and not copy.exists():
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with contextlib.suppress(FileNotFoundError):
                    shutil.copyfile(path, copy)

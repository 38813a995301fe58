"""Copies the files that a launch context names into the container's directory, or unpacks them.

Runs within containers, with their rights: standard library only. Source: Hadoop 3.4.1,
yarn.util.FSDownload.
"""

import re
import shutil
import stat
import tarfile
import zipfile
from pathlib import Path
from typing import Any

from fairshare.wording import cause

ARCHIVE, FILE, PATTERN = 1, 2, 3
"""LocalResourceTypeProto."""

_JAR = ".jar"
_ZIPS = (".zip", _JAR)
_TARS = (".tar", ".tar.gz", ".tgz")


class NotLocalized(Exception):
    """A resource cannot be had. The message says which, and why."""


def localize(resources: list[dict[str, Any]], directory: Path) -> None:
    """Put all resources into `directory` under their names. Raises NotLocalized.

    Each has `name`, `path`, `size` (-1: any), `timestamp_ms`, `type`, `pattern`, `public`.
    """
    for resource in resources:
        name = resource["name"]
        target = directory / name
        inside = Path(name)
        if inside.is_absolute() or ".." in inside.parts or not inside.parts:
            raise NotLocalized(f"the resource {name!r} would lie outside of the container")
        source = Path(resource["path"])
        try:
            _check(source, resource)
            target.parent.mkdir(parents=True, exist_ok=True)
            _put(source, target, resource)
        except (OSError, tarfile.TarError, zipfile.BadZipFile, re.error) as error:
            raise NotLocalized(f"the resource {name!r}: {source}: {cause(error)}") from error


def _check(source: Path, resource: dict[str, Any]) -> None:
    found = source.stat()
    changed_ms = found.st_mtime_ns // 1_000_000
    if changed_ms != resource["timestamp_ms"]:
        raise NotLocalized(
            f"Resource file:{source} changed on src filesystem - expected:"
            f" {resource['timestamp_ms']}, was: {changed_ms}"
        )
    if stat.S_ISREG(found.st_mode) and resource["size"] not in (-1, found.st_size):
        raise NotLocalized(
            f"Resource file:{source} has {found.st_size} bytes, not {resource['size']}"
        )
    if resource["public"] and not _is_public(source, found.st_mode):
        raise NotLocalized(
            f"Resource file:{source} is not publicly accessible and as such cannot be part of the"
            " public cache."
        )


def _is_public(source: Path, mode: int) -> bool:
    """Whether all users can read a file: FSDownload.isPublic."""
    parents = (parent.stat().st_mode for parent in source.absolute().parents)
    return bool(mode & stat.S_IROTH) and all(each & stat.S_IXOTH for each in parents)


def _put(source: Path, target: Path, resource: dict[str, Any]) -> None:
    """FSDownload.downloadAndUnpack: what it cannot unpack it copies, and of a pattern's archives
    only a jar is filtered, and kept beside what matches."""
    kind, name = resource["type"], source.name.lower()
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    elif kind not in (ARCHIVE, PATTERN) or not name.endswith((*_ZIPS, *_TARS)):
        shutil.copy2(source, target)
    else:
        target.mkdir(exist_ok=True)
        pattern = None
        if kind == PATTERN and name.endswith(_JAR):
            shutil.copy2(source, target / source.name)
            pattern = re.compile(resource["pattern"] or ".*")
        _unpack(source, target, pattern)
    _grant(target, public=resource["public"])


def _unpack(source: Path, target: Path, pattern: re.Pattern[str] | None) -> None:
    """Unpack an archive, or what of it matches."""
    if source.name.lower().endswith(_TARS):
        with tarfile.open(source) as archive:
            archive.extractall(target, filter="data")
        return
    with zipfile.ZipFile(source) as zipped:
        for entry in zipped.infolist():
            if pattern is None or pattern.fullmatch(entry.filename):
                zipped.extract(entry, target)  # never outside of the target


def _grant(path: Path, *, public: bool) -> None:
    """The rights that FSDownload gives: all files can be run, none can be written."""
    if path.is_symlink():
        return
    if not path.is_dir():
        path.chmod(0o555 if public else 0o500)
        return
    path.chmod(0o755 if public else 0o700)
    for each in path.iterdir():
        _grant(each, public=public)

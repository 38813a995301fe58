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

_ZIPS = (".zip", ".jar")
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


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
    kind = resource["type"]
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    elif kind == ARCHIVE:
        _unpack(source, target, None)
    elif kind == PATTERN:
        target.mkdir()
        shutil.copy2(source, target / source.name)
        _unpack(source, target, re.compile(resource["pattern"]))
    else:
        shutil.copy2(source, target)


def _unpack(source: Path, target: Path, pattern: re.Pattern[str] | None) -> None:
    """Unpack an archive, or what of it matches; other files are copied, as in Hadoop."""
    name = source.name.lower()
    target.mkdir(exist_ok=True)
    if name.endswith(_ZIPS):
        with zipfile.ZipFile(source) as archive:
            for entry in archive.infolist():
                if pattern is None or pattern.fullmatch(entry.filename):
                    path = Path(archive.extract(entry, target))  # never outside of the target
                    mode = entry.external_attr >> 16 & 0o777
                    if mode and path.is_file():
                        path.chmod(mode | stat.S_IRUSR | stat.S_IWUSR)
    elif name.endswith(_TARS):
        with tarfile.open(source) as archive:
            members = [
                member
                for member in archive.getmembers()
                if pattern is None or pattern.fullmatch(member.name)
            ]
            archive.extractall(target, members, filter="data")
    elif pattern is None:
        shutil.copy2(source, target / source.name)

"""The check and the unpacking of zip files that users upload.

What is refused: names outside of the folder, anything but files and folders, and more files or
bytes than expected, before memory or disk is spent on them. Raises ArchiveProblem and OSError.
"""

import os
import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import BinaryIO, Final

from fairshare.errors import FairshareError
from fairshare.wording import counted

MOST_FILES: Final = 50_000
MOST_DIRECTORY_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of a zip file's list of files, which is read into memory."""

_END, _END_BYTES, _COMMENT_BYTES = b"PK\x05\x06", 22, 65_535
_LOCATOR_64, _LOCATOR_64_BYTES = b"PK\x06\x07", 20
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE_BYTES = 1024 * 1024


class ArchiveProblem(FairshareError):
    """An archive that is not taken; the message says why."""


def check_archive(path: Path, most_bytes: int) -> None:
    """Raise ArchiveProblem unless a zip file can be unpacked safely, to `most_bytes` at most."""
    with path.open("rb") as file:
        _files_of(file, most_bytes)


def unpack(path: Path, folder: Path, most_bytes: int) -> None:
    """Unpack a zip file into a new folder. Nothing is a link there, so that no name leads out."""
    folder.mkdir(parents=True)
    with path.open("rb") as file:
        archive, found = _files_of(file, most_bytes)
        for info in found:
            target = folder / info.filename
            if info.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            _write(archive, info, target)


def _write(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    try:
        with archive.open(info) as source, target.open("wb") as file:
            while piece := source.read(_PIECE_BYTES):  # at most as many bytes as the list says
                file.write(piece)
            mode = info.external_attr >> 16 & 0o777
            if mode:
                os.fchmod(file.fileno(), mode | stat.S_IRUSR | stat.S_IWUSR)
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError) as error:
        raise ArchiveProblem(f"{info.filename!r} is damaged in the zip file: {error}") from None


def _files_of(file: BinaryIO, most_bytes: int) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """The archive and its files, all of which were checked."""
    _check_directory(file)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise ArchiveProblem(f"it is not a zip file that can be read: {error}") from None
    members = archive.infolist()
    if len(members) > MOST_FILES:
        raise ArchiveProblem(
            f"it has {counted(len(members), 'file')}, and {MOST_FILES} are the most"
        )
    for info in members:
        if problem := _problem_of(info):
            raise ArchiveProblem(f"{info.filename[:200]!r} in the zip file {problem}")
    size = sum(info.file_size for info in members)
    if size > most_bytes:
        raise ArchiveProblem(
            f"unpacked it has {size} bytes, and more than {most_bytes} are not taken"
        )
    return archive, members


def _check_directory(file: BinaryIO) -> None:
    """Look at the size of the list of files before `zipfile` reads all of it into memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _COMMENT_BYTES - _LOCATOR_64_BYTES))
    tail = file.read()
    at = len(tail) - _END_BYTES
    if at < 0 or tail[at : at + 4] != _END or tail[-2:] != b"\0\0":
        at = tail.rfind(_END)
    if at < 0 or len(tail) - at < _END_BYTES:
        raise ArchiveProblem("it is not a zip file")
    before = tail[max(0, at - _LOCATOR_64_BYTES) : at]
    directory_bytes = int.from_bytes(tail[at + 12 : at + 16], "little")
    if before[:4] == _LOCATOR_64 or directory_bytes > MOST_DIRECTORY_BYTES:
        raise ArchiveProblem(f"it has more than {MOST_FILES} files, or one of more than 4 GB")


def _problem_of(info: zipfile.ZipInfo) -> str:
    """Why a file of an archive is refused; empty if it is not."""
    name = info.filename
    path = PurePosixPath(name)
    if not name or "\0" in name or "\\" in name or path.is_absolute() or ".." in path.parts:
        return "leads out of its folder"
    if len(name.encode(errors="surrogateescape")) > 1_000:
        return "has too long a name"
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFDIR if info.is_dir() else stat.S_IFREG):
        return "is neither a file nor a folder"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in _METHODS:
        return "is compressed by a method that is not taken: use deflate"
    return ""

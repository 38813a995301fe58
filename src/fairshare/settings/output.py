"""The writing of a directory: all of it or nothing, and never over what is there.

The files are written beside the directory first; then they take their places, one renaming each.
What a file replaces is kept beside it.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from fairshare.errors import FairshareError


class OutputExists(FairshareError):
    """Existing files would be replaced, and no option allows that."""


class Written(NamedTuple):
    """The files that were written, and the copies of those that had another content before."""

    files: list[Path]
    copies: list[Path]


def write_directory(
    files: Mapping[str, bytes],
    directory: Path,
    *,
    force: bool,
    examine: Callable[[Path], None] = lambda staging: None,
) -> Written:
    """Write files into a directory, which is made if need be, after `examine` has accepted them in
    another one. A file that is replaced by another content is kept as FILE~, FILE~2, ...

    Raises OutputExists, OSError, or what `examine` raises; then nothing has changed. Other files
    stay where they are.
    """
    present = [name for name in files if os.path.lexists(directory / name)]
    if present and not force:
        raise OutputExists(
            f"{directory} has {', '.join(present)} already: name another directory,"
            " or replace them with --force, which keeps copies (FILE~)"
        )
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".converting-", dir=directory))
    try:
        for name, document in files.items():
            (staging / name).write_bytes(document)
        for name in files:
            if (directory / name).is_dir():
                raise IsADirectoryError(21, "is a directory", str(directory / name))
        examine(staging)
        copies = _exchange(files, staging, directory)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        if made:
            directory.rmdir()
        raise
    shutil.rmtree(staging, ignore_errors=True)
    return Written([directory / name for name in files], copies)


def _exchange(files: Mapping[str, bytes], staging: Path, directory: Path) -> list[Path]:
    """Put all files in their places, and give the copies of what was there; it comes back if one of
    them cannot be."""
    before: dict[str, Path] = {}
    done: list[str] = []
    try:
        for name in files:
            place = directory / name
            if os.path.lexists(place):
                same = place.is_file() and place.read_bytes() == files[name]
                kept = staging / f"{name}.before" if same else _free_name(place)
                place.replace(kept)
                before[name] = kept
            (staging / name).replace(place)
            done.append(name)
    except BaseException:
        for name in done:
            (directory / name).unlink()
        for name, kept in before.items():
            kept.replace(directory / name)
        raise
    return [kept for kept in before.values() if kept.parent == directory]


def _free_name(path: Path) -> Path:
    """A name for a copy: an earlier one is not lost either."""
    names = chain((f"{path.name}~",), (f"{path.name}~{number}" for number in count(2)))
    return next(kept for kept in map(path.with_name, names) if not os.path.lexists(kept))

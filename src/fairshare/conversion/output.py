"""Owns the writing of a directory: all of it or nothing, and never over what is there.

The files are written beside the directory first; then they take their places, one renaming each.
Knows nothing of what is in them.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fairshare.errors import FairshareError


class OutputExists(FairshareError):
    """Existing files would be replaced, and no option allows that."""


def write_directory(files: Mapping[str, bytes], directory: Path, *, force: bool) -> list[Path]:
    """Write files into a directory, which is made if need be; gives their paths.

    Raises OutputExists, or OSError; then nothing has changed. Other files stay where they are.
    """
    present = [name for name in files if os.path.lexists(directory / name)]
    if present and not force:
        raise OutputExists(
            f"{directory} has {', '.join(present)} already: name another directory,"
            " or say --force to write over them"
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
        _exchange(files, staging, directory)
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        if made:
            directory.rmdir()
        raise
    shutil.rmtree(staging, ignore_errors=True)
    return [directory / name for name in files]


def _exchange(files: Mapping[str, bytes], staging: Path, directory: Path) -> None:
    """Put all files in their places; what was there comes back if one of them cannot be."""
    before: dict[str, Path] = {}
    done: list[str] = []
    try:
        for name in files:
            place = directory / name
            if os.path.lexists(place):
                kept = staging / f"{name}.before"
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

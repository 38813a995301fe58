"""Owns where scenario files are found: files by name, directories with all `*.yaml` below them."""

import os
from collections.abc import Iterable
from pathlib import Path


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The files in the order of the arguments, those of a directory by name; none twice."""
    found: dict[Path, None] = {}
    for path in paths:
        below = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        found.update(dict.fromkeys(below))
    return list(found)


def base_directory(files: Iterable[Path]) -> Path:
    """The deepest directory that all files are in; their records keep the paths below it."""
    parents = [str(path.parent) for path in files]
    return Path(os.path.commonpath(parents)) if parents else Path()

"""Owns the text that is mined: the Python installation's own sources and documents.

Finds files and divides them; reads none of them.
"""

import os
import stat
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from fairshare.demonstration.errors import DemonstrationFailed

SUFFIXES = (".py", ".rst", ".txt", ".md")
SKIPPED = frozenset({"__pycache__", "site-packages", "node_modules"})
LARGEST_BYTES = 400_000
"""A document is never divided, so a longer one would make a long task."""


class Document(msgspec.Struct, frozen=True):
    """A file and its size."""

    path: str
    size_bytes: int


def roots() -> list[Path]:
    """The standard library, then what is installed beside it; each once."""
    paths = sysconfig.get_paths()
    found = [Path(paths[name]).resolve() for name in ("stdlib", "purelib", "platlib")]
    return list(dict.fromkeys(found))


def installed(least: int = 1) -> list[Document]:
    """All documents of this Python; raises DemonstrationFailed if they are fewer than `least`."""
    found = list(documents(roots()))
    if len(found) < least:
        raise DemonstrationFailed("this Python has no sources that words could be counted in")
    return found


def documents(folders: Iterable[Path]) -> Iterator[Document]:
    """Every document below these folders, in the order of their paths, without links."""
    for folder in folders:
        for place, names, files in os.walk(folder):
            names[:] = sorted(n for n in names if n not in SKIPPED and not n.startswith("."))
            for file in sorted(files):
                if file.endswith(SUFFIXES):
                    found = _document(os.path.join(place, file))  # noqa: PTH118 - many of them
                    if found is not None:
                        yield found


def _document(path: str) -> Document | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    usable = stat.S_ISREG(status.st_mode) and os.access(path, os.R_OK)
    if not usable or not 0 < status.st_size <= LARGEST_BYTES:
        return None
    return Document(path, status.st_size)


def first_bytes(found: Iterable[Document], wanted_bytes: int) -> list[Document]:
    """As many documents from the beginning as hold at least so many bytes, or all."""
    taken, size_bytes = [], 0
    for document in found:
        if size_bytes >= wanted_bytes:
            break
        taken.append(document)
        size_bytes += document.size_bytes
    return taken


def splits(found: Sequence[Document], parts: int) -> list[list[str]]:
    """The paths in `parts` runs of about equal bytes, each of at least one document.

    A part ends with the document that reaches its share of all bytes. Fewer documents than parts
    give one part each.
    """
    parts = min(parts, len(found))
    total_bytes = size_of(found)
    shares: list[list[str]] = [[]]
    taken_bytes = 0
    for number, document in enumerate(found):
        full = taken_bytes * parts >= total_bytes * len(shares)
        needed = len(found) - number <= parts - len(shares)  # one for each part to come
        if shares[-1] and len(shares) < parts and (full or needed):
            shares.append([])
        shares[-1].append(document.path)
        taken_bytes += document.size_bytes
    return shares if found else []


def size_of(found: Iterable[Document]) -> int:
    """How many bytes these documents have together."""
    return sum(document.size_bytes for document in found)

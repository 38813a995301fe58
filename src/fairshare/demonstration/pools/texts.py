"""Owns the texts of the jobs: written from the Python installation's own documents, and counted.

Counting here is done without maps and reduces, so that results can be compared with it.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fairshare.demonstration.corpus import Document

_WORD = re.compile(rb"[a-z]+")


class Text:
    """One file of whole documents; they are repeated until it has `size_bytes`."""

    def __init__(self, path: Path, documents: Sequence[Document], size_bytes: int) -> None:
        self.path = path
        self.size_bytes = 0
        self.times: Counter[str] = Counter()  # how often a document is in it, by its path
        with path.open("wb") as file:
            while self.size_bytes < size_bytes:
                for document in documents:
                    # A document may change meanwhile: what was written counts.
                    written = file.write(_lines(Path(document.path)))
                    self.size_bytes += written
                    self.times[document.path] += 1
                    if self.size_bytes >= size_bytes:
                        break

    def words(self) -> Counter[bytes]:
        """How often each word of small letters is in it."""
        found: Counter[bytes] = Counter()
        for path, times in self.times.items():
            own = Counter(_WORD.findall(_lines(Path(path)).lower()))
            found.update({word: times * number for word, number in own.items()})
        return found

    def occurrences(self, word: str) -> int:
        """How often a word occurs by itself, with exactly these letters."""
        found = re.compile(rb"\b" + word.encode() + rb"\b")
        return sum(
            times * len(found.findall(_lines(Path(path)))) for path, times in self.times.items()
        )


def _lines(path: Path) -> bytes:
    """A document's bytes; they end with a line feed, and no byte is a NUL."""
    data = path.read_bytes().replace(b"\0", b" ")
    return data if data.endswith(b"\n") else data + b"\n"

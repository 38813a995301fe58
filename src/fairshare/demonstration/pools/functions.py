"""Owns the functions of the large word counts, which are run in containers.

A container imports this module by its name, so it needs nothing but the standard library.
"""

import re
from collections.abc import Iterator

_WORD = re.compile(rb"[a-z]+")


def words(line: bytes) -> Iterator[tuple[bytes, int]]:
    """The mapper: the words of a line, in small letters."""
    for word in _WORD.findall(line.lower()):
        yield word, 1


def add(word: bytes, numbers: Iterator[int]) -> Iterator[tuple[bytes, int]]:
    """The combiner: how often a word was there."""
    yield word, sum(numbers)


def count_line(word: bytes, numbers: Iterator[int]) -> Iterator[bytes]:
    """The reducer: the same as a line, in the manner of `uniq -c`."""
    yield b"%7d %s" % (sum(numbers), word)

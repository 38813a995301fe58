"""What the three teams run in their containers. It imports nothing but the standard library.

    python -I -S programs.py FOLDER    print how often which three letters follow each other

Task i reads the documents that are listed in FOLDER/piece-i; the counts are printed as JSON. The
other functions are those of MapReduce jobs, whose containers import this module.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

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


def count_words(document: bytes) -> Counter[str]:
    """How often each word is in a document.

    >>> count_words(b"To be, or not to be")
    Counter({'to': 2, 'be': 2, 'or': 1, 'not': 1})
    """
    return Counter(word.decode() for word in _WORD.findall(document.lower()))


def count_triples(document: bytes) -> Counter[str]:
    """How often three letters follow each other in the words of a document.

    >>> count_triples(b"Bananas")
    Counter({'ana': 2, 'ban': 1, 'nan': 1, 'nas': 1})
    """
    counts: Counter[str] = Counter()
    for word, _ in words(document):
        letters = word.decode()
        for at in range(len(letters) - 2):
            counts[letters[at : at + 3]] += 1
    return counts


if __name__ == "__main__":
    total: Counter[str] = Counter()
    piece = Path(sys.argv[1], f"piece-{os.environ['FAIRSHARE_TASK_INDEX']}")
    for path in piece.read_text().splitlines():
        total += count_triples(Path(path).read_bytes())
    print(json.dumps(total))

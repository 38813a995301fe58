"""Owns the work of the team `production`: a word count with maps and reduces, through files.

    python -I -S words.py map FOLDER REDUCES     count the words of one split
    python -I -S words.py reduce FOLDER          add up one part of all counts

FOLDER/splits.json is a list of splits, each a list of paths; map i reads split i and writes one
file for each reduce, FOLDER/map-<i>-<part>.json. Reduce j reads the part j of every map and writes
FOLDER/reduce-<j>.json: the counts of each word by where it is (`PLACES`). A file appears as a
whole or not at all, so that a task whose first container was killed does no harm.
"""

import io
import json
import os
import re
import sys
import tokenize
import zlib
from collections.abc import Iterable
from pathlib import Path

WORD = re.compile(r"[^\W\d_]+")
"""A word is a run of letters; upper and lower case are one."""

PLACES = ("code", "comment", "text")
"""Names and keywords of programs; their comments; their strings, and all other documents."""

Counts = dict[str, list[int]]
"""How often each word is in each of `PLACES`."""

_CODE, _COMMENT, _TEXT = range(3)
_TEXT_TOKENS = frozenset(
    # Since Python 3.12 a string with values in it comes in pieces.
    number
    for name in ("STRING", "FSTRING_MIDDLE", "TSTRING_MIDDLE")
    if (number := getattr(tokenize, name, None)) is not None
)


def main() -> None:
    """Do what the command line says."""
    index = int(os.environ["FAIRSHARE_TASK_INDEX"])
    folder = Path(sys.argv[2])
    splits = json.loads((folder / "splits.json").read_text())
    if sys.argv[1] == "map":
        counts = counts_of(splits[index])
        for part, share in enumerate(divided(counts, int(sys.argv[3]))):
            write_counts(folder / f"map-{index}-{part}.json", share)
    else:
        files = [folder / f"map-{number}-{index}.json" for number in range(len(splits))]
        counts = merged(json.loads(file.read_text()) for file in files)
        write_counts(folder / f"reduce-{index}.json", counts)
    print(f"{sum(map(sum, counts.values()))} words, {len(counts)} different ones")


def read(path: str) -> str:
    """A document; bytes that are not UTF-8 become a mark that is not a letter."""
    return Path(path).read_bytes().decode("utf-8", "replace")


def counts_of(paths: Iterable[str]) -> Counts:
    """The words of some documents."""
    counts: Counts = {}
    for path in paths:
        document = read(path)
        count(document, spans_of(document) if path.endswith(".py") else None, counts)
    return counts


def count(document: str, spans: list[tuple[int, int, int]] | None, counts: Counts) -> None:
    """Add the words of one document, each exactly once, whatever the spans say.

    `spans` are (start, end, place) of what is not code, in order; None: all of it is text.
    """
    position, place = 0, _TEXT
    start = end = -1
    if spans is not None:
        place, spans = _CODE, [*spans, (len(document) + 1, len(document) + 1, _CODE)]
        start, end, other = spans[0]
    for found in WORD.finditer(document):
        here = place
        if spans is not None:
            at = found.start()
            while at >= end:
                position += 1
                start, end, other = spans[position]
            if at >= start:
                here = other
        entry = counts.get(word := found.group().lower())
        if entry is None:
            entry = counts[word] = [0, 0, 0]
        entry[here] += 1


def spans_of(program: str) -> list[tuple[int, int, int]] | None:
    """Where the comments and strings of a program are; None if it is not a Python program.

    >>> spans_of('x = "a b"  # c')
    [(4, 9, 2), (11, 14, 1)]
    """
    starts = [0, 0]  # of line 0, which there is not, and of line 1
    for line in io.StringIO(program):
        starts.append(starts[-1] + len(line))
    spans = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(program).readline):
            if token.type == tokenize.COMMENT:
                place = _COMMENT
            elif token.type in _TEXT_TOKENS:
                place = _TEXT
            else:
                continue
            (row, column), (last_row, last_column) = token.start, token.end
            spans.append((starts[row] + column, starts[last_row] + last_column, place))
    except (SyntaxError, tokenize.TokenError, ValueError):
        return None  # the library has such files too, to test the compiler
    return spans


def divided(counts: Counts, parts: int) -> list[Counts]:
    """The counts in parts; a word is in the same part in all maps."""
    shares: list[Counts] = [{} for _ in range(parts)]
    for word, numbers in counts.items():
        shares[zlib.crc32(word.encode()) % parts][word] = numbers
    return shares


def merged(shares: Iterable[Counts]) -> Counts:
    """The sum of counts."""
    total: Counts = {}
    for share in shares:
        for word, numbers in share.items():
            known = total.get(word)
            if known is None:
                total[word] = numbers
            else:
                total[word] = [a + b for a, b in zip(known, numbers, strict=True)]
    return total


def write_counts(path: Path, counts: Counts) -> None:
    """Put a file in place at once."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(counts))
    draft.replace(path)


if __name__ == "__main__":
    main()

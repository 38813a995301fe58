"""The text form of ascending whole numbers: `1-1000`, `1,5,9-13:2`."""

import re
from collections.abc import Iterable
from typing import Final

LARGEST_INDEX: Final = 2**31 - 1

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_RANGE: Final = r"([0-9]{1,10})(?:-([0-9]{1,10})(?::([0-9]{1,10}))?)?"

Rows = tuple[tuple[int, int, int], ...]
"""Ranges: the place of the first number among all, the number, and the step to the next one."""


def parse_indexes(text: str) -> tuple[int, Rows]:
    """How many numbers there are, and their ranges; raises ValueError.

    >>> parse_indexes("1-1000")
    (1000, ((0, 1, 1),))
    >>> parse_indexes("1,5,9-13:2")
    (5, ((0, 1, 1), (1, 5, 1), (2, 9, 2)))
    """
    count, rows, before = 0, [], -1
    for part in text.split(","):
        match = re.fullmatch(_RANGE, part.strip(), re.ASCII)
        if match is None:
            raise ValueError(f"{part!r} is not a range: write 5, 1-1000 or 1-9:2, and commas")
        first = int(match[1])
        last, step = int(match[2] or first), int(match[3] or 1)
        if last > LARGEST_INDEX:
            raise ValueError(f"{last} is too large: {LARGEST_INDEX} is the most")
        if last < first or step < 1:
            raise ValueError(f"{part.strip()!r} has no numbers: the first is the smallest")
        if first <= before:
            raise ValueError(f"{first} comes after {before}: write the numbers in ascending order")
        rows.append((count, first, step))
        count += (last - first) // step + 1
        before = last
    return count, tuple(rows)


def ranges_text(numbers: Iterable[int], most: int | None = None) -> str:
    """Ascending numbers as ranges; after `most` ranges the rest is only counted.

    >>> ranges_text([0, 3, 4, 5, 9, 10])
    '0,3-5,9,10'
    >>> ranges_text([1, 3, 5, 7, 8], most=2)
    '1,3 and 3 more'
    """
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    shown = ranges if most is None else ranges[:most]
    text = ",".join(_range_text(first, last) for first, last in shown)
    left = sum(last - first + 1 for first, last in ranges[len(shown) :])
    return f"{text} and {left:,} more" if left else text


def _range_text(first: int, last: int) -> str:
    if last - first < 2:
        return str(first) if first == last else f"{first},{last}"
    return f"{first}-{last}"

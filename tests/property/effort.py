"""Owns how many examples the random tests try: all of them, or a part of them for `make quick`."""

import os

QUICK_PART = 4
"""`make quick` sets FAIRSHARE_QUICK, and tries one in so many."""


def examples(number: int) -> int:
    """So many examples; never none.

    >>> examples(0)
    1
    """
    return max(1, number // QUICK_PART if in_haste() else number)


def in_haste() -> bool:
    """Whether `make quick` runs the tests: each kind of them is to be tried, not all of it."""
    return bool(os.environ.get("FAIRSHARE_QUICK"))

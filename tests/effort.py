"""How much of the suite runs: all of it, or for `make quick` a part that takes a minute.

`make quick` sets FAIRSHARE_QUICK. Random tests try one example in four then; of a test with many
cases one in four runs, and three at least; tests marked `slow` do not run.
"""

import os
from collections.abc import Sequence
from typing import TypeVar

QUICK_PART = 4
LEAST_CASES = 3

Case = TypeVar("Case")


def examples(number: int) -> int:
    """So many examples; never none.

    >>> examples(0)
    1
    """
    return max(1, number // QUICK_PART if in_haste() else number)


def part_of(cases: Sequence[Case]) -> Sequence[Case]:
    """The cases of one test that `make quick` runs: the same at each run, and from all of them.

    >>> part_of(range(3)), list(part_of(range(10))), list(part_of(range(20)))
    (range(0, 3), [0, 3, 6], [0, 4, 8, 12, 16])
    """
    kept = max(LEAST_CASES, len(cases) // QUICK_PART)
    return cases[:: len(cases) // kept][:kept] if len(cases) > kept else cases


def in_haste() -> bool:
    """Whether `make quick` runs the tests: each kind of them is to be tried, not all of it."""
    return bool(os.environ.get("FAIRSHARE_QUICK"))

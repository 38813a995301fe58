"""The work of the team research: primes, counted one by one and checked in another way."""

import json
import subprocess
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.demonstration.machine import program
from fairshare.demonstration.work import primes

KNOWN = {10: 4, 100: 25, 1_000: 168, 1_000_000: 78_498}


@pytest.mark.parametrize(("end", "count"), KNOWN.items())
def test_both_methods_find_the_known_number_of_primes(end: int, count: int) -> None:
    assert primes.prime_count(end) == count
    assert primes.primes_between(0, min(end, 100_000)) == primes.prime_count(min(end, 100_000))


def test_the_other_method_finds_the_known_number_below_a_hundred_million() -> None:
    assert primes.prime_count(10**8) == 5_761_455


@given(st.lists(st.integers(0, 3_000), min_size=2, max_size=6).map(sorted))
def test_ranges_that_follow_each_other_add_up(ends: list[int]) -> None:
    parts = sum(primes.primes_between(a, b) for a, b in pairwise(ends))
    assert parts == primes.prime_count(ends[-1]) - primes.prime_count(ends[0])


@pytest.mark.parametrize("composite", [2_047, 1_373_653, 25_326_001, 561, 1_105, 41_041])
def test_a_number_that_only_looks_like_a_prime_is_not_counted(composite: int) -> None:
    assert primes.primes_between(composite, composite + 1) == 0


def test_numbers_for_which_the_test_is_not_proved_are_refused() -> None:
    with pytest.raises(ValueError, match="only proved below"):
        primes.primes_between(primes.LARGEST, primes.LARGEST + 1)


def test_the_program_counts_in_the_range_of_its_task() -> None:
    command = program(primes.__file__, "500")
    run = subprocess.run(
        command, env={"FAIRSHARE_TASK_INDEX": "1"}, capture_output=True, check=True
    )
    assert json.loads(run.stdout) == {"first": 500, "end": 1_000, "primes": 168 - 95}

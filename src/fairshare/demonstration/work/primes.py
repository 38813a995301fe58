"""Owns the work of the team `research`: counting the primes in one range of whole numbers.

    python -I -S primes.py NUMBERS [SKIPPED]    prints {"first": ..., "end": ..., "primes": ...}

Task i takes the range from i * NUMBERS to (i + 1) * NUMBERS, the end not included; it counts as
task i + SKIPPED where others have the first ranges. Every number is
tried by itself (Miller-Rabin), as is done with numbers that are too large for a sieve, so that the
work is as long as one likes and the result can still be checked: see `prime_count`.
"""

import json
import math
import os
import sys

WITNESSES = (2, 3, 5, 7)
"""No composite number below `LARGEST` passes the test with all of these (Jaeschke, 1993)."""

LARGEST = 3_215_031_751

_SMALL = (3, 5, 7, 11, 13)


def main() -> None:
    """Count in the range of this task."""
    numbers = int(sys.argv[1])
    skipped = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    first = (skipped + int(os.environ["FAIRSHARE_TASK_INDEX"])) * numbers
    found = primes_between(first, first + numbers)
    print(json.dumps({"first": first, "end": first + numbers, "primes": found}))


def primes_between(first: int, end: int) -> int:
    """How many primes p there are with first <= p < end; raises ValueError beyond `LARGEST`.

    >>> primes_between(0, 10), primes_between(10, 20), primes_between(7, 8)
    (4, 4, 1)
    """
    if end > LARGEST:
        raise ValueError(f"the test is only proved below {LARGEST}, not up to {end}")
    found = 1 if first <= 2 < end else 0
    for number in range(max(3, first) | 1, end, 2):
        for small in _SMALL:
            if number % small == 0:
                found += number == small
                break
        else:
            found += _passes(number)
    return found


def _passes(number: int) -> bool:
    """The test of Miller and Rabin for an odd number that no small prime divides."""
    odd = number - 1
    halvings = (odd & -odd).bit_length() - 1
    odd >>= halvings
    for witness in WITNESSES:
        power = pow(witness, odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(halvings - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def prime_count(end: int) -> int:
    """How many primes there are below `end`, found without looking at single numbers.

    Legendre's sum over all values of floor(n / i): the count of the numbers up to v that survive
    when the multiples of p are struck out is S(v) - (S(v // p) - S(p - 1)). It takes about
    n ** 0.75 steps, and shares nothing with the test above.

    >>> prime_count(0), prime_count(3), prime_count(10**6)
    (0, 1, 78498)
    """
    most = end - 1
    if most < 2:
        return 0
    root = math.isqrt(most)
    values = [most // divisor for divisor in range(1, root + 1)]
    values += range(values[-1] - 1, 0, -1)
    left = {value: value - 1 for value in values}
    for prime in range(2, root + 1):
        before = left[prime - 1]
        if left[prime] == before:
            continue  # not a prime: nothing new is struck out
        square = prime * prime
        for value in values:
            if value < square:
                break
            left[value] -= left[value // prime] - before
    return left[most]


if __name__ == "__main__":
    main()

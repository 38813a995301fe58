"""Ledgers of random lives: whether they add up, and whether the causes are right.

Prints what is wrong, and exits with 1 if anything is, or if fewer than 95 % of the causes agree.
"""

import argparse
import sys
from collections import Counter

from tests.labelled_queues import SCHEDULERS
from tests.ledger import identities, relaxing

AGREE = 0.95


def main() -> int:
    """Check the ledgers of lives, half of them under each scheduler."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000, help="lives whose ledgers must add up")
    parser.add_argument("--causes", type=int, default=200, help="lives whose causes are relaxed")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    wrong = 0
    for number in range(arguments.seed, arguments.seed + arguments.runs):
        scheduler, seed = SCHEDULERS[number % 2], number // 2
        said = list(identities.deviations(scheduler, seed))
        wrong += bool(said)
        for line in said[:3]:
            print(f"WRONG  {scheduler} {seed}: {line}", flush=True)
    if arguments.runs:
        print(
            f"{arguments.runs - wrong:,} of {arguments.runs:,} ledgers add up exactly", flush=True
        )
    known: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for number in range(arguments.seed, arguments.seed + arguments.causes):
        for one in relaxing.check(SCHEDULERS[number % 2], number // 2):
            known[one.cause] += 1
            right[one.cause] += one.agrees
            if not one.agrees:
                print(f"DIFFERS  {one}", flush=True)
    for cause in sorted(known):
        print(f"{cause:16} {right[cause]:4} of {known[cause]:4} agree")
    agree = right.total() / (known.total() or 1)
    if known:
        print(f"{right.total():,} of {known.total():,} causes agree: {agree:.1%}")
    return 1 if wrong or (known and agree < AGREE) else 0


if __name__ == "__main__":
    sys.exit(main())

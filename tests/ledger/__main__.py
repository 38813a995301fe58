"""Ledgers of random lives: whether they add up. Prints what is wrong, and exits with 1 then."""

import argparse
import sys

from tests.ledger import identities
from tests.ledger.lives import SCHEDULERS


def main() -> int:
    """Check the ledgers of lives, half of them under each scheduler."""
    parser = argparse.ArgumentParser(prog="python -m tests.ledger", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000, help="lives whose ledgers must add up")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    wrong = 0
    for number in range(arguments.seed, arguments.seed + arguments.runs):
        scheduler, seed = SCHEDULERS[number % 2], number // 2
        said = list(identities.deviations(scheduler, seed))
        wrong += bool(said)
        for line in said[:3]:
            print(f"WRONG  {scheduler} {seed}: {line}", flush=True)
    print(f"{arguments.runs - wrong:,} of {arguments.runs:,} ledgers add up exactly", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

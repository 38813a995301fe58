"""`python -m tests.rest_samples DIR`: ask our server what a real one was asked, and compare.

Prints a line for each sample that differs, with its first difference, and last how many agree.
Exits with 1 if less than 95 % do.
"""

import argparse
import sys
from pathlib import Path

from tests.rest_samples.running import run


def main() -> int:
    """Run what the command line names; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.rest_samples", description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR")
    arguments = parser.parse_args()
    if not arguments.directory.is_dir():
        parser.error(f"{arguments.directory}: there is no such folder")
    outcomes = run(arguments.directory)
    if not outcomes:
        parser.error(f"{arguments.directory} has no sample")
    wrong = [outcome for outcome in outcomes if outcome.differences]
    for outcome in wrong:
        print(f"{outcome.name}: {outcome.differences[0]}")
    agreeing = len(outcomes) - len(wrong)
    print(f"{agreeing} of {len(outcomes)} samples agree ({100 * agreeing / len(outcomes):.1f} %)")
    return int(agreeing < 0.95 * len(outcomes))


if __name__ == "__main__":
    sys.exit(main())

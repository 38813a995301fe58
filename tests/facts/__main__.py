"""`python -m tests.facts DIR [--kinds KIND,...]`: run the facts of a folder and count.

Prints a line for each fact that failed (kinds that no scheduler here answers in one line each) and
for each that its own setup puts out of reach, and last `N passed, N failed, N skipped`, with `N not
reproducible here` where there are such. Exits with 1 if one failed, with 2 if the folder has none.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from .runner import FAILED, OUT_OF_REACH, SKIPPED, run, summary


def main() -> int:
    """Run what the command line names; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.facts", description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--kinds", help="only these kinds, divided by commas")
    arguments = parser.parse_args()
    if not arguments.directory.is_dir():
        parser.error(f"{arguments.directory}: there is no such folder")
    kinds = None if arguments.kinds is None else set(arguments.kinds.split(","))
    outcomes = list(run(arguments.directory, kinds))
    if all(outcome.result == SKIPPED for outcome in outcomes):
        parser.error(f"{arguments.directory} has no fact to run")
    unanswered: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        if outcome.result == FAILED:
            if outcome.message.startswith("no scheduler here"):
                unanswered[outcome.kind, f"{outcome.file}: {outcome.kind}"] += 1
            else:
                print(f"{outcome.file}: {outcome.kind} {outcome.name}: {outcome.message}")
        elif outcome.result == OUT_OF_REACH:
            where = f"{outcome.file}: {outcome.kind} {outcome.name}"
            print(f"{where}: {OUT_OF_REACH}: {outcome.message}")
    for (_, where), number in unanswered.items():
        print(f"{where}: no scheduler here answers this kind ({number} facts)")
    print(summary(outcomes))
    return int(any(outcome.result == FAILED for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())

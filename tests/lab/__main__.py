"""`python -m tests.lab [A1 B4 ...]` tries the findings, or those with these names (needs root)."""

import json
import sys
from pathlib import Path

from tests.docs.sandbox import NEEDS, POSSIBLE, run

ROOT = Path(__file__).parents[2]


def tried(names: list[str]) -> list[list[str]]:
    """The name of each finding, its title, and what is wrong with it."""
    printed = run(f"PYTHONPATH={ROOT} python -m tests.lab.machine {' '.join(names)}", 600)
    return [json.loads(line) for line in printed.splitlines() if line.startswith('["')]


def main() -> int:
    """Print the findings; 1 if something is wrong with one."""
    if not POSSIBLE:
        print(f"Skipped: this {NEEDS}.")
        return 0
    wrong = 0
    for name, title, fault in tried(sys.argv[1:]):
        wrong += bool(fault)
        print(f"{'✗' if fault else '✓'} {name:4} {title}{f': {fault}' if fault else ''}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

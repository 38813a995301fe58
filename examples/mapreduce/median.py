"""A mapper and a reducer as programs of their own, for any language: the middle value of each key.

    fairshare mapreduce --input FILES --output DIR \
      --mapper 'python3 examples/mapreduce/median.py map' \
      --reducer 'python3 examples/mapreduce/median.py reduce'

Each line of the input is a name, a comma and a number. The reducer gets lines in the order of their
names, a name and a number with a tab between them.
"""

import itertools
import statistics
import sys


def map_lines() -> None:
    """Print a name, a tab and a number; count the lines that hold none."""
    for line in sys.stdin:
        name, _, number = line.strip().rpartition(",")
        try:
            float(number)
        except ValueError:
            print("reporter:counter:Lines,without a number,1", file=sys.stderr)
        else:
            print(f"{name}\t{number}")


def reduce_lines() -> None:
    """Print each name with the median of its numbers."""
    pairs = (line.rstrip("\n").split("\t") for line in sys.stdin)
    for name, some in itertools.groupby(pairs, lambda pair: pair[0]):
        print(f"{name}\t{statistics.median(float(number) for _, number in some):g}")


if __name__ == "__main__":
    {"map": map_lines, "reduce": reduce_lines}[sys.argv[1]]()

"""`make why`: a line for each situation, and one for each random state that is not as it should be;
exits with 1 if there is such a one.
"""

import argparse
import sys

from tests.why import judging, random_states
from tests.why.planting import situations


def main() -> int:
    """Judge all situations, and random states."""
    parser = argparse.ArgumentParser(prog="python -m tests.why", description=__doc__)
    parser.add_argument("--states", type=int, default=1_000, help="how many random states")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first of them")
    arguments = parser.parse_args()
    wrong = 0
    found = situations()
    for one in found:
        said = list(judging.deviations(one))
        wrong += bool(said)
        remedies = judging.proved(one.build()).remedies
        first = " and ".join(action.words for remedy in remedies[:1] for action in remedy.actions)
        print(f"{'WRONG' if said else 'right'}  {one}: {first}")
        for line in said:
            print(f"       {line}")
    print(f"{len(found) - wrong} of {len(found)} situations are explained rightly")
    unlike = 0
    for seed in range(arguments.first, arguments.first + arguments.states):
        said = list(random_states.deviations(seed))
        unlike += bool(said)
        for line in said:
            print(f"WRONG  state {line}")
    good = arguments.states - unlike
    print(f"in {good:,} of {arguments.states:,} random states all remedies start what waits")
    return 1 if wrong or unlike else 0


if __name__ == "__main__":
    sys.exit(main())

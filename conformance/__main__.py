"""Runs random scenarios on Hadoop and here: `python -m conformance --seeds 1-1000 --profile small`.

Prints the first step at which each differing run parts, a small scenario that does the same for the
first few, and how many runs are identical. Exits with 1 if one is not, unless Hadoop itself decides
it in several ways.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.oracle import GENERATORS, Document, Oracle, OracleError
from conformance.recordings import Recording, write
from conformance.repetition import look_again
from conformance.report import counting_line, scenario_text
from conformance.seeds import SPELLINGS, generate, parse_numbers
from conformance.shrinking import shrink
from conformance.side_by_side import Run, judge_of, run

AT_ONCE = 200
"""So many scenarios are generated and run before the next ones: a bound for memory and disk."""


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parser.add_argument(
        "--oracle",
        type=Path,
        default=Path("../shared/oracle"),
        metavar="FOLDER",
        help="with the programs run and generate.py (default: %(default)s)",
    )
    parser.add_argument("--scheduler", choices=("fair", "capacity"), default="fair")
    parser.add_argument(
        "--generator",
        choices=(*GENERATORS, SPELLINGS),
        default="base",
        help="wide has what the base leaves out, of what --features names; spellings: the ways in"
        " which configurations are written (default: %(default)s)",
    )
    parser.add_argument("--seeds", default="1-100", metavar="1-100", type=parse_numbers)
    parser.add_argument(
        "--profile", default="small", help="tiny, small, medium, large; with commas"
    )
    parser.add_argument("--features", help="only these, with commas (as the generator names them)")
    parser.add_argument("--without", help="all features but these")
    parser.add_argument(
        "--amounts",
        action="store_true",
        help="only count completed containers and those chosen for preemption",
    )
    parser.add_argument("--show", type=int, default=5, help="so many differing runs are printed")
    parser.add_argument("--shrink", type=int, default=1, help="so many of them are made small")
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="write scenarios and both records of differing runs there",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE.jsonl.xz",
        help="write all runs that are identical, to be tested without Java",
    )
    return parser.parse_args()


def runs_of(options: argparse.Namespace, oracle: Oracle) -> Iterator[Run]:
    """Generate and run what was asked for, in portions."""
    arguments: list[str] = []
    for name in ("features", "without"):
        if value := getattr(options, name):
            arguments += [f"--{name}", value]
    for profile in options.profile.split(","):
        for start in range(0, len(options.seeds), AT_ONCE):
            numbers: Sequence[int] = options.seeds[start : start + AT_ONCE]
            documents = generate(
                oracle, options.generator, options.scheduler, profile, numbers, arguments
            )
            runs = run(oracle, documents, amounts=options.amounts)
            yield from look_again(oracle, runs, amounts=options.amounts)


def main() -> int:
    """Run, print, keep."""
    options = parse()
    try:
        oracle = Oracle(options.oracle)
        runs = []
        shown = 0
        for one in runs_of(options, oracle):
            runs.append(one._replace(oracle={}, ours={}) if not options.record else one)
            if one.chance is not None:
                print(f"{one.name}: {one.chance}", flush=True)
            if not one.differs:
                continue
            shown += 1
            if options.keep:
                keep(options.keep, one)
            if shown <= options.show:
                print(f"{one.name}: {one.verdict.first}", flush=True)
            if shown <= options.shrink:
                print(scenario_text(shrunk(oracle, one, amounts=options.amounts)), flush=True)
    except OracleError as error:
        print(error, file=sys.stderr)
        return 2
    if options.record:
        plain = (one for one in runs if one.chance is None and not one.known)
        identical = [one for one in plain if one.verdict.identical]
        write(options.record, [Recording(one.name, one.document, one.oracle) for one in identical])
    print(counting_line(runs, len(options.seeds) * len(options.profile.split(","))))
    return 1 if any(one.differs for one in runs) else 0


def shrunk(oracle: Oracle, one: Run, *, amounts: bool) -> Document:
    """A small scenario that differs as this one does."""
    first = one.verdict.first
    assert first is not None
    judge = judge_of(oracle, first.signature, amounts=amounts)
    return shrink(one.document, judge, first.step)


def keep(folder: Path, one: Run) -> None:
    """Write a run's scenario and both records as files that can be compared by line."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{one.name}.yaml").write_text(scenario_text(one.document))
    for side, record in (("oracle", one.oracle), ("ours", one.ours)):
        text = json.dumps(record, sort_keys=True, indent=1)
        (folder / f"{one.name}.{side}.json").write_text(text + "\n")


if __name__ == "__main__":
    sys.exit(main())

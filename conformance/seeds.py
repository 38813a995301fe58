"""The numbers of random scenarios, and the way from numbers to scenarios.

The generator writes batches: its seed n gives as many scenarios as one wants, and always the same
ones. Number 250 here is scenario 50 of the generator's seed 2.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance import spellings
from conformance.oracle import Document, Oracle
from fairshare.documents.problems import Problems
from fairshare.documents.yaml_tree import read_yaml

BATCH = 100
SPELLINGS = "spellings"
"""The generator that is here, in `spellings.py`; its features are kinds."""


def parse_numbers(text: str) -> list[int]:
    """The numbers of a list of ranges.

    >>> parse_numbers("1-3,7")
    [1, 2, 3, 7]
    """
    numbers: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def generate(
    oracle: Oracle,
    generator: str,
    scheduler: str,
    profile: str,
    numbers: Sequence[int],
    options: Sequence[str],
) -> dict[str, Document]:
    """Scenarios by their names (`small-250`). `options` are the generator's, such as features."""
    if generator == SPELLINGS:
        kinds = options[options.index("--features") + 1].split(",") if options else ()
        return {f"{scheduler}-{n}": spellings.scenario(scheduler, n, kinds) for n in numbers}
    found: dict[str, Document] = {}
    with tempfile.TemporaryDirectory(prefix="conformance-") as name:
        folder = Path(name)
        for seed, within in _batches(numbers):
            count = max(within) + 1
            arguments = ["--scheduler", scheduler, "--profile", profile, *options]
            arguments += ["--seed", str(seed), "--count", str(count)]
            oracle.generate(generator, arguments, folder)
            for number in within:
                path = folder / f"{scheduler}-{profile}-{seed}-{number:04d}.yaml"
                found[f"{profile}-{seed * BATCH + number}"] = read(path.read_text(), path.name)
    return found


def _batches(numbers: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    by_seed: dict[int, list[int]] = {}
    for number in numbers:
        seed, within = divmod(number, BATCH)
        by_seed.setdefault(seed, []).append(within)
    yield from by_seed.items()


def read(text: str, name: str) -> Document:
    """A scenario file as plain data; raises ConfigurationError with its mistakes."""
    problems = Problems()
    root = read_yaml(text, name, problems)
    problems.raise_errors()
    document = None if root is None else root.plain
    assert isinstance(document, dict)
    return document

"""Runs folders of facts and counts what agrees. Knows no kind by name."""

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

from .fact import Fact, Mismatch, OutOfReach
from .kinds import evaluator_of

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The quick one, where PyYAML was built with it."""

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
OUT_OF_REACH = "not reproducible here"


class Outcome(NamedTuple):
    """What became of one fact, or of a file without facts; `message` is empty if it passed."""

    result: str
    file: Path
    kind: str
    name: str
    message: str = ""


class Located(NamedTuple):
    """A fact of a file; its number counts from 1."""

    file: Path
    kind: str
    number: int
    fact: Fact

    @property
    def name(self) -> str:
        """What to call it: number and, where it has one, name."""
        return f"{self.number}: {self.fact['name']}" if "name" in self.fact else str(self.number)


def read_facts(path: Path) -> list[Located]:
    """The facts of one file; none if it is no file of facts. Raises yaml.YAMLError."""
    document = yaml.load(path.read_text(encoding="utf-8"), Loader=LOADER)
    if not isinstance(document, dict) or "kind" not in document or "facts" not in document:
        return []
    kind = str(document["kind"])
    return [Located(path, kind, n, fact) for n, fact in enumerate(document["facts"], 1)]


def run(directory: Path, kinds: Collection[str] | None = None) -> Iterator[Outcome]:
    """Run all facts below a directory, in the order of the names of files.

    With `kinds`, facts of other kinds are skipped; without, a kind that nobody answers is failed.
    """
    for path in sorted(directory.rglob("*.yaml")):
        try:
            facts = read_facts(path)
        except yaml.YAMLError as error:
            yield Outcome(FAILED, path, "", "", f"no YAML: {error}")
            continue
        if not facts:
            yield Outcome(SKIPPED, path, "", "")
        for located in facts:
            if kinds is not None and located.kind not in kinds:
                yield Outcome(SKIPPED, path, located.kind, located.name)
            else:
                yield evaluate(located)


def evaluate(located: Located) -> Outcome:
    """Run one fact. An error of the code, or of the fact itself, is a failure like any other."""
    file, kind, _, fact = located
    evaluator = evaluator_of(kind, fact)
    if evaluator is None:
        return Outcome(FAILED, file, kind, located.name, "no scheduler here answers this kind")
    try:
        evaluator(fact)
    except Mismatch as mismatch:
        return Outcome(FAILED, file, kind, located.name, str(mismatch))
    except OutOfReach as reason:
        return Outcome(OUT_OF_REACH, file, kind, located.name, str(reason))
    except Exception as error:  # whatever it is, the other facts are run, too
        return Outcome(FAILED, file, kind, located.name, f"{type(error).__name__}: {error}")
    return Outcome(PASSED, file, kind, located.name)


def summary(outcomes: Collection[Outcome]) -> str:
    """The line that counts: `12 passed, 0 failed, 3 skipped`.

    What is not reproducible is counted where there is such a fact.
    """
    counts = Counter(outcome.result for outcome in outcomes)
    shown = (PASSED, FAILED, SKIPPED) + (OUT_OF_REACH,) * (OUT_OF_REACH in counts)
    return ", ".join(f"{counts[result]} {result}" for result in shown)

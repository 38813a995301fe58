"""Owns what is done before the server starts: the size of the work, and what the programs read."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from fairshare.demonstration import corpus, machine
from fairshare.demonstration.applications.plan import QUERY_TASKS, Plan, plan_of, wanted_bytes
from fairshare.demonstration.corpus import Document
from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.teams import Pace


class Prepared:
    """The plan, and the documents of the word count and of the queries."""

    def __init__(self, plan: Plan, documents: Sequence[Document]) -> None:
        self.plan = plan
        self.documents = list(documents)
        self.searched = corpus.first_bytes(documents, plan.query_bytes)

    def write(self, folder: Path) -> None:
        """Write what the programs read: `exchange/splits.json` and `queries.json`."""
        exchange = folder / "exchange"
        exchange.mkdir()
        splits = corpus.splits(self.documents, self.plan.maps)
        (exchange / "splits.json").write_text(json.dumps(splits))
        halves = corpus.splits(self.searched, QUERY_TASKS)
        (folder / "queries.json").write_text(json.dumps(halves))


def prepare(
    pace: Pace, repeated: Plan | None, folder: Path, say: Callable[[str], None]
) -> Prepared:
    """Size the work for this machine, or repeat a plan if it still fits; write it to the folder.

    Raises DemonstrationFailed if there is nothing to count words in.
    """
    found = list(corpus.documents(corpus.roots()))
    if len(found) < QUERY_TASKS:
        raise DemonstrationFailed("this Python has no sources that words could be counted in")
    processors = len(machine.processors())
    prepared = None if repeated is None else _repeated(repeated, found, processors)
    if prepared is None:
        say("Measuring how fast this machine is ...")
        prepared = _sized(pace, found, processors, folder)
    else:
        say("The work is that of the last run with the other scheduler.")
    prepared.write(folder)
    return prepared


def _repeated(plan: Plan, found: Sequence[Document], processors: int) -> Prepared | None:
    """None if the machine or its Python is not what it was."""
    documents = corpus.first_bytes(found, plan.corpus_bytes)
    now = (processors, corpus.size_of(documents), len(documents))
    same = now == (plan.processors, plan.corpus_bytes, plan.documents)
    return Prepared(plan, documents) if same else None


def _sized(pace: Pace, found: Sequence[Document], processors: int, folder: Path) -> Prepared:
    rates = machine.measure(found, processors, folder / "sample")
    documents = corpus.first_bytes(found, wanted_bytes(rates, processors, pace))
    size_bytes = corpus.size_of(documents)
    return Prepared(plan_of(rates, processors, pace, size_bytes, len(documents)), documents)

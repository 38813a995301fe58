"""A run of scenarios on both sides at once: Hadoop's schedulers in Java, ours in here."""

import json
import traceback
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from conformance.comparison import Verdict, compare
from conformance.differences import without_known
from conformance.oracle import Document, Oracle
from conformance.shrinking import Judge
from fairshare.errors import FairshareError
from fairshare.lab.scenarios.document import read_scenario
from fairshare.lab.verbs.scenarios import record


class Run(NamedTuple):
    """One scenario, what both sides made of it, what differs knowingly, and what otherwise.

    `chance` says what became of a run that differs when Hadoop ran it again and decided in several
    ways (`repetition.py`).
    """

    name: str
    document: Document
    oracle: dict[str, Any]
    ours: dict[str, Any]
    known: list[str]
    verdict: Verdict
    chance: str | None = None

    @property
    def differs(self) -> bool:
        """Whether something differs that is not left to chance in Hadoop itself."""
        return not self.verdict.identical and self.chance is None


def run(oracle: Oracle, documents: Mapping[str, Document], *, amounts: bool = False) -> list[Run]:
    """Run scenarios on both sides, in their order. What the oracle cannot run is left out.

    Raises ConfigurationError for a document that is no scenario.
    """
    with ThreadPoolExecutor(max_workers=1) as aside:
        waiting = aside.submit(oracle.record, documents)
        ours = {name: record_ours(document) for name, document in documents.items()}
        records = waiting.result()
    runs = []
    for name, document in documents.items():
        if "unsupported" not in records[name]:
            left, right, known = without_known(document, records[name], ours[name])
            verdict = compare(left, right, amounts=amounts)
            runs.append(Run(name, document, records[name], ours[name], known, verdict))
    return runs


def record_ours(document: Document) -> dict[str, Any]:
    """What our scheduler makes of a scenario; `crash` instead of steps if it fails on it."""
    scenario = read_scenario(json.dumps(document), str(document.get("name")))
    try:
        return record(scenario)
    except Exception:  # whatever it is, it is what this program looks for
        return {"name": scenario.name, "steps": [], "crash": traceback.format_exc()}


def judge_of(oracle: Oracle, signature: str, *, amounts: bool) -> Judge:
    """Tells documents that differ first in this way from all others, invalid ones among them."""

    def judge(documents: Mapping[str, Document]) -> set[str]:
        valid = {name: document for name, document in documents.items() if is_scenario(document)}
        found = set()
        for one in run(oracle, valid, amounts=amounts):
            first = one.verdict.first
            if first is not None and first.signature == signature:
                found.add(one.name)
        return found

    return judge


def is_scenario(document: Document) -> bool:
    """Whether a document has the form of a scenario."""
    try:
        read_scenario(json.dumps(document), "")
    except FairshareError:
        return False
    return True

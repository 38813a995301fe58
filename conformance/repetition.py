"""Whether Hadoop decides a scenario the same way each time.

Which of several queues that lack as much is served first follows in Hadoop from where its objects
lie in memory, so that one scenario has several right records. A run that differs goes to the oracle
again, as several copies in one process, whose objects lie elsewhere each.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from conformance.comparison import Difference, Verdict, compare
from conformance.differences import without_known
from conformance.oracle import Document, Oracle
from conformance.side_by_side import Run

COPIES = 8

Record = Mapping[str, Any]


class Answer(NamedTuple):
    """One of Hadoop's records of a scenario, what differs from it knowingly, and what otherwise."""

    oracle: Record
    known: list[str]
    verdict: Verdict


def look_again(oracle: Oracle, runs: Sequence[Run], *, amounts: bool) -> list[Run]:
    """The runs in their order, of those that differ the record of Hadoop's that ours is nearest to,
    and in `chance` what became of it if Hadoop itself decides in several ways."""
    copies: dict[str, Document] = {
        f"{one.name}-{number}": one.document
        for one in runs
        if not one.verdict.identical
        for number in range(COPIES)
    }
    if not copies:
        return list(runs)
    records = oracle.record(copies)
    settled = []
    for one in runs:
        if one.verdict.identical:
            settled.append(one)
            continue
        again = [records[f"{one.name}-{number}"] for number in range(COPIES)]
        theirs = [one.oracle, *(record for record in again if "unsupported" not in record)]
        nearest, chance = settle(one.document, theirs, one.ours, amounts=amounts)
        settled.append(
            one._replace(
                oracle=dict(nearest.oracle),
                known=nearest.known,
                verdict=nearest.verdict,
                chance=chance,
            )
        )
    return settled


def settle(
    document: Document, theirs: Sequence[Record], ours: Record, *, amounts: bool
) -> tuple[Answer, str | None]:
    """Which of Hadoop's records ours agrees with the longest, and whether chance parts them.

    It does if ours agrees with another record than the first one; and if two of Hadoop's that are
    the same before the step at which ours parts differ from each other at that very step.
    """
    answers = []
    for record in theirs:
        left, right, known = without_known(document, record, ours)
        answers.append(Answer(record, known, compare(left, right, amounts=amounts)))
    nearest = max(answers, key=lambda answer: _place(answer.verdict.first))
    first = nearest.verdict.first
    if first is None:
        return nearest, None if nearest is answers[0] else "as another run of Hadoop's"
    for record in theirs:
        parted = _first(nearest.oracle, record, amounts=amounts)
        if parted is not None and parted.step is not None and parted.step == first.step:
            return nearest, f"at step {first.step}, as Hadoop's own runs do"
    return nearest, None


def _place(first: Difference | None) -> float:
    if first is None:
        return float("inf")
    return -1 if first.step is None else first.step


def _first(one: Record, other: Record, *, amounts: bool) -> Difference | None:
    """Where two records of Hadoop's part; what it could not begin or finish parts nowhere."""
    if "steps" not in one or "steps" not in other:
        return None
    count = min(len(one["steps"]), len(other["steps"]))
    left, right = ({**record, "steps": record["steps"][:count]} for record in (one, other))
    return compare(left, right, amounts=amounts).first

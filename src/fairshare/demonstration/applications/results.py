"""Owns the checks of what applications have come to: each team's result is also found in another
way. Reads results from the server and from the folder.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fairshare.client.client import Client
from fairshare.demonstration.applications.casualty import Casualty, Stage
from fairshare.demonstration.applications.plan import QUERY_TASKS, Plan
from fairshare.demonstration.verification import SUCCEEDED, Check, check_answers, check_counts
from fairshare.demonstration.work import primes, words
from fairshare.wording import counted

MOST_FREQUENT = 3


class RangeResult(msgspec.Struct, frozen=True):
    """What a task of the team `research` prints."""

    first: int
    end: int
    primes: int


def outputs(client: Client, application: str) -> list[bytes]:
    """What each succeeded task printed, in the order of groups and tasks."""
    return [
        client.log(task.container)
        for task in client.tasks(application)
        if task.state == SUCCEEDED and task.container is not None
    ]


def direct_count(paths: Iterable[str]) -> Counter[str]:
    """The words of documents, counted without maps and reduces."""
    counts: Counter[str] = Counter()
    for path in paths:
        counts.update(map(str.lower, words.WORD.findall(words.read(path))))
    return counts


def read_reduced(exchange: Path, reduces: int) -> list[words.Counts]:
    """What the reduces have written; a missing file is an empty part."""
    files = [exchange / f"reduce-{part}.json" for part in range(reduces)]
    return [json.loads(file.read_text()) for file in files if file.is_file()]


def most_frequent(parts: Sequence[words.Counts]) -> list[tuple[str, list[str]]]:
    """The most frequent words of each place: ("code", ["self", "if", "return"]), ..."""
    result = []
    for number, place in enumerate(words.PLACES):
        found = [(-numbers[number], word) for part in parts for word, numbers in part.items()]
        result.append((place, [word for _, word in sorted(found)[:MOST_FREQUENT]]))
    return result


def check_research(results: Sequence[RangeResult], plan: Plan) -> Check:
    """Every range is there once, and their primes are as many as another method finds."""
    ordered = sorted(results, key=lambda result: result.first)
    ends = [0, *(result.end for result in ordered)]
    whole = [result.first for result in ordered] == ends[:-1] and ends[-1] == plan.numbers
    found, expected = sum(result.primes for result in results), primes.prime_count(plan.numbers)
    text = (
        f"research: {found:,} primes below {plan.numbers:,}, from {counted(len(results), 'task')}"
    )
    if not whole:
        return Check(False, f"{text}: ranges are missing or there twice")
    if found != expected:
        return Check(False, f"{text}: another method finds {expected:,}")
    return Check(True, f"{text}; another method finds as many")


def check_production(parts: Sequence[words.Counts], direct: Counter[str], plan: Plan) -> Check:
    """No word is in two parts, and each occurs as often as a direct count finds it."""
    counts = {word: sum(numbers) for word, numbers in words.merged(parts).items()}
    through = f"of {plan.documents:,} files through {plan.maps} maps and {plan.reduces} reduces"
    repeated = sum(map(len, parts)) - len(counts)
    return check_counts("production", counts, direct, through, repeated)


def check_queries(answers: Sequence[tuple[str, Sequence[int]]], direct: Counter[str]) -> Check:
    """Each query's halves add up to what a direct count finds. An answer is (word, halves)."""
    right = [len(halves) == QUERY_TASKS and sum(halves) == direct[word] for word, halves in answers]
    return check_answers(right, "queries answered rightly")


def check_casualty(casualty: Casualty) -> Check:
    """The container that was killed on purpose has cost nothing but its own work."""
    if casualty.stage is not Stage.SUCCEEDED:
        return Check(False, "a killed container: none was caught, or its task did not run again")
    return Check(
        True,
        f"a killed container: its task ({casualty.task_name}) ran again in another one, and counts"
        " once",
    )

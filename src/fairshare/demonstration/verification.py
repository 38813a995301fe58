"""Owns the checks of what the teams' work has come to: each result is found in another way, too.

Reads results from the server and from the folder; decides nothing about what is shown.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from fairshare.client.answers import Task
from fairshare.client.client import Client
from fairshare.demonstration.casualty import SUCCEEDED, Casualty, Stage
from fairshare.demonstration.plan import Plan
from fairshare.demonstration.teams import QUERY_TASKS, asked_word
from fairshare.demonstration.work import primes, words
from fairshare.wording import counted

MOST_FREQUENT = 3


class Check(msgspec.Struct, frozen=True):
    """Something that had to be so, and whether it was. `text` says what was found."""

    passed: bool
    text: str


class RangeResult(msgspec.Struct, frozen=True):
    """What a task of the team `research` prints."""

    first: int
    end: int
    primes: int


def direct_count(paths: Iterable[str]) -> Counter[str]:
    """The words of documents, counted without maps and reduces."""
    counts: Counter[str] = Counter()
    for path in paths:
        counts.update(map(str.lower, words.WORD.findall(words.read(path))))
    return counts


def outputs(client: Client, application: str) -> list[bytes]:
    """What each task printed that succeeded, in the order of groups and tasks."""
    return [
        client.log(task.container)
        for task in client.tasks(application)
        if task.state == SUCCEEDED and task.container is not None
    ]


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


def read_reduced(exchange: Path, reduces: int) -> list[words.Counts]:
    """What the reduces have written; a file that is not there is an empty part."""
    files = [exchange / f"reduce-{part}.json" for part in range(reduces)]
    return [json.loads(file.read_text()) for file in files if file.is_file()]


def check_production(parts: Sequence[words.Counts], direct: Counter[str], plan: Plan) -> Check:
    """No word is in two parts, and each stands there as often as a direct count finds it."""
    total: dict[str, int] = {}
    twice = 0
    for part in parts:
        for word, numbers in part.items():
            twice += word in total
            total[word] = total.get(word, 0) + sum(numbers)
    text = (
        f"production: {sum(total.values()):,} words, {len(total):,} different ones, of"
        f" {plan.documents:,} files through {plan.maps} maps and {plan.reduces} reduces"
    )
    if twice:
        return Check(False, f"{text}: {twice} words are in two parts")
    wrong = sum(1 for word in direct.keys() | total.keys() if direct[word] != total.get(word, 0))
    if wrong:
        return Check(False, f"{text}: {wrong} words are not as many as in a direct count")
    return Check(True, f"{text}; a direct count finds the same for each word")


def most_frequent(parts: Sequence[words.Counts]) -> list[tuple[str, list[str]]]:
    """The most frequent words of each place: ("code", ["self", "if", "return"]), ..."""
    result = []
    for number, place in enumerate(words.PLACES):
        found = [(-numbers[number], word) for part in parts for word, numbers in part.items()]
        result.append((place, [word for _, word in sorted(found)[:MOST_FREQUENT]]))
    return result


def check_queries(answers: Sequence[tuple[str, Sequence[int]]], direct: Counter[str]) -> Check:
    """Each query's halves add up to what a direct count finds. An answer is (name, halves)."""
    right = sum(
        1
        for name, halves in answers
        if len(halves) == QUERY_TASKS and sum(halves) == direct[asked_word(name)]
    )
    text = f"adhoc: {right} of {len(answers)} queries answered rightly"
    return Check(right == len(answers) > 0, text)


def check_casualty(casualty: Casualty) -> Check:
    """The container that was killed on purpose has cost nothing but its own work."""
    if casualty.stage is not Stage.SUCCEEDED:
        return Check(False, "a killed container: none was caught, or its task did not run again")
    return Check(
        True,
        f"a killed container: its task ({casualty.task_name}) ran again in another one, and counts"
        " once",
    )


def check_tasks(tasks: Sequence[Task], expected: int) -> Check:
    """Nothing is lost: so many tasks were handed in, and all of them have succeeded."""
    succeeded = sum(task.state == SUCCEEDED for task in tasks)
    again = sum(task.attempts > 1 for task in tasks)
    text = f"{succeeded} of {expected} tasks succeeded, {again} of them at a further attempt"
    return Check(succeeded == expected == len(tasks), text)

"""Owns what the jobs have come to: their figures, and each result found in another way, too.

Reads results from the folder and records from the server, which must still run.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from fairshare.client.answers import PoolFigures
from fairshare.client.client import Client
from fairshare.demonstration.casualty import SUCCEEDED
from fairshare.demonstration.pools.course import Course
from fairshare.demonstration.pools.figures import Figures, figures_of, job_span
from fairshare.demonstration.pools.jobs import MAP_SLOTS, REDUCE_SLOTS, Arrival
from fairshare.demonstration.pools.texts import Text
from fairshare.demonstration.teams import ADHOC, PRODUCTION, RESEARCH, TEAMS
from fairshare.demonstration.verification import Check

MOST_FREQUENT = 5


class Outcome(msgspec.Struct, frozen=True):
    """What a demonstration has come to. `frequent`: the words that are most frequent in research's
    text."""

    figures: Figures
    checks: tuple[Check, ...]
    frequent: tuple[str, ...]


def outcome_of(client: Client, course: Course, texts: Mapping[str, Text], alone_ms: int) -> Outcome:
    """Gather everything; `texts` by the pool that reads them."""
    total = client.cluster().total
    pools = {queue.name: queue.pool or PoolFigures() for queue in client.queues()}
    minimums = {
        pool: pools[f"root.{pool}"].maps.min_share for pool in TEAMS if f"root.{pool}" in pools
    }
    spans = {
        pool: [
            job_span(client.application(name), client.containers(name))
            for name, _ in course.applications[pool]
        ]
        for pool in TEAMS
    }
    slots = total[MAP_SLOTS], total[REDUCE_SLOTS]
    figures = figures_of(spans, course.owed, slots, minimums, alone_ms)
    jobs = {pool: [arrival for _, arrival in course.applications[pool]] for pool in TEAMS}
    counted = {pool: read_counts(jobs[pool][0].job.layout.output) for pool in TEAMS[:2]}
    answers = [
        (arrival.word, read_counts(arrival.job.layout.output).get(arrival.word.encode(), 0))
        for arrival in jobs[ADHOC]
    ]
    checks = (
        *(check_words(pool, counted[pool], texts[pool], jobs[pool][0]) for pool in counted),
        check_answers(answers, texts[ADHOC]),
        _check_tasks(client, course),
        check_slots(figures),
        check_minimum(figures),
    )
    frequent = Counter(counted[RESEARCH]).most_common(MOST_FREQUENT)
    return Outcome(figures, checks, tuple(word.decode() for word, _ in frequent))


def read_counts(output: Path) -> dict[bytes, int]:
    """The lines of `uniq -c` of all parts; a word that stands in several of them is added up."""
    found: dict[bytes, int] = {}
    for part in sorted(output.glob("part-*")):
        for line in part.read_bytes().splitlines():
            number, word = line.split()
            found[word] = found.get(word, 0) + int(number)
    return found


def check_words(pool: str, found: Mapping[bytes, int], text: Text, arrival: Arrival) -> Check:
    """Each word is there as often as a count without maps and reduces finds it."""
    expected = text.words()
    words = (
        f"{pool}: {sum(found.values()):,} words, {len(found):,} different ones, through"
        f" {arrival.maps} maps and {arrival.job.reduces} reduces"
    )
    wrong = sum(
        1 for word in found.keys() | expected.keys() if found.get(word, 0) != expected[word]
    )
    if wrong:
        return Check(False, f"{words}: {wrong} words are not as many as in a direct count")
    return Check(True, f"{words}; a direct count finds the same for each word")


def check_answers(answers: Sequence[tuple[str, int]], text: Text) -> Check:
    """Each small job has found what a direct search finds."""
    expected = {word: text.occurrences(word) for word in {word: None for word, _ in answers}}
    right = sum(number == expected[word] for word, number in answers)
    words = f"adhoc: {right} of {len(answers)} small jobs gave the right number"
    return Check(right == len(answers) > 0, words)


def _check_tasks(client: Client, course: Course) -> Check:
    """Nothing is lost: all tasks have succeeded, those that were killed for others too."""
    every = [one for pool in TEAMS for one in course.applications[pool]]
    expected = sum(arrival.tasks for _, arrival in every)
    tasks = [task for name, _ in every for task in client.tasks(name)]
    succeeded = sum(task.state == SUCCEEDED for task in tasks)
    again = sum(task.attempts > 1 for task in tasks)
    words = f"{succeeded} of {expected} tasks succeeded, {again} of them at a further attempt"
    return Check(succeeded == expected == len(tasks), words)


def check_slots(figures: Figures) -> Check:
    """There were never more tasks than slots."""
    (maps, reduces), (map_slots, reduce_slots) = figures.most, figures.slots
    words = (
        f"slots: at most {maps} of {map_slots} map slots and {reduces} of {reduce_slots} reduce"
        " slots were taken at once"
    )
    return Check(maps <= map_slots and reduces <= reduce_slots, words)


def check_minimum(figures: Figures) -> Check:
    """The pool with a minimum has had it."""
    found = figures.pools[PRODUCTION]
    words = f"{PRODUCTION}: its minimum of {found.minimum} map slots"
    if found.minimum_ms is None:
        return Check(False, f"{words} was never there")
    return Check(True, f"{words} was there after {found.minimum_ms / 1000:.1f} s")

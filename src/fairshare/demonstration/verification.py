"""Owns the checks that all demonstrations have in common: results are also found in another way.

Decides nothing about what is shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from fairshare.client.answers import Task
from fairshare.client.client import Client

RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"

Word = TypeVar("Word", str, bytes)


class Check(msgspec.Struct, frozen=True):
    """A fact that was checked, and whether it holds. `text` says what was found."""

    passed: bool
    text: str


def all_tasks(client: Client, applications: Mapping[str, Iterable[str]]) -> list[Task]:
    """The tasks of each team's applications."""
    return [
        task for names in applications.values() for name in names for task in client.tasks(name)
    ]


def check_tasks(tasks: Sequence[Task], expected: int) -> Check:
    """No task is lost: all that were submitted have succeeded, after a kill too."""
    succeeded = sum(task.state == SUCCEEDED for task in tasks)
    again = sum(task.attempts > 1 for task in tasks)
    text = f"{succeeded} of {expected} tasks succeeded, {again} of them at a further attempt"
    return Check(succeeded == expected == len(tasks), text)


def check_counts(
    team: str,
    found: Mapping[Word, int],
    direct: Mapping[Word, int],
    through: str,
    repeated: int = 0,
) -> Check:
    """Each word occurs as often as a direct count finds it, and in one part of the result.

    `through` says how the words were counted; `repeated`: the number of words in several parts.
    """
    text = f"{team}: {sum(found.values()):,} words, {len(found):,} different ones, {through}"
    if repeated:
        return Check(False, f"{text}: {repeated} words are in two parts")
    wrong = sum(found.get(word, 0) != direct.get(word, 0) for word in direct.keys() | found.keys())
    if wrong:
        return Check(False, f"{text}: {wrong} words are not as many as in a direct count")
    return Check(True, f"{text}; a direct count finds the same for each word")


def check_answers(right: Sequence[bool], words: str) -> Check:
    """All answers are right, and there is at least one: `6 of 6 queries answered rightly`."""
    text = f"adhoc: {sum(right)} of {len(right)} {words}"
    return Check(sum(right) == len(right) > 0, text)

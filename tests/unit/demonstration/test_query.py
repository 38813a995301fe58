"""The work of the team adhoc: one short question."""

import json
import subprocess
from pathlib import Path

import pytest

from fairshare.demonstration.machine import program
from fairshare.demonstration.work import query


@pytest.fixture
def documents(tmp_path: Path) -> list[str]:
    paths = [tmp_path / name for name in ("a.txt", "b.txt")]
    paths[0].write_text("Lock the lock_file, unlock nothing")
    paths[1].write_bytes(b"LOCK \xff lock")
    return [str(path) for path in paths]


def test_a_word_is_found_in_upper_and_lower_case_and_not_within_others(
    documents: list[str],
) -> None:
    assert query.occurrences(documents, "lock") == 4
    assert query.occurrences(documents, "Unlock") == 1


@pytest.mark.parametrize("question", ["", "two words", "lock_file", "a1"])
def test_only_single_words_can_be_asked_for(question: str) -> None:
    with pytest.raises(ValueError, match="not one word"):
        query.occurrences([], question)


def test_the_program_searches_the_part_of_its_task(tmp_path: Path, documents: list[str]) -> None:
    lists = tmp_path / "lists.json"
    lists.write_text(json.dumps([documents[:1], documents[1:]]))
    found = []
    for index in range(2):
        run = subprocess.run(
            program(query.__file__, str(lists), "lock"),
            env={"FAIRSHARE_TASK_INDEX": str(index)},
            capture_output=True,
            check=True,
        )
        found.append(int(run.stdout))
    assert found == [2, 2]

"""The work of the team production: a word count through files."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.demonstration.applications.results import direct_count
from fairshare.demonstration.machine import program
from fairshare.demonstration.work import words

PROGRAM = '''"""The first words."""
def run(speed):  # How fast
    return "Speed" if speed else f"no {speed}"
'''


def counts_of(document: str, *, python: bool = True) -> words.Counts:
    counts: words.Counts = {}
    words.count(document, words.spans_of(document) if python else None, counts)
    return counts


def test_words_of_a_program_are_counted_by_their_context() -> None:
    counts = counts_of(PROGRAM)
    assert counts["def"] == [1, 0, 0]
    assert counts["how"] == [0, 1, 0]
    assert counts["first"] == [0, 0, 1]
    # The name twice, and once as a string; the value in the last string depends on the Python.
    assert sum(counts["speed"]) == 4
    assert counts["speed"][2] >= 1


def test_all_of_another_document_is_text() -> None:
    assert counts_of("def def", python=False) == {"def": [0, 0, 2]}


def test_a_program_that_python_does_not_read_is_text() -> None:
    assert counts_of("'''never closed") == {"never": [0, 0, 1], "closed": [0, 0, 1]}


FRAGMENTS = st.sampled_from(
    [
        "name",
        " ",
        "\n",
        "# note",
        '"',
        "'''",
        "f'{a}'",
        "{{x}}",
        "\\",
        "0x1for",
        "\x0c",
        "é",
        "(",
        ")",
    ]
)


@pytest.mark.slow
@given(st.one_of(st.text(), st.lists(FRAGMENTS, max_size=30).map("".join)))
def test_each_word_is_counted_exactly_once_whatever_the_document(document: str) -> None:
    expected = Counter(map(str.lower, words.WORD.findall(document)))
    assert {word: sum(n) for word, n in counts_of(document).items()} == expected


@given(st.dictionaries(st.text(min_size=1), st.just([1, 2, 3])), st.integers(1, 5))
def test_divided_counts_add_up_again(counts: words.Counts, parts: int) -> None:
    shares = words.divided(counts, parts)
    assert len(shares) == parts
    assert words.merged(shares) == counts
    doubled = words.merged([*shares, *shares])
    assert doubled == {word: [2, 4, 6] for word in counts}


@pytest.fixture
def documents(tmp_path: Path) -> list[str]:
    texts = ["x = 1  # one two\n", "two = 'two'\n", "Three TWO one"]
    paths = [tmp_path / name for name in ("a.py", "b.py", "c.txt")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


def test_maps_and_reduces_find_what_a_direct_count_finds(
    tmp_path: Path, documents: list[str]
) -> None:
    (tmp_path / "splits.json").write_text(json.dumps([documents[:2], documents[2:]]))
    # What is left of a map that was killed in the middle of writing does no harm.
    (tmp_path / "map-0-0.json.12345").write_text('{"broken')
    for group, count, more in (("map", 2, ["2"]), ("reduce", 2, [])):
        for index in range(count):
            command = program(words.__file__, group, str(tmp_path), *more)
            subprocess.run(
                command, env={"FAIRSHARE_TASK_INDEX": str(index)}, check=True, capture_output=True
            )
    parts = [json.loads((tmp_path / f"reduce-{part}.json").read_text()) for part in range(2)]
    total = {word: sum(numbers) for word, numbers in words.merged(parts).items()}
    assert total == direct_count(documents) == {"x": 1, "one": 2, "two": 4, "three": 1}

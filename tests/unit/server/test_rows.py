"""Rows are made again only for things that changed."""

import asyncio

import pytest

from fairshare.server import rows as rows_module
from fairshare.server import slices
from fairshare.server.rows import Rows


class Words(Rows[str, str, list[str]]):
    """The row of a letter is its word, which a test may change."""

    def __init__(self, **words: str) -> None:
        super().__init__()
        self.words = words
        self.made: list[str] = []
        self.changed: list[str] | None = []

    def things(self) -> dict[str, str]:
        return self.words

    def outdated(self) -> list[str] | None:
        changed, self.changed = self.changed, []
        return changed

    def make(self, item: str) -> list[str]:
        self.made.append(item)
        return [item]

    def change(self, letter: str, word: str) -> None:
        self.words[letter] = word
        if self.changed is not None:
            self.changed.append(letter)


def test_only_the_rows_of_changed_things_are_made_again():
    rows = Words(a="one", b="two")
    first, second = rows.all().values()
    rows.change("a", "three")
    third, fourth = rows.all().values()
    assert (first, third) == (["one"], ["three"])
    assert fourth is second
    assert rows.made == ["one", "two", "three"]
    rows.changed = None
    rows.all()
    assert rows.made == ["one", "two", "three", "three", "two"]


def test_the_rows_of_things_that_no_longer_exist_are_forgotten():
    rows = Words()
    for number in range(9):
        rows.words = {str(number): "here"}
        rows.all()
    assert len(rows._rows) <= 3


@pytest.mark.anyio
async def test_the_rows_of_one_instant_include_what_changed_between_slices(monkeypatch):
    monkeypatch.setattr(rows_module, "FEW", 0)
    monkeypatch.setattr(slices, "LOOKED_AFTER", 1)
    monkeypatch.setattr(slices, "SLICE_S", 0.0)
    rows = Words(**dict.fromkeys("abcdef", "old"))

    async def disturb() -> None:
        for round_ in range(100):
            await asyncio.sleep(0)
            rows.change("a", f"new {round_}")

    disturbing = asyncio.create_task(disturb())
    found = await rows.of_one_instant(lambda: rows.words)
    assert found == {letter: [word] for letter, word in rows.words.items()}
    assert list(found) == list("abcdef")
    assert rows.words["a"] != "old"
    disturbing.cancel()


@pytest.mark.anyio
async def test_the_newest_rows_are_found_without_a_look_at_the_older_ones(monkeypatch):
    rows = Words(**{letter: letter * 2 for letter in "abcdef"})
    found = await rows.newest(lambda row: row != ["ee"], 2)
    assert found == {"f": ["ff"], "d": ["dd"]}
    assert rows.made == ["ff", "ee", "dd"]
    monkeypatch.setattr(rows_module, "FEW", 1)  # more than that is made in slices
    rows.changed = None
    assert await rows.newest(lambda row: row < ["c"], 9) == {"b": ["bb"], "a": ["aa"]}

"""Rows are made again only for things that changed, and cut where their content is volatile."""

import asyncio

import pytest

from fairshare.server import slices
from fairshare.server.row_cache import ComparedRows, cut
from fairshare.server.slices import rows_of_one_instant


class Words(ComparedRows[str, str, list[str]]):
    """The row of a letter is its word, which a test may change."""

    def __init__(self, **words: str) -> None:
        super().__init__()
        self.words = words
        self.made: list[str] = []

    def key(self, item: str) -> str:
        return item

    def fingerprint(self, item: str) -> object:
        return self.words[item]

    def things(self) -> dict[str, str]:
        return {letter: letter for letter in self.words}

    def make(self, item: str) -> list[str]:
        self.made.append(item)
        return [self.words[item]]


def test_only_the_rows_of_changed_things_are_made_again():
    cache = Words(a="one", b="two")
    first, second = cache.all().values()
    cache.words["a"] = "three"
    third, fourth = cache.all().values()
    assert (first, third) == (["one"], ["three"])
    assert fourth is second
    assert cache.made == ["a", "b", "a"]


def test_the_cache_forgets_rows_of_things_that_no_longer_exist():
    cache = Words()
    for number in range(9):
        cache.words = {str(number): "here"}
        cache.all()
    assert len(cache._rows) == 1


@pytest.mark.anyio
async def test_the_rows_of_one_instant_include_what_changed_between_slices(monkeypatch):
    monkeypatch.setattr(slices, "FEW", 0)
    monkeypatch.setattr(slices, "LOOKED_AFTER", 1)
    monkeypatch.setattr(slices, "SLICE_S", 0.0)
    cache = Words(**dict.fromkeys("abcdef", "old"))

    async def disturb() -> None:
        for round_ in range(100):
            await asyncio.sleep(0)
            cache.words["a"] = f"new {round_}"

    disturbing = asyncio.create_task(disturb())
    letters, rows = await rows_of_one_instant(cache, lambda: list(cache.words))
    assert letters == list("abcdef")
    assert rows == [[word] for word in cache.words.values()]
    assert cache.words["a"] != "old"
    disturbing.cancel()


def test_a_document_is_cut_where_its_gaps_are():
    content = b'{"a":"x,\\"b\\":2","b":3,"c":4}'
    pieces = cut(content, (b',"b":', b","), None, (b',"c":', b""))
    assert pieces == (b'{"a":"x,\\"b\\":2","b":', b"", b',"c":', b"}")

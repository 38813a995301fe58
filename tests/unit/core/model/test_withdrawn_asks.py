"""What is left of an ask that was withdrawn, as in Hadoop (see docs/conformance.md)."""

from fairshare.core.model.asks import AskTable
from fairshare.core.model.work import ANYWHERE, ResourceRequest


def table(*entries: tuple[str, int]) -> AskTable:
    asks = AskTable(2)
    for location, count in entries:
        asks.replace(ResourceRequest(1, 0, location, count, (1024, 1)))
    return asks


def test_a_place_whose_ask_was_withdrawn_is_known_until_it_is_asked_for_again():
    asks = table(("n1", 2), (ANYWHERE, 3), ("n1", 0))
    key = asks.keys[1, 0]
    assert (list(key.places), key.withdrawn) == ([], {"n1"})
    asks.replace(ResourceRequest(1, 0, "n1", 1, (1024, 1)))
    assert (list(key.places), key.withdrawn) == (["n1"], frozenset())


def test_with_the_ask_for_anywhere_all_places_go():
    asks = table(("n1", 2), ("n2", 0), (ANYWHERE, 3), (ANYWHERE, 0), (ANYWHERE, 4))
    key = asks.keys[1, 0]
    assert (key.places, key.withdrawn) == ({}, frozenset())
    assert asks.pending == (4096, 4)

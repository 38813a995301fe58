"""Keys of Python functions keep their order and come back as they were."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairshare.mapreduce.job import TaskFailed
from fairshare.mapreduce.pairs import decoded, encoded

simple = st.text() | st.binary() | st.integers()
keys = st.recursive(simple, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)
visible = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"]))


@given(keys)
def test_a_key_comes_back_as_it_was(key):
    data = encoded(key)
    assert decoded(data) == key
    assert b"\t" not in data
    assert b"\n" not in data


@given(keys, keys)
def test_different_keys_have_different_bytes(one, other):
    assert (encoded(one) == encoded(other)) == (one == other)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [visible, st.integers(), st.tuples(visible, st.integers())])
def test_keys_are_in_their_own_order(kind):
    @given(st.lists(kind))
    def check(some):
        assert sorted(some, key=encoded) == sorted(some)

    check()


def test_text_that_is_not_utf_8_comes_back():
    key = b"\xff\x00\t".decode("utf-8", "surrogateescape")
    assert decoded(encoded(key)) == key


@pytest.mark.parametrize("key", [1.5, None, True, [1], ("a", 2.0), (1 << 20_000,)], ids=type)
def test_an_invalid_key_raises_an_error(key):
    with pytest.raises(TaskFailed, match="cannot be a key"):
        encoded(key)

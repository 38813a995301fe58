"""The empty table that all who have nothing share."""

import pytest

from fairshare.core.model.nothing import NOTHING


def _or_more(table):
    table |= {1: 2}


@pytest.mark.parametrize(
    "fill",
    [
        lambda table: table.__setitem__(1, 2),
        lambda table: table.setdefault(1, 2),
        lambda table: table.update({1: 2}),
        _or_more,
    ],
    ids=["item", "setdefault", "update", "or"],
)
def test_nothing_is_put_into_the_table_that_all_share(fill):
    with pytest.raises(TypeError, match="this empty table is shared"):
        fill(NOTHING)
    assert not NOTHING

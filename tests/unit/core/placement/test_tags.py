"""The user that an application's tags name, as whom it is placed."""

import pytest

from fairshare.core.placement.rules import placed_as, tagged_user


@pytest.mark.parametrize(
    ("tags", "user"),
    [
        ((), None),
        (("nightly",), None),
        (("userid=ann",), "ann"),
        (("userid=bob", "nightly", "userid=ann"), "ann"),
        (("userid=", "userid=bob"), "bob"),
        (("userid=a=b",), None),
        (("u=ann", "xuserid=ann"), None),
    ],
)
def test_a_tag_names_a_user(tags: tuple[str, ...], user: str | None) -> None:
    assert tagged_user(tags) == user


def test_only_the_tags_of_listed_users_count() -> None:
    assert placed_as(("hive",), "hive", ["userid=ann"]) == "ann"
    assert placed_as(("hive",), "cy", ["userid=ann"]) is None
    assert placed_as((), "hive", ["userid=ann"]) is None

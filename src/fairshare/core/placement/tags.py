"""Owns the placement by an application's tags: programs that act for others, such as SQL servers,
say in a tag `userid=ann` for which user they submit, and the application is placed as if ann had
submitted it (Hadoop: RMAppManager.getUserNameForPlacement).

It still belongs to the user who submitted it. Knows no scheduler, and no queue.
"""

from collections.abc import Collection, Iterable
from typing import Final

_PREFIX: Final = "userid="


def tagged_user(tags: Iterable[str]) -> str | None:
    """The user that the tags name; of several, the first in the order of tags.

    >>> tagged_user(["nightly", "userid=bob", "userid=ann"]), tagged_user(["userid=", "x=userid"])
    ('ann', None)
    """
    for tag in sorted(tags):
        parts = tag.removeprefix(_PREFIX).split("=")
        if tag.startswith(_PREFIX) and len(parts) == 1 and parts[0]:
            return parts[0]
    return None


def placed_as(users: Collection[str], user: str, tags: Iterable[str]) -> str | None:
    """As whom an application of `user` is placed; None: as its own. `users` are those whose tags
    count."""
    return tagged_user(tags) if user in users else None

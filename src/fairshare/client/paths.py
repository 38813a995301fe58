"""Owns the parts of paths, which have names of users in them."""

from urllib.parse import quote

from fairshare.errors import InputError


def segment(text: str) -> str:
    """One part of a path, so that an odd name cannot become another path.

    Raises InputError (`no-name`) for what would be another path however it is written.

    >>> segment("a/../b")
    'a%2F..%2Fb'
    """
    if text in ("", ".", ".."):
        raise InputError("no-name", f"{text!r} names nothing: write an id, a number or a name")
    return quote(text, safe="")

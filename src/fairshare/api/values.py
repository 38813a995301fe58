"""The types of fields that several records have, and the base classes of requests."""

import re
from typing import Annotated, Any, Final, TypeVar

import msgspec

from fairshare.documents.bounds import LONGEST_QUEUE_NAME, LONGEST_TARGET

Amounts = Annotated[
    dict[str, int],
    msgspec.Meta(title="Amounts", description="By resource type: memory-mb in MB, vcores, ..."),
]
"""Resources by name: `{"memory-mb": 1024, "vcores": 1}`."""

Held = TypeVar("Held")
"""How a record holds amounts: by name (`Amounts`), or as a vector within a server."""

EMPTY: Final[Any] = {}
"""The default of a field with a mapping."""

MAX_TASKS: Final = 1_000_000
"""The most tasks of one application: each costs the server memory as long as it is known."""

MAX_LINES: Final = 100_000
"""The most lines of an array: the server keeps them as long as its application is known."""

_UNSEEN: Final = r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
_NOT_IN_LINES: Final = r"\x00-\x1f\x7f-\x9f\u2028\u2029" + _UNSEEN
LINE: Final = rf"^[^{_NOT_IN_LINES}]*$(?!\n)"
"""A name is one line without control characters, and without marks that are not seen and change the
direction of what is: it appears in logs, files and variables. JSON Schema has no other anchor for
the end of a string than `$`, before which Python also accepts a line break."""

_ACCOUNT: Final = rf"^[^{_NOT_IN_LINES}\uff01-\uff5e]*$(?!\n)"
"""A name of a user has no full-width letters either, which look like others."""

WORD: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]*$(?!\n)"
"""A name that users choose, which is a part of paths of files and of REST."""

_IN_WORDS: Final = {
    WORD: "a name of letters, digits, '.', '_' and '-' that begins with a letter or digit",
    LINE: "one line without control characters and marks that are not seen",
    _ACCOUNT: "a name without control characters, marks that are not seen and full-width letters",
}


def in_words(error: msgspec.ValidationError) -> str:
    """What is wrong with a value, without the patterns that only programs read."""
    text = str(error)
    for pattern, words in _IN_WORDS.items():
        text = text.replace(f"`str` matching regex {pattern!r}", words)
    return text


Count = Annotated[int, msgspec.Meta(ge=1, le=MAX_TASKS, extra_json_schema={"default": 1})]
Priority = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Amount = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Duration = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Name = Annotated[str, msgspec.Meta(max_length=1_000, pattern=LINE)]
Place = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=LINE)]
User = Annotated[str, msgspec.Meta(min_length=1, max_length=255, pattern=_ACCOUNT)]
Tag = Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=LINE)]
NoticeTarget = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_TARGET, pattern=LINE)]
QueueName = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_QUEUE_NAME, pattern=LINE)]
Diagnostics = Annotated[str, msgspec.Meta(max_length=10_000)]
LabelName = Annotated[str, msgspec.Meta(max_length=255, pattern=LINE)]
"""A partition; empty: the default one."""

Resources = dict[str, Amount]
"""Requested amounts; `memory-mb` and `vcores` have defaults, all others are 0."""


def is_one_line(text: str) -> bool:
    """Whether a text may be a name.

    >>> is_one_line("ann"), is_one_line("ann\\n"), is_one_line("a\\x00b")
    (True, False, False)
    """
    return re.fullmatch(LINE, text) is not None


class Body(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A request. The server refuses unknown fields; a client does not send defaults."""


class NothingBody(Body, frozen=True, kw_only=True):
    """The body of a call whose path says everything: empty, or `{}`."""


class ActorBody(Body, frozen=True, kw_only=True):
    """The user who asks; by default the user of the server, as for a submission."""

    user: User | None = None

"""Owns what a placement rule is told and may ask: settings, the submission, the queues there are.

A rule answers with a queue's full name, or None to let the next rule try; it raises `Misplaced` to
refuse the submission (spec/fair.md 6).
"""

from typing import Protocol

import msgspec

from fairshare.model.queues import ROOT

# What Hadoop trims from names (spec/fair.md 2.1.2): wider than ASCII, unlike `str.strip`'s own set.
BLANKS = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)


class RuleSettings(msgspec.Struct, frozen=True):
    """One rule of the placement policy. `parent` is the rule nested in it."""

    name: str
    create: bool = True
    queue: str = ""  # the attribute of the rule `default`
    parent: "RuleSettings | None" = None


class Request(msgspec.Struct, frozen=True):
    """Who submits, and which queue was asked for (`default`: none)."""

    user: str
    groups: tuple[str, ...]
    queue: str


class QueueLookup(Protocol):
    """What a rule may ask of the queues."""

    def configured(self, name: str) -> bool:
        """Whether the file names this queue and it exists."""

    def is_leaf(self, name: str) -> bool:
        """Whether it exists, as a leaf."""


class Misplaced(Exception):
    """A rule refuses the submission; the message says why."""


def clean(name: str) -> str:
    """A user or group as a queue's node name: `clean(' first.last ') == 'first_dot_last'`."""
    return name.strip(BLANKS).replace(".", "_dot_")


def below_parent(
    name: str, rule: RuleSettings, parent: str | None, queues: QueueLookup
) -> str | None:
    """`name` under what the nested rule chose (or root); None when that one passes or is a leaf."""
    if rule.parent is None:
        return f"{ROOT}.{name}"  # also for a user called root, whom Hadoop refuses
    if parent is None or queues.is_leaf(parent):
        return None
    return f"{parent}.{name}"


def existing(name: str | None, rule: RuleSettings, queues: QueueLookup) -> str | None:
    """The name, if the rule may create it or the file has it."""
    if name is None or rule.create or queues.configured(name):
        return name
    return None

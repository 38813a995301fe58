"""Owns the input of a placement rule: its settings, the submission, and queries about queues.

A rule returns a queue's full name, or None to continue with the next rule; it raises `Misplaced` to
reject the submission (Hadoop: FSPlacementRule).
"""

from typing import Protocol

import msgspec

from fairshare.core.model.queues import ROOT

# The characters that Hadoop trims from names (Hadoop: FairSchedulerUtilities.trimQueueName);
# `str.strip` has another set.
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
    """A submission: its user, the user's groups, and the requested queue (`default`: none)."""

    user: str
    groups: tuple[str, ...]
    queue: str


class QueueLookup(Protocol):
    """The queries of rules about queues."""

    def configured(self, name: str) -> bool:
        """Whether the configuration file defines this queue, and it exists."""

    def is_leaf(self, name: str) -> bool:
        """Whether the queue exists and is a leaf."""


class Misplaced(Exception):
    """A rule rejects the submission; the message says why."""


def clean(name: str) -> str:
    """A user or group as part of a queue name: `clean(' first.last ') == 'first_dot_last'`."""
    return name.strip(BLANKS).replace(".", "_dot_")


def below_parent(
    name: str, rule: RuleSettings, parent: str | None, queues: QueueLookup
) -> str | None:
    """`name` below the queue of the nested rule (or root); None if that rule chose none, or chose a
    leaf."""
    if rule.parent is None:
        return f"{ROOT}.{name}"  # also for a user named root, whom Hadoop rejects
    if parent is None or queues.is_leaf(parent):
        return None
    return f"{parent}.{name}"


def existing(name: str | None, rule: RuleSettings, queues: QueueLookup) -> str | None:
    """The name, if the rule may create the queue or the file defines it; otherwise None."""
    if name is None or rule.create or queues.configured(name):
        return name
    return None

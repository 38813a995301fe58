"""Owns a queue mapping as frozen data: which submissions it matches, and its action.

Both formats of mappings (`u:ann:root.a` and JSON; Hadoop: MappingRuleCreator) are read into these
rules; this module knows neither format.
"""

import enum

import msgspec


class Matcher(enum.StrEnum):
    """What a mapping rule matches."""

    ALL = "all"  # `*` in JSON, `u:%user` among the legacy mappings
    USER = "user"
    GROUP = "group"  # any of the user's groups
    APPLICATION = "application"  # by its name


class MappingAction(enum.StrEnum):
    """The action of a mapping rule."""

    PLACE = "place"
    REJECT = "reject"
    SET_DEFAULT = "set-default"  # %default becomes `path`, and the next rule is tried


class MappingFallback(enum.StrEnum):
    """The action when a rule matches and its queue cannot be used."""

    SKIP = "skip"
    REJECT = "reject"
    PLACE_DEFAULT = "place-default"


class MappingRule(msgspec.Struct, frozen=True):
    """One queue mapping, legacy or JSON (Hadoop: MappingRule), in a common form.

    `match` is the user, group or application name to compare with (variables allowed); empty for
    ALL. `path` may contain variables: the JSON policy `primaryGroupUser` below parent `root.a` is
    `root.a.%primary_group.%user`, `specified` is `%specified`, `defaultQueue` is `%default`. A
    legacy entry `u:ann:q` is PLACE in `q` with `create` and the fallback PLACE_DEFAULT. `source`
    is the rule's text, for messages.
    """

    matcher: Matcher
    match: str = ""
    action: MappingAction = MappingAction.PLACE
    path: str = ""
    create: bool = True
    fallback: MappingFallback = MappingFallback.SKIP
    source: str = ""

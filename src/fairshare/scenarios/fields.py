"""Owns how values of scenarios are read: a duration without a unit is in seconds, and mistakes have
the rule `scenario`. Knows no key but `error`.
"""

from typing import Final

from fairshare.config import fields
from fairshare.config.fields import unknown_word
from fairshare.config.located import Node
from fairshare.config.problems import Problems

__all__ = ["RULE", "Fields", "Values", "unknown_word"]

RULE: Final = "scenario"


class Values(fields.Values):
    """Typed values of single nodes of a scenario."""

    def __init__(self, problems: Problems) -> None:
        super().__init__(problems, RULE, bare_unit="s")


class Fields(fields.Fields):
    """The entries of one mapping of a scenario."""

    def __init__(self, node: Node, what: str, problems: Problems) -> None:
        super().__init__(node, what, problems, RULE, bare_unit="s")

    def error(self) -> str | bool | None:
        """`error: text`, or `error: true` for any text; false is as good as nothing."""
        node = self.get("error")
        if node is None or node.scalar is False:
            return None
        return True if node.scalar is True else self.text_of(node, self.path("error"))

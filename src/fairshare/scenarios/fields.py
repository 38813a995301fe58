"""Owns how values of scenarios are read: a duration without a unit is in seconds, and mistakes have
the rule `scenario`. Knows no key but `error`.
"""

from typing import Any, Final

from fairshare.config import fields
from fairshare.config.fields import unknown_word
from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.config.yaml_form import Form

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

    def read(self, form: Form) -> dict[str, Any]:
        """The values of all keys of a form that are there, by the name of each key's field; other
        keys are reported, as what is wrong in a value is."""
        found = {}
        for key in form.keys:
            needed = key.needed or (key.filled and key.name in self.entries)
            node = self.need(key.name) if needed else self.get(key.name)
            if node is not None and key.value.read is not None:
                value = key.value.read(self, node, self.path(key.name))
                if value is not None:
                    found[key.field or key.name] = value
        self.finish()
        return found

    def error(self) -> str | bool | None:
        """The value of `error`."""
        node = self.get("error")
        return None if node is None else refusal_of(self, node, self.path("error"))


def refusal_of(values: fields.Values, node: Node, what: str) -> str | bool | None:
    """`error: text`, or `error: true` for any text; false is as good as nothing."""
    if node.scalar is False:
        return None
    return True if node.scalar is True else values.text_of(node, what)

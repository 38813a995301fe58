"""Owns YAML and JSON as trees in which every value knows its line. Knows nothing of workloads."""

import json
from typing import Any, Final

import msgspec
import yaml

from fairshare.config.problems import Place, Problems

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times as fast


_BOOLEAN: Final = "tag:yaml.org,2002:bool"
_AS_WRITTEN: Final = frozenset({_BOOLEAN, "tag:yaml.org,2002:timestamp"})
_BOOLEANS: Final = frozenset({"true", "True", "TRUE", "false", "False", "FALSE"})
"""`on`, `yes` and dates are texts in YAML 1.2 and for our other readers, but not for PyYAML."""

MAX_DEPTH = 100
"""No file of ours has values that deep in each other."""


class Located(msgspec.Struct, frozen=True):
    """A value and where it stands: a mapping and a list hold located values again."""

    value: Any
    line: int


def parse_yaml(text: str, file: str, problems: Problems) -> Located | None:
    """The only document of a YAML text; None if it cannot be read, which is reported."""
    loader = _Loader(text)
    try:
        deep = too_deep(text)
        if deep is not None:
            problems.error(Place(file, deep), "workload-syntax", "is nested too deeply")
            return None
        node = loader.get_single_node()
        if node is None:
            problems.error(Place(file), "workload-syntax", "the file is empty")
            return None
        return _Tree(loader, file, problems).locate(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        message = error.problem or error.context or "cannot be read"
        problems.error(Place(file, line, column), "workload-syntax", str(message))
        return None
    except yaml.YAMLError as error:
        problems.error(Place(file), "workload-syntax", str(error))
        return None
    finally:
        loader.dispose()


def too_deep(text: str) -> int | None:
    """The line of a YAML text at which values are nested deeper than `MAX_DEPTH`; None: nowhere.

    Asked before a tree is made: making one calls itself for each level, in C, where nothing but a
    crash ends it. Raises YAMLError for what is no YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                return event.start_mark.line + 1 if event.start_mark else 0
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


class _Tree:
    """Turns YAML nodes into located values; nodes that are used twice become one value."""

    def __init__(self, loader: Any, file: str, problems: Problems) -> None:
        self._loader = loader
        self._file = file
        self._problems = problems
        self._known: dict[int, Located | None] = {}

    def locate(self, node: Any) -> Located:
        key = id(node)
        if key in self._known:
            known = self._known[key]
            if known is None:
                raise yaml.MarkedYAMLError(
                    problem="a value contains itself", problem_mark=node.start_mark
                )
            return known
        self._known[key] = None
        located = Located(self._value(node), node.start_mark.line + 1)
        self._known[key] = located
        return located

    def _value(self, node: Any) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.locate(item) for item in node.value]
        if node.tag in _AS_WRITTEN and not (node.tag == _BOOLEAN and node.value in _BOOLEANS):
            return node.value
        return self._loader.construct_object(node)

    def _mapping(self, node: Any) -> dict[str, Located]:
        found: dict[str, Located] = {}
        for key, value in node.value:
            place = Place(self._file, key.start_mark.line + 1, key.start_mark.column + 1)
            if not isinstance(key, yaml.ScalarNode):
                self._problems.error(place, "workload-syntax", "a key must be a word")
            elif key.value in found:
                self._problems.error(place, "workload-syntax", f"{key.value} stands here twice")
            else:
                found[key.value] = self.locate(value)
        return found


def parse_json_line(line: str, number: int, file: str, problems: Problems) -> Located | None:
    """The value on one line; None if it cannot be read, which is reported."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Located]:
        found: dict[str, Located] = {}
        for key, value in items:
            if key in found:
                problems.error(Place(file, number), "workload-syntax", f"{key} stands here twice")
            found[key] = locate(value)
        return found

    def locate(value: Any) -> Located:
        if isinstance(value, list):
            return Located([locate(item) for item in value], number)
        return Located(value, number)

    try:
        return locate(json.loads(line, object_pairs_hook=pairs))
    except json.JSONDecodeError as error:
        problems.error(Place(file, number, error.colno), "workload-syntax", error.msg)
    except RecursionError:
        problems.error(Place(file, number), "workload-syntax", "is nested too deeply")
    return None

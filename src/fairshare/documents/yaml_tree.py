"""The reading of YAML 1.2 and JSON into nodes that know their line and column.

Scenarios, job files and workloads are read by it. PyYAML splits the text; what a plain word means
is decided here, by the core schema of YAML 1.2 (section 10.3.2): only true and false are booleans,
so `on` is a text, and `010` is ten.
"""

import json
import re
from typing import Any, Final

import msgspec
import yaml

from fairshare.documents.located import Node
from fairshare.documents.problems import Place, Problems

RULE: Final = "yaml"
MAX_DEPTH: Final = 100
"""No file of ours needs values that deep within each other."""


class Limits(msgspec.Struct, frozen=True):
    """How large a file may be: its text, and its values, aliases included."""

    mebibytes: int = 8
    values: int = 200_000


LIMITS: Final = Limits()


_CONSTANTS: Final[dict[str, bool | None]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_DECIMAL = re.compile(r"[-+]?[0-9]{1,400}")
_OTHER_BASE = re.compile(r"0o([0-7]{1,100})|0x([0-9a-fA-F]{1,100})")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"([-+]?)\.(?:(inf|Inf|INF)|nan|NaN|NAN)")
_DEFAULT_TAGS: Final = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))


def scalar_of(text: str) -> bool | int | float | str | None:
    """The value of a plain (unquoted) word.

    >>> [scalar_of(word) for word in ("on", "true", "010", "0x1f", "1e3", "~", "5s")]
    ['on', True, 10, 31, 1000.0, None, '5s']
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _DECIMAL.fullmatch(text):
        return int(text)
    if match := _OTHER_BASE.fullmatch(text):
        return int(match[1], 8) if match[1] else int(match[2], 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    if match := _NOT_FINITE.fullmatch(text):
        return float(match[1] + ("inf" if match[2] else "nan"))
    return text


def read_yaml(text: str, file: str, problems: Problems, limits: Limits = LIMITS) -> Node | None:
    """The document's top node; None when a problem says why there is none."""
    if len(text) > limits.mebibytes * 2**20:
        problems.error(Place(file), RULE, f"the file is larger than {limits.mebibytes} MiB")
        return None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # the C one is ten times as fast
    try:
        deep = _too_deep(text, loader)
        if deep is not None:
            problems.error(Place(file, deep), RULE, _TOO_DEEP)
            return None
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        place, reason = _place_of(error, file, text), _reason(error)
        problems.error(place, RULE, f"not well-formed YAML: {reason}")
        return None
    except (RecursionError, ValueError) as error:
        problems.error(Place(file), RULE, f"not readable as YAML: {error}")
        return None
    if root is None:
        problems.error(Place(file, 1, 1), RULE, "the file is empty")
        return None
    try:
        return _Builder(file, problems, limits).build(root, 0)
    except _TooMuch as error:
        problems.error(Place(file), RULE, str(error))
        return None


def read_json_line(line: str, number: int, file: str, problems: Problems) -> Node | None:
    """The JSON value on one line of a file; None when a problem says why there is none."""
    place = Place(file, number)

    def pairs(items: list[tuple[str, Any]]) -> Node:
        node = Node(place)
        node.entries = {}
        for key, value in items:
            if key in node.entries:
                problems.error(place, RULE, f"the key {key!r} is given twice")
            node.entries[key] = locate(value)
            node.keys[key] = place
        return node

    def locate(value: Any) -> Node:
        if isinstance(value, Node):
            return value
        node = Node(place)
        if isinstance(value, list):
            node.items = [locate(item) for item in value]
        else:
            node.scalar = value
            node.text = value if isinstance(value, str) else json.dumps(value)
        return node

    try:
        return locate(json.loads(line, object_pairs_hook=pairs))
    except json.JSONDecodeError as error:
        problems.error(Place(file, number, error.colno), RULE, error.msg)
    except RecursionError:
        problems.error(place, RULE, _TOO_DEEP)
    return None


_TOO_DEEP: Final = "values are nested deeper than any file needs"


def _too_deep(text: str, loader: Any) -> int | None:
    """The line at which values are nested deeper than `MAX_DEPTH`; None if there is none.

    Checked before a tree is made: composing one recurses in C for each level, and only a crash ends
    that. Raises YAMLError for a text that is not YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                return event.start_mark.line + 1 if event.start_mark else 0
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return None


class _TooMuch(Exception):
    """The document is nested or repeated (by aliases) without measure."""


class _Builder:
    def __init__(self, file: str, problems: Problems, limits: Limits) -> None:
        self.file = file
        self.limits = limits
        self.problems = problems
        self.count = 0

    def build(self, source: yaml.Node, depth: int) -> Node:
        self.count += 1
        if depth > MAX_DEPTH:
            raise _TooMuch(f"the document is nested deeper than {MAX_DEPTH} levels")
        if self.count > self.limits.values:
            raise _TooMuch(
                f"the document has more than {self.limits.values} values, aliases included"
            )
        node = Node(self.place(source))
        if source.tag not in _DEFAULT_TAGS:
            self.problems.error(
                node.place, RULE, f"the tag {source.tag!r} is not supported: remove it"
            )
        if isinstance(source, yaml.SequenceNode):
            node.items = [self.build(item, depth + 1) for item in source.value]
        elif isinstance(source, yaml.MappingNode):
            node.entries = {}
            for key, value in source.value:
                self.add_entry(node, key, self.build(value, depth + 1))
        elif isinstance(source, yaml.ScalarNode):
            node.text = source.value
            node.scalar = source.value if source.style else scalar_of(source.value)
        return node

    def add_entry(self, node: Node, key: yaml.Node, value: Node) -> None:
        assert node.entries is not None
        place = self.place(key)
        if not isinstance(key, yaml.ScalarNode):
            self.problems.error(place, RULE, "a key must be a plain word")
        elif key.value in node.entries:
            first = node.keys[key.value].line
            self.problems.error(
                place, RULE, f"the key {key.value!r} is given twice: first in line {first}"
            )
        else:
            node.entries[key.value] = value
            node.keys[key.value] = place

    def place(self, source: yaml.Node) -> Place:
        mark = source.start_mark
        return Place(self.file, mark.line + 1, mark.column + 1)


def _place_of(error: yaml.YAMLError, file: str, text: str) -> Place:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is not None:
        return Place(file, mark.line + 1, mark.column + 1)
    if isinstance(error, yaml.reader.ReaderError):
        return Place(file, text.count("\n", 0, error.position) + 1)
    return Place(file)


def _reason(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        return f"a character {error.character:#x} is not allowed"
    parts = (getattr(error, "context", None), getattr(error, "problem", None))
    return ", ".join(part for part in parts if part) or str(error).partition("\n")[0]

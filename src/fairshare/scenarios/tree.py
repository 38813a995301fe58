"""Owns the reading of YAML 1.2 into nodes that know their line and column.

Knows nothing of scenarios. PyYAML splits the text; what a plain word means is decided here, by the
core schema of YAML 1.2 (section 10.3.2): only true and false are booleans, so `on` is a text, and
`010` is ten.
"""

import re
from typing import Any, Final

import yaml

from fairshare.config.problems import Place, Problems
from fairshare.simulate.readers.documents import too_deep

RULE: Final = "yaml"
MAX_BYTES: Final = 8 * 2**20
MAX_NODES: Final = 200_000
MAX_DEPTH: Final = 100

Plain = bool | int | float | str | list[Any] | dict[str, Any] | None
"""What YAML text stands for, without places."""

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


class Node:
    """One value and where it stands. `text` is a scalar as it was written.

    `items` holds the elements of a sequence, `entries` the values of a mapping by the text of
    their keys; both are None for what is neither. `keys` says where each key stands.
    """

    __slots__ = ("entries", "items", "keys", "place", "scalar", "text")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.items: list[Node] | None = None
        self.entries: dict[str, Node] | None = None
        self.keys: dict[str, Place] = {}
        self.scalar: bool | int | float | str | None = None
        self.text = ""

    @property
    def plain(self) -> Plain:
        """The value without places.

        >>> read_yaml("{a: [1, on, '2']}", "x.yaml", Problems()).plain
        {'a': [1, 'on', '2']}
        """
        if self.items is not None:
            return [item.plain for item in self.items]
        if self.entries is not None:
            return {name: value.plain for name, value in self.entries.items()}
        return self.scalar

    @property
    def empty(self) -> bool:
        """Whether nothing stands there (an empty list or mapping is something)."""
        return self.items is None and self.entries is None and self.scalar is None

    @property
    def kind(self) -> str:
        """What it is, in words for an error message."""
        if self.items is not None:
            return "a list"
        if self.entries is not None:
            return "a mapping"
        return "nothing" if self.scalar is None else repr(self.text)


def scalar_of(text: str) -> bool | int | float | str | None:
    """What a plain (unquoted) word stands for.

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


def read_yaml(text: str, file: str, problems: Problems) -> Node | None:
    """The document's top node; None when a problem says why there is none."""
    if len(text) > MAX_BYTES:
        problems.error(Place(file), RULE, f"the file is larger than {MAX_BYTES // 2**20} MiB")
        return None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        deep = too_deep(text)
        if deep is not None:
            problems.error(Place(file, deep), RULE, "values are nested deeper than any file needs")
            return None
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        problems.error(_place_of(error, file), RULE, f"not well-formed YAML: {_reason(error)}")
        return None
    except (RecursionError, ValueError) as error:
        problems.error(Place(file), RULE, f"not readable as YAML: {error}")
        return None
    if root is None:
        problems.error(Place(file, 1, 1), RULE, "the file is empty")
        return None
    try:
        return _Builder(file, problems).build(root, 0)
    except _TooMuch as error:
        problems.error(Place(file), RULE, str(error))
        return None


class _TooMuch(Exception):
    """The document is nested or repeated (by aliases) without measure."""


class _Builder:
    def __init__(self, file: str, problems: Problems) -> None:
        self.file = file
        self.problems = problems
        self.count = 0

    def build(self, source: yaml.Node, depth: int) -> Node:
        self.count += 1
        if depth > MAX_DEPTH:
            raise _TooMuch(f"the document is nested deeper than {MAX_DEPTH} levels")
        if self.count > MAX_NODES:
            raise _TooMuch(f"the document has more than {MAX_NODES} values, aliases included")
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
                place, RULE, f"the key {key.value!r} stands twice: first in line {first}"
            )
        else:
            node.entries[key.value] = value
            node.keys[key.value] = place

    def place(self, source: yaml.Node) -> Place:
        mark = source.start_mark
        return Place(self.file, mark.line + 1, mark.column + 1)


def _place_of(error: yaml.YAMLError, file: str) -> Place:
    mark = getattr(error, "problem_mark", None)
    return Place(file) if mark is None else Place(file, mark.line + 1, mark.column + 1)


def _reason(error: yaml.YAMLError) -> str:
    parts = (getattr(error, "context", None), getattr(error, "problem", None))
    return ", ".join(part for part in parts if part) or str(error).partition("\n")[0]

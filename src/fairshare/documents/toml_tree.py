"""The reading of TOML into located nodes.

`tomllib` decides what is TOML and what values are; it does not say where they are, so the text of a
document that it accepts is walked once more for the places of keys and values. What is inside of a
list or of an inline table has the place of the whole.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Final

from fairshare.documents.located import Node
from fairshare.documents.problems import Place, Problems

RULE: Final = "toml"
_ERROR_PLACE: Final = re.compile(r"\(at line (\d+), column (\d+)\)")
_TOKEN: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}'
    r"|'{3}.*?'{3,5}"
    r'|"(?:[^"\\]|\\.)*"'
    r"|'[^']*'"
    r"|#[^\n]*"
    r"|[][{},=.\n]"
    r"""|[^][{},=.\s#"']+""",
    re.DOTALL,
)
"""Strings, comments, punctuation, words."""

Path = tuple[str, ...]
Places = dict[Path, Place]


def read_toml(document: bytes, file: str, problems: Problems) -> Node:
    """The document's top node; empty when a problem says why there is nothing else."""
    empty = Node(Place(file))
    empty.entries = {}
    try:
        text = document.decode().replace("\r\n", "\n")
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _ERROR_PLACE.search(str(error))
        # Without a place the message says "at end of document".
        last = len(text.splitlines())
        line, column = (int(found.group(1)), int(found.group(2))) if found else (last, 0)
        words = _twice(text, line) or f"not well-formed TOML: {error}"
        problems.error(Place(file, line, column), RULE, words)
    except UnicodeDecodeError as error:
        problems.error(Place(file), RULE, f"the file is not UTF-8: {error}")
    except RecursionError:
        problems.error(Place(file), RULE, "values are nested deeper than any file needs")
    else:
        return _node(values, (), Place(file), *_places(text, file))
    return empty


def _twice(text: str, line: int) -> str:
    """What is wrong if a line begins a table that an earlier line began; else empty."""
    lines = text.splitlines()
    header = re.match(r"\s*(\[[^][]+\])", lines[line - 1] if line <= len(lines) else "")
    if header is None:
        return ""
    beginning = re.compile(rf"\s*{re.escape(header[1])}")
    earlier = [number for number, one in enumerate(lines[: line - 1], 1) if beginning.match(one)]
    if not earlier:
        return ""
    return (
        f"there are two {header[1]} tables, in lines {earlier[0]} and {line}: write the keys of"
        " both below the first"
    )


def _node(value: object, path: Path, whole: Place, keys: Places, values: Places) -> Node:
    node = Node(values.get(path) or keys.get(path) or whole)
    if isinstance(value, dict):
        node.keys = {key: keys.get((*path, key), node.place) for key in value}
        node.entries = {
            key: _node(inner, (*path, key), node.place, keys, values)
            for key, inner in value.items()
        }
    elif isinstance(value, list):
        node.items = [_node(inner, path, node.place, keys, values) for inner in value]
    elif isinstance(value, str | bool | int | float):
        node.scalar = value
        node.text = str(value).lower() if isinstance(value, bool) else str(value)
    else:
        node.scalar = node.text = str(value)  # a date or a time
    return node


def _places(text: str, file: str) -> tuple[Places, Places]:
    """The places of keys and of values by the path of their keys."""
    keys: Places = {}
    values: Places = {}
    table: Path = ()
    for statement in _statements(text, file):
        header = statement[0][0] == "["
        path = () if header else table
        for at, (word, place) in enumerate(statement):
            if word == "=":
                values[path] = statement[at + 1][1]
                break
            if word not in ("[", "]", "."):
                quoted = word.startswith(('"', "'"))
                path = (*path, tomllib.loads(f"k = {word}")["k"] if quoted else word)
                keys.setdefault(path, place)
        table = path if header else table
    return keys, values


def _statements(text: str, file: str) -> Iterator[list[tuple[str, Place]]]:
    """The words of each header, and of each key with its value, which may take several lines."""
    statement: list[tuple[str, Place]] = []
    line, begin, depth = 1, 0, 0
    for match in _TOKEN.finditer(text + "\n"):
        word = match.group()
        if word != "\n" and not word.startswith("#"):
            statement.append((word, Place(file, line, match.start() - begin + 1)))
        elif word == "\n" and depth == 0 and statement:
            yield statement
            statement = []
        depth += (word in ("[", "{")) - (word in ("]", "}"))
        if "\n" in word:
            line += word.count("\n")
            begin = match.start() + word.rindex("\n") + 1

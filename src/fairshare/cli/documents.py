"""Owns the reading of a job file's fields: a form is a table from keys to functions that read their
values, so that one place defines the valid keys and values.

Strings are read verbatim: `on`, `1.10` and `0755` are strings. Does not know the meaning of fields.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from fairshare.config.fields import unknown_word
from fairshare.config.located import Node
from fairshare.config.problems import Place, Problems
from fairshare.config.yaml_tree import read_yaml
from fairshare.documents.booleans import parse_boolean
from fairshare.errors import ConfigurationError

Value = TypeVar("Value")

RULE: Final = "job"


class Document:
    """A file while it is read, with the problems found so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems = Problems()

    def report(self, node: Node | Place, message: str) -> None:
        """Add a problem at a node."""
        place = node.place if isinstance(node, Node) else node
        self.problems.error(place, RULE, message)

    def finish(self) -> None:
        """Raise ConfigurationError with all problems in the order of their lines, if any."""
        self.problems.raise_errors()


Reader = Callable[[Node, Document, str], Any]
"""Reads the value of a node; for an invalid value, reports a problem and returns None."""


def open_document(path: Path) -> tuple[Document, Node]:
    """The document and its root; raises ConfigurationError if it cannot be read at all."""
    document = Document(str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError([f"{path}: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: this is not a text in UTF-8"]) from error
    root = read_yaml(text, str(path), document.problems)
    if root is None:
        raise ConfigurationError(document.problems.all)
    return document, root


def read_fields(
    node: Node, document: Document, where: str, form: Mapping[str, Reader]
) -> dict[str, Any]:
    """The fields of a mapping by key; messages start with `where`.

    Unknown keys are reported, and fields with invalid values are left out.
    """
    if node.entries is None:
        document.report(node, f"{where}: a mapping is needed here, such as `name: value`")
        return {}
    fields: dict[str, Any] = {}
    for key, value in node.entries.items():
        reader = form.get(key)
        if reader is None:
            unknown = unknown_word("key", key, form)
            document.report(node.keys[key], f"{where}: {unknown}")
        else:
            fields[key] = reader(value, document, f"{where}: {key}")
    return {key: value for key, value in fields.items() if value is not None}


def text(node: Node, document: Document, where: str) -> str | None:
    """A scalar, verbatim."""
    if not node.is_scalar:
        document.report(node, f"{where}: one value is needed, not several")
        return None
    if not node.text:
        document.report(node, f"{where}: is empty; leave the key out, or give it a value")
        return None
    return node.text


def texts(node: Node, document: Document, where: str) -> tuple[str, ...] | None:
    """A list of scalars, or a single scalar."""
    if node.items is not None:
        read = [text(each, document, where) for each in node.items]
        return tuple(each for each in read if each is not None)
    one = text(node, document, where)
    return None if one is None else (one,)


def arguments(node: Node, document: Document, where: str) -> tuple[str, ...] | None:
    """A list of scalars; all except the first may be empty."""
    if not node.items:
        document.report(node, f"{where}: a list is needed, such as [sort, -u, names.txt]")
        return None
    if not all(each.is_scalar for each in node.items) or not node.items[0].text:
        document.report(node, f"{where}: each must be one value, the first a program")
        return None
    return tuple(each.text for each in node.items)


def variables(node: Node, document: Document, where: str) -> dict[str, str] | None:
    """A mapping from names to scalars, which may be empty."""
    if node.entries is None:
        document.report(node, f"{where}: a mapping is needed here, such as `NAME: value`")
        return None
    found: dict[str, str] = {}
    for key, value in node.entries.items():
        if value.is_scalar:
            found[key] = value.text
        else:
            document.report(value, f"{where}: {key}: one value is needed, not several")
    return found


def whole(least: int, most: int = 2**31 - 1) -> Reader:
    """Reads a whole number within bounds."""

    def read(node: Node, document: Document, where: str) -> int | None:
        word = node.text if node.is_scalar else ""
        if not re.fullmatch(r"-?[0-9]{1,19}", word) or not least <= int(word) <= most:
            document.report(node, f"{where}: a whole number from {least} to {most} is needed")
            return None
        return int(word)

    return read


def fraction(node: Node, document: Document, where: str) -> float | None:
    """A number from 0 to 1."""
    word = node.text if node.is_scalar else ""
    if not re.fullmatch(r"[0-9]*\.?[0-9]+|[0-9]+\.", word) or float(word) > 1:
        document.report(node, f"{where}: a number from 0 to 1 is needed, such as 0.05")
        return None
    return float(word)


def parsed(parse: Callable[[str], Value]) -> Reader:
    """Reads a scalar with a function whose ValueError says what is wrong."""

    def read(node: Node, document: Document, where: str) -> Value | None:
        word = text(node, document, where)
        if word is None:
            return None
        try:
            return parse(word)
        except ValueError as error:
            document.report(node, f"{where}: {error}")
            return None

    return read


truth = parsed(parse_boolean)
"""Reads a boolean: `true` or `false`."""


def sequence(node: Node, document: Document, where: str) -> list[Node]:
    """The entries of a list."""
    if node.items is None:
        document.report(node, f"{where}: a list is needed here; begin each entry with `- `")
        return []
    return node.items

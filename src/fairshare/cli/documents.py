"""Owns reading YAML with places: every problem of a file is found, each with its line.

A form is a table from a key to a function that reads its value, so the caller says in one place
what may stand where. Texts are taken as they are written: `on`, `1.10` and `0755` stay what they
look like. Knows nothing of jobs.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from fairshare.documents.booleans import parse_boolean
from fairshare.errors import ConfigurationError

Value = TypeVar("Value")


class Problem(msgspec.Struct, frozen=True, order=True):
    """Something wrong in a file: `job.yaml:7: count: ...`."""

    line: int
    message: str
    file: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class Document:
    """A file that is being read, and what was found wrong in it so far."""

    def __init__(self, file: str) -> None:
        self.file = file
        self._problems: list[Problem] = []

    def report(self, node: yaml.Node, message: str) -> None:
        """Remember that something is wrong at a node."""
        self._problems.append(Problem(node.start_mark.line + 1, message, self.file))

    def finish(self) -> None:
        """Raise ConfigurationError with all problems in the order of their lines, if any."""
        if self._problems:
            raise ConfigurationError(sorted(self._problems))


Reader = Callable[[yaml.Node, Document, str], Any]
"""Reads a value at a node; reports to the document what is wrong and then returns None."""


def open_document(path: Path) -> tuple[Document, yaml.Node]:
    """The document and its root; raises ConfigurationError when it cannot be read at all."""
    document = Document(str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError([f"{path}: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        raise ConfigurationError([f"{path}: this is no text in UTF-8"]) from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise ConfigurationError([Problem(line, f"no YAML: {error.problem}", str(path))]) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"no YAML: a character {error.character:#x} is not allowed"
        raise ConfigurationError([Problem(line, message, str(path))]) from error
    if root is None:
        raise ConfigurationError([f"{path}: the file is empty"])
    return document, root


def read_fields(
    node: yaml.Node, document: Document, where: str, form: Mapping[str, Reader]
) -> dict[str, Any]:
    """The fields of a mapping by their keys; `where` begins the messages about it.

    Unknown and repeated keys are reported, and fields whose value is wrong are left out.
    """
    if not isinstance(node, yaml.MappingNode):
        document.report(node, f"{where}: a mapping is needed here, such as `name: value`")
        return {}
    fields: dict[str, Any] = {}
    for key_node, value_node in node.value:
        key = str(key_node.value)
        reader = form.get(key)
        if reader is None:
            near = difflib.get_close_matches(key.replace("_", "-"), form, 1)
            advice = f"did you mean {near[0]}?" if near else f"known are {', '.join(form)}"
            document.report(key_node, f"{where}: unknown key {key!r}; {advice}")
        elif key in fields:
            document.report(key_node, f"{where}: {key} is given twice")
        else:
            fields[key] = reader(value_node, document, f"{where}: {key}")
    return {key: value for key, value in fields.items() if value is not None}


def text(node: yaml.Node, document: Document, where: str) -> str | None:
    """A scalar as it is written."""
    if not isinstance(node, yaml.ScalarNode):
        document.report(node, f"{where}: one value is needed, not several")
        return None
    if not node.value:
        document.report(node, f"{where}: is empty; leave the key out, or give it a value")
        return None
    return str(node.value)


def texts(node: yaml.Node, document: Document, where: str) -> tuple[str, ...] | None:
    """A list of scalars; a single one may stand alone."""
    if isinstance(node, yaml.SequenceNode):
        read = [text(each, document, where) for each in node.value]
        return tuple(each for each in read if each is not None)
    one = text(node, document, where)
    return None if one is None else (one,)


def arguments(node: yaml.Node, document: Document, where: str) -> tuple[str, ...] | None:
    """A list of scalars, of which all but the first may be empty."""
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        document.report(node, f"{where}: a list is needed, such as [sort, -u, names.txt]")
        return None
    scalars = [each for each in node.value if isinstance(each, yaml.ScalarNode)]
    if len(scalars) < len(node.value) or not scalars[0].value:
        document.report(node, f"{where}: each must be one value, the first a program")
        return None
    return tuple(str(each.value) for each in scalars)


def variables(node: yaml.Node, document: Document, where: str) -> dict[str, str] | None:
    """A mapping from names to scalars, which may be empty."""
    if not isinstance(node, yaml.MappingNode):
        document.report(node, f"{where}: a mapping is needed here, such as `NAME: value`")
        return None
    found: dict[str, str] = {}
    for key, value in node.value:
        if isinstance(value, yaml.ScalarNode):
            found[str(key.value)] = str(value.value)
        else:
            document.report(value, f"{where}: {key.value}: one value is needed, not several")
    return found


def whole(least: int, most: int = 2**31 - 1) -> Reader:
    """Reads a whole number within bounds."""

    def read(node: yaml.Node, document: Document, where: str) -> int | None:
        word = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
        if not re.fullmatch(r"-?[0-9]{1,19}", word) or not least <= int(word) <= most:
            document.report(node, f"{where}: a whole number from {least} to {most} is needed")
            return None
        return int(word)

    return read


def fraction(node: yaml.Node, document: Document, where: str) -> float | None:
    """A number from 0 to 1."""
    word = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
    if not re.fullmatch(r"[0-9]*\.?[0-9]+|[0-9]+\.", word) or float(word) > 1:
        document.report(node, f"{where}: a number from 0 to 1 is needed, such as 0.05")
        return None
    return float(word)


def parsed(parse: Callable[[str], Value]) -> Reader:
    """Reads a scalar with a function whose ValueError says what is wrong."""

    def read(node: yaml.Node, document: Document, where: str) -> Value | None:
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
"""Reads a truth value: `true` or `false`."""


def sequence(node: yaml.Node, document: Document, where: str) -> list[yaml.Node]:
    """The entries of a list."""
    if not isinstance(node, yaml.SequenceNode):
        document.report(node, f"{where}: a list is needed here; begin each entry with `- `")
        return []
    return list(node.value)

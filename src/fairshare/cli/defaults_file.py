"""The reading of `~/.config/fairshare/config.toml`: what a user submits with by default."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from fairshare.cli.units import parse_name, parse_notify, parse_variable_name
from fairshare.documents.bounds import NOTICE_EVENTS
from fairshare.documents.located import Node
from fairshare.documents.problems import Problems
from fairshare.documents.sizes import parse_memory_mb
from fairshare.documents.structs import read
from fairshare.documents.toml_tree import read_toml
from fairshare.documents.values import Reader, Value, one_of, one_or_several, parsed, whole


def _read_templates(reader: Reader, node: Node, what: str) -> dict[str, Any]:
    """Tables of options: texts, numbers, true, or lists of texts."""
    templates: dict[str, dict[str, Any]] = {}
    for name, table in reader.entries(node, what).items():
        templates[name] = {}
        for key, value in reader.entries(table, f"{what}.{name}").items():
            items = [value] if value.items is None else value.items
            if not items or any(not one.is_scalar or one.scalar is False for one in items):
                reader.wrong(
                    value.place, f"{key} must be a text, a number, true, or a list of texts"
                )
            templates[name][key] = value.plain
    return templates


class _UserDefaults(msgspec.Struct, frozen=True, rename={"notify_on": "notify-on"}):
    queue: Annotated[str | None, parsed(parse_name)] = None
    memory: Annotated[int | None, parsed(parse_memory_mb)] = None
    vcores: Annotated[int | None, whole(1, 2**31 - 1)] = None
    export: Annotated[tuple[str, ...], one_or_several(parsed(parse_variable_name), "")] = ()
    notify: Annotated[tuple[str, ...], one_or_several(parsed(parse_notify), "")] = ()
    notify_on: Annotated[tuple[str, ...], one_or_several(one_of(NOTICE_EVENTS), "")] = ()
    template: Annotated[dict[str, Any], Value({"type": "object"}, "", _read_templates)] = {}


def read_defaults(content: bytes, path: Path) -> dict[str, Any]:
    """The options by their fields; `exported` are variables that come along beside others, and
    `template` has tables of options. Raises ConfigurationError with every problem."""
    problems = Problems()
    root = read_toml(content, str(path), problems)
    defaults = read(root, _UserDefaults, Reader(problems, "defaults", untyped=True))
    problems.raise_errors()
    assert defaults is not None
    said = {name: value for name, value in msgspec.structs.asdict(defaults).items() if value}
    names = said.pop("export", ())
    if names and names[0] in ("all", "none"):
        said["export"] = names[0]
    elif names:
        said["exported"] = names
    return said

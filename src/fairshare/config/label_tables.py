"""Owns the tables of fairshare.toml about node labels: which there are, and where nodes belong.

    [labels]
    gpu = "exclusive"     # only asks for gpu run there
    spot = "shared"       # what is idle there serves asks for the default partition too

    [node_labels]
    "local-2" = "gpu"

Administrators add further ones while the server runs (Hadoop: RMNodeLabelsManager).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

LABELS: Final = "labels"
NODES: Final = "node_labels"
SECTIONS: Final = (LABELS, NODES)

_KINDS: Final = {"exclusive": True, "shared": False}


class LabelTables(msgspec.Struct, frozen=True):
    """Labels by name, whether each is exclusive; and the labels of nodes."""

    labels: dict[str, bool] = {}
    nodes: dict[str, str] = {}


def read_label_tables(
    tables: Mapping[str, Any], report: Callable[[str, str, str], None]
) -> LabelTables:
    """Read both; `report` takes the table, the key and the message of what is wrong."""
    labels: dict[str, bool] = {}
    for name, kind in _table(tables, LABELS, report).items():
        if kind in _KINDS:
            labels[name] = _KINDS[kind]
        else:
            report(LABELS, name, f'label {name} is "exclusive" or "shared", not {kind!r}')
    nodes: dict[str, str] = {}
    for node, label in _table(tables, NODES, report).items():
        if label in labels:
            nodes[node] = label
        else:
            known = ", ".join(labels) or "none"
            report(NODES, node, f"there is no label {label!r}: [{LABELS}] has {known}")
    return LabelTables(labels, nodes)


def _table(
    tables: Mapping[str, Any], name: str, report: Callable[[str, str, str], None]
) -> Mapping[str, Any]:
    found = tables.get(name, {})
    if isinstance(found, dict):
        return found
    report(name, "", f"[{name}] must be a table")
    return {}

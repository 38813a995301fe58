"""Owns the tables of fairshare.toml about node labels: which there are, and where nodes belong.

    [labels]
    gpu = "exclusive"     # only asks for gpu run there
    spot = "shared"       # what is idle there serves asks for the default partition too

    [node_labels]
    "local-2" = "gpu"

Administrators add further ones while the server runs (Hadoop: RMNodeLabelsManager).
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairshare.config.fields import Fields
from fairshare.config.located import Node
from fairshare.config.problems import Problems

LABELS: Final = "labels"
NODES: Final = "node_labels"
SECTIONS: Final = (LABELS, NODES)

_KINDS: Final = {"exclusive": True, "shared": False}


class LabelTables(msgspec.Struct, frozen=True):
    """Labels by name, whether each is exclusive; and the labels of nodes."""

    labels: dict[str, bool] = {}
    nodes: dict[str, str] = {}


def read_label_tables(tables: Mapping[str, Node], problems: Problems, rule: str) -> LabelTables:
    """Read both."""
    found = {
        name: Fields(tables[name], name, problems, rule) for name in SECTIONS if name in tables
    }
    labels: dict[str, bool] = {}
    nodes: dict[str, str] = {}
    if fields := found.get(LABELS):
        for name, node in fields.entries.items():
            kind = fields.word_of(node, f"{LABELS}.{name}", _KINDS)
            if kind in _KINDS:
                labels[name] = _KINDS[kind]
    if fields := found.get(NODES):
        for name, node in fields.entries.items():
            if node.text in labels:
                nodes[name] = node.text
            else:
                known = ", ".join(labels) or "none"
                message = f"there is no label {node.text!r}: [{LABELS}] has {known}"
                fields.wrong(node.place, message)
    return LabelTables(labels, nodes)

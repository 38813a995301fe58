"""Owns what the assignment of GPUs means for the properties of a configuration: their resource type
is declared, whether resource-types.xml does it or not. Knows no device.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from fairshare.config.located import Node
from fairshare.config.problems import Problems
from fairshare.config.resource_types import RESOURCE_TYPES
from fairshare.config.site import Site
from fairshare.documents.gpus import GPU, GpuSetting, wrong_gpus

Documents = Sequence[tuple[str, bytes]]


def gpus_of(root: Node) -> GpuSetting:
    """The setting in a fairshare.toml; `none` if it has none, or none that can be used, which the
    reader of the whole file reports."""
    engine = (root.entries or {}).get("engine")
    node = (engine.entries or {}).get("gpus") if engine else None
    value: Any = node.plain if node else "none"
    if wrong_gpus(value):
        return "none"
    return tuple(value) if isinstance(value, list) else value


def with_gpu_type(
    documents: Documents, site: Site, defaults: Mapping[str, str], file: str
) -> list[tuple[str, bytes]]:
    """Documents of properties with the type of GPUs, and before them the scheduler's `defaults`,
    without which it has no further types. `site` is what the documents say."""
    names = site.strings(RESOURCE_TYPES, Problems())
    found = [(file, _document(defaults)), *documents] if defaults else [*documents]
    if GPU not in names:
        found.append((file, _document({RESOURCE_TYPES: ",".join((*names, GPU))})))
    return found


def _document(properties: Mapping[str, str]) -> bytes:
    lines = (
        f"<property><name>{name}</name><value>{escape(value)}</value></property>"
        for name, value in properties.items()
    )
    return f"<configuration>{''.join(lines)}</configuration>".encode()

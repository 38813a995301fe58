"""The parsing of the ResourceManager's JSON, in both of its dialects.

Older paths write numbers as strings and a list with one item as that item, and maps repeat the key
`entry` (Hadoop: JAXBContextResolver). This module returns lists, mappings and integers.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

Fields = dict[str, Any]


def decoded(content: bytes) -> Any:
    """Parse a document; the values of a repeated key become a list. Raises ValueError."""
    return json.loads(content, object_pairs_hook=_object)


def _object(pairs: Sequence[tuple[str, Any]]) -> Fields:
    """
    >>> _object([("entry", 1), ("entry", 2), ("name", 3)])
    {'entry': [1, 2], 'name': 3}
    """
    found: Fields = {}
    seen: dict[str, int] = {}
    for key, value in pairs:
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            found[key] = value
        elif seen[key] == 2:
            found[key] = [found[key], value]
        else:
            found[key].append(value)
    return found


def items(document: Any, *path: str) -> list[Any]:
    """The list at the end of a path; [] if it is missing, a single item as a list.

    >>> items({"apps": {"app": {"id": "a"}}}, "apps", "app"), items({"apps": {}}, "apps", "app")
    ([{'id': 'a'}], [])
    """
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    if document is None or document == "":
        return []
    return document if isinstance(document, list) else [document]


def whole(value: Any, default: int = 0) -> int:
    """An integer, also from a string.

    >>> whole("1536"), whole(None), whole(2.0)
    (1536, 0, 2)
    """
    try:
        return int(float(value)) if isinstance(value, float) else int(value)
    except (TypeError, ValueError):
        return default


def entries(document: Any) -> Mapping[str, str]:
    """A map of a document: `{"entry": [{"key": k, "value": v}]}`.

    >>> entries({"entry": [{"key": "vcores", "value": "2"}]})
    {'vcores': '2'}
    """
    return {one["key"]: one["value"] for one in items(document, "entry")}


def number_of(identifier: str) -> tuple[int, ...]:
    """The sort key of identifiers: the numbers in them.

    >>> sorted(["application_1_10000", "application_1_0009"], key=number_of)
    ['application_1_0009', 'application_1_10000']
    """
    return tuple(int(part) for part in identifier.split("_") if part.isdigit())

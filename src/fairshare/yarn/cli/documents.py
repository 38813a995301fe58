"""The ResourceManager's JSON, and how YARN's commands print what it says.

Older paths write numbers as strings and a list with one item as that item, and maps repeat the key
`entry` (Hadoop: JAXBContextResolver): here they become lists, mappings and integers. What is
printed has columns, and Java's formats of numbers and dates.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from fairshare.wording import plain

Fields = dict[str, Any]


def decoded(content: bytes) -> Any:
    """Parse a document; the values of a repeated key become a list. Raises ValueError."""
    return json.loads(content, object_pairs_hook=_object)


def _object(pairs: Sequence[tuple[str, Any]]) -> Fields:
    """
    >>> _object([("entry", 1), ("entry", 2), ("name", 3)])
    {'entry': [1, 2], 'name': 3}
    """
    fields: Fields = {}
    seen: dict[str, int] = {}
    for key, value in pairs:
        seen[key] = seen.get(key, 0) + 1
        if seen[key] == 1:
            fields[key] = value
        elif seen[key] == 2:
            fields[key] = [fields[key], value]
        else:
            fields[key].append(value)
    return fields


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


def entries(document: object) -> Mapping[str, str]:
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


NOT_THERE = "N/A"
_CENT = Decimal("0.01")


def columns(widths: Sequence[int], values: Sequence[object]) -> str:
    """One line of a list: right-aligned columns, separated by tabs.

    >>> columns((4, 6), ("a", 12))
    '   a\\t    12'
    """
    cells = (plain(str(value)) for value in values)
    return "\t".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True))


def percentage(value: float) -> str:
    """A percentage with up to two decimals (`###.##%`).

    >>> percentage(33.333332), percentage(5.0), percentage(0.0), percentage(12.125)
    ('33.33%', '5%', '0%', '12.12%')
    """
    text = f"{_rounded(value)}".rstrip("0").rstrip(".")
    return f"{text or '0'}%"


def two_decimals(value: float, *, zero: bool = False) -> str:
    """A number with two decimals; with `zero`, a 0 precedes the point (`#.00` without).

    >>> two_decimals(0.0), two_decimals(75.0), two_decimals(-1.0), two_decimals(0.5, zero=True)
    ('.00', '75.00', '-1.00', '0.50')
    """
    text = f"{_rounded(value)}"
    if not zero and text.lstrip("-").startswith("0."):
        text = text.replace("0.", ".", 1)
    return text


def _rounded(value: float) -> Decimal:
    return Decimal(value).quantize(_CENT, ROUND_HALF_EVEN)


def long_date(instant_ms: int) -> str:
    """An instant in the format of container lists; `N/A` if it is not set.

    >>> long_date(0)
    'N/A'
    """
    return NOT_THERE if instant_ms <= 0 else f"{_local(instant_ms):%a %b %d %H:%M:%S %z %Y}"


def health_date(instant_ms: int) -> str:
    """An instant in the format of node reports: day first, twelve hours, milliseconds."""
    instant = _local(instant_ms)
    return f"{instant:%a %d/%b/%y %I:%M:%S}:{instant.microsecond // 1000:02d}{instant:%Z}"


def iso_date(instant_ms: int) -> str:
    """An instant in the format of timeouts, in the local time zone.

    For example `2031-02-03T04:05:06.789+0000`.
    """
    instant = _local(instant_ms)
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03d}{instant:%z}"


def _local(instant_ms: int) -> datetime:
    seconds, milliseconds = divmod(instant_ms, 1000)
    instant = datetime.fromtimestamp(seconds, UTC).astimezone()
    return instant.replace(microsecond=milliseconds * 1000)


def resource_text(resource: Mapping[str, Any]) -> str:
    """A resource of a document: `<memory:8192, vCores:8>`, with further types that are not 0.

    >>> resource_text({"memory": 8192, "vCores": 8})
    '<memory:8192, vCores:8>'
    """
    parts = [f"memory:{resource.get('memory', 0)}", f"vCores:{resource.get('vCores', 0)}"]
    infos = resource.get("resourceInformations") or {}
    for one in infos.get("resourceInformation", [])[2:]:
        if one["value"]:
            parts.append(f"{one['name']}: {one['value']}{one.get('units') or ''}")
    return f"<{', '.join(parts)}>"


def boxed_table(title: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table with borders and centred cells.

    >>> print(boxed_table("1 row", ["Name", "State"], [["a", "RUNNING"]]))
    +----------------+
    |     1 row      |
    +------+---------+
    | Name |  State  |
    +------+---------+
    |  a   | RUNNING |
    +------+---------+
    """
    lines = [list(headers), *([plain(str(cell)) for cell in row] for row in rows)]
    widths = [max(len(line[number]) for line in lines) for number in range(len(headers))]
    inner = sum(widths) + 3 * (len(widths) - 1)
    border = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    made = ["+" + "-" * (inner + 2) + "+", f"|{_middle(title[:inner], inner + 2)}|", border]
    made += [_boxed(lines[0], widths), border]
    made += [_boxed(line, widths) for line in lines[1:]]
    return "\n".join([*made, border] if rows else made)


def _boxed(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "|" + "|".join(_middle(c, w + 2) for c, w in zip(cells, widths, strict=True)) + "|"


def _middle(text: str, width: int) -> str:
    return text.rjust(len(text) + (width - len(text)) // 2).ljust(width)

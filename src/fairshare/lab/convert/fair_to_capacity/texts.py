"""The texts that come out: numbers and amounts as the files and findings write them, properties as
Hadoop's XML, other files as they were.

Opens no file.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Final

from fairshare.core.model.resources import MEMORY, UNBOUNDED, Resource, ResourceTypes
from fairshare.core.schedulers.fair.settings import Amount
from fairshare.documents import literals
from fairshare.documents.xml import escaped
from fairshare.lab.convert.fair_to_capacity.source import Source
from fairshare.settings.directory import SITE_FILES
from fairshare.settings.shell import FILE as SHELL_FILE
from fairshare.settings.site import Property


def number(value: float) -> str:
    """The shortest text of a number of 32 bits: `number(0.20000000298023224) == '0.2'`."""
    for digits in range(1, 18):
        text = f"{value:.{digits}g}"
        if literals.to_single(float(text)) == value:
            return text
    raise ValueError(f"{value!r} is not a number of 32 bits")


def plain_number(value: float) -> str:
    """A number of 32 bits without an exponent: `plain_number(10000.0) == '10000'`."""
    return f"{Decimal(number(value)):f}"


def percent_text(fraction: float) -> str:
    """A part of 1 as a percentage with at most six decimals: `percent_text(1 / 3) == '33.333333'`.

    What is more than nothing never becomes 0.
    """
    text = f"{max(fraction * 100, 0.000001 if fraction > 0 else 0):.6f}"
    return text.rstrip("0").rstrip(".")


def type_key(name: str) -> str:
    """What a resource type is called in brackets: memory-mb is `memory` there."""
    return "memory" if name == MEMORY else name


def vector_text(types: ResourceTypes, amounts: Resource) -> str:
    """`[memory=4096,vcores=4]`."""
    pairs = zip(types.names, amounts, strict=True)
    return "[" + ",".join(f"{type_key(name)}={amount}" for name, amount in pairs) + "]"


def resource_text(types: ResourceTypes, amounts: Resource) -> str:
    """For people: `4 GB, 2 vcores`; types without any, or without bound, are left out."""
    parts = []
    for name, amount in zip(types.names, amounts, strict=True):
        if 0 < amount < UNBOUNDED:
            parts.append(_memory(amount) if name == MEMORY else f"{amount} {name}")
    return ", ".join(parts) or "nothing"


def amount_text(types: ResourceTypes, amount: Amount) -> str:
    """For people, also of parts of the cluster: `50% memory-mb, 25% vcores`."""
    if amount.absolute is not None:
        if all(part >= UNBOUNDED for part in amount.absolute):
            return "no limit"
        bounds = zip(types.names, amount.absolute, strict=True)
        limited = [(n, x) for n, x in bounds if x < UNBOUNDED]
        return ", ".join(_memory(x) if n == MEMORY else f"{x} {n}" for n, x in limited)
    fractions = amount.fractions or ()
    if len(set(fractions)) == 1:
        return f"{percent_text(fractions[0])}%"
    pairs = zip(types.names, fractions, strict=True)
    return ", ".join(f"{percent_text(fraction)}% {name}" for name, fraction in pairs)


def _memory(mb: int) -> str:
    return f"{mb // 1024} GB" if mb and mb % 1024 == 0 else f"{mb} MB"


YARN_SITE: Final = "yarn-site.xml"

_HEAD: Final = '<?xml version="1.0" encoding="UTF-8"?>\n<configuration>\n'
_TAIL: Final = "</configuration>\n"


def capacity_text(properties: Mapping[str, str]) -> bytes:
    """capacity-scheduler.xml: what concerns all queues first, then each queue's own together."""
    everywhere = {n: v for n, v in properties.items() if not n.startswith(_QUEUES)}
    queues: dict[str, list[tuple[str, str]]] = {}
    for name, value in properties.items():
        if name not in everywhere:
            queues.setdefault(_owner(name, properties), []).append((name, value))
    found = [*everywhere.items(), *(pair for own in queues.values() for pair in own)]
    return (_HEAD + "".join(_property(n, v) for n, v in found) + _TAIL).encode()


_QUEUES: Final = "yarn.scheduler.capacity.root."


def _owner(name: str, properties: Mapping[str, str]) -> str:
    """The queue of a property: the longest beginning that has a capacity, else root."""
    path = name
    while path.startswith(_QUEUES):
        path = path.rpartition(".")[0]
        if f"{path}.capacity" in properties:
            return path
    return _QUEUES.rstrip(".")


def companion_files(source: Source, changes: Mapping[str, str | None]) -> dict[str, bytes]:
    """yarn-site.xml with changed properties, and the other files of the directory.

    A file of which no property changes stays as it is, to the byte. What a file has included
    is in yarn-site.xml.
    """
    by_file: dict[str, list[Property]] = {YARN_SITE: []}
    for found in source.site:
        file = PurePath(found.place.file).name
        by_file.setdefault(file if file in SITE_FILES else YARN_SITE, []).append(found)
    files: dict[str, bytes] = {}
    set_already: set[str] = set()
    for file, properties in by_file.items():
        touched = [setting.name for setting in properties if setting.name in changes]
        if file != YARN_SITE and not touched:
            continue
        lines = []
        for setting in properties:
            value = changes.get(setting.name, setting.value)
            if value is not None:
                lines.append(_property(setting.name, value, final=setting.final))
        set_already.update(touched)
        files[file] = (_HEAD + "".join(lines) + _TAIL).encode()
    more = [(n, v) for n, v in changes.items() if v is not None and n not in set_already]
    added = "".join(_property(name, value) for name, value in more)
    files[YARN_SITE] = files[YARN_SITE].removesuffix(_TAIL.encode()) + (added + _TAIL).encode()
    for name, document in source.documents.items():
        if name not in files and name in (*SITE_FILES, SHELL_FILE):
            files[name] = document
    return files


def as_text(files: Mapping[str, bytes], names: Iterable[str]) -> str:
    """Several files one below the other, each under its name."""
    parts = [f"<!-- {name} -->\n{files[name].decode()}" for name in names if name in files]
    return "\n".join(parts)


def _property(name: str, value: str, *, final: bool = False) -> str:
    mark = "<final>true</final>" if final else ""
    # Between tags quotation marks need no escape, so that JSON stays readable.
    text = escaped(value).replace("&quot;", '"')
    return (
        f"  <property>\n    <name>{escaped(name)}</name>\n"
        f"    <value>{text}</value>\n" + (f"    {mark}\n" if mark else "") + "  </property>\n"
    )

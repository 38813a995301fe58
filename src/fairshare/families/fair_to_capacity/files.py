"""Owns the text of the files that come out: properties as Hadoop's XML, other files as they were.

Opens no file.
"""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Final

from fairshare.config.site import Property
from fairshare.config.xml import escaped
from fairshare.families.directory import SITE_FILES
from fairshare.families.fair_to_capacity.source import SHELL_FILE, Source

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
        touched = [one.name for one in properties if one.name in changes]
        if file != YARN_SITE and not touched:
            continue
        lines = []
        for one in properties:
            value = changes.get(one.name, one.value)
            if value is not None:
                lines.append(_property(one.name, value, final=one.final))
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
    return (
        f"  <property>\n    <name>{escaped(name)}</name>\n"
        f"    <value>{_text(value)}</value>\n"
        + (f"    {mark}\n" if mark else "")
        + "  </property>\n"
    )


def _text(value: str) -> str:
    """A text between tags, where quotation marks need no escape, so that JSON stays readable."""
    return escaped(value).replace("&quot;", '"')

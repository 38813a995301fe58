"""Documents that change a scheduler's configuration (Hadoop's `scheduler-conf`).

A document, JSON or XML, is read to an `Update` (Hadoop: MutableCSConfigurationProvider). Knows
neither who sent it nor the resulting properties, which are for
`SchedulerFamily.updated_properties`.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from fairshare.documents import literals
from fairshare.documents.problems import Problems
from fairshare.documents.xml import parse, plain
from fairshare.errors import InputError
from fairshare.settings.configuration import Entry

WRAPPER: Final = "sched-conf"
_REMOVE, _ADD, _UPDATE, _GLOBAL = "remove-queue", "add-queue", "update-queue", "global-updates"
_KNOWN: Final = (_REMOVE, _ADD, _UPDATE, _GLOBAL)
_FEDERATION: Final = "subClusterId"
BAD_UPDATE: Final = "bad-update"


class QueueChange(msgspec.Struct, frozen=True):
    """What becomes of one queue's properties; names are relative: `capacity`."""

    queue: str
    entries: tuple[Entry, ...] = ()


class Update(msgspec.Struct, frozen=True):
    """One document. It is applied in the order remove, add, update, globals. An empty value removes
    the property.

    `ignored` are keys of the document that mean nothing; Hadoop passes over them in silence.
    """

    remove: tuple[str, ...] = ()
    add: tuple[QueueChange, ...] = ()
    update: tuple[QueueChange, ...] = ()
    globals: tuple[Entry, ...] = ()
    ignored: tuple[str, ...] = ()

    @property
    def queues(self) -> tuple[str, ...]:
        """All queues that it names, each once."""
        changed = [change.queue for change in (*self.add, *self.update)]
        return tuple(dict.fromkeys([*self.remove, *changed]))


def read_json(document: str | bytes) -> Update:
    """An update from JSON; raises InputError (`bad-update`).

    >>> read_json('{"remove-queue": "root.a"}').remove
    ('root.a',)
    """
    try:
        update = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise InputError(BAD_UPDATE, f"the update is not JSON: {error}") from error
    if not isinstance(update, dict):
        raise InputError(BAD_UPDATE, 'the update must be an object such as {"update-queue": [...]}')
    if set(update) == {WRAPPER} and isinstance(update[WRAPPER], dict):
        update = update[WRAPPER]
    return _read(update)


def read_xml(document: str | bytes) -> Update:
    """An update from XML (`<sched-conf>`); raises InputError (`bad-update`)."""
    problems = Problems()
    top = parse(document, "the update", problems)
    if top is None:
        raise InputError(BAD_UPDATE, str(problems.all[0]))
    if top.name != WRAPPER:
        message = f"the update's top element is <{top.name}>, it must be <{WRAPPER}>"
        raise InputError(BAD_UPDATE, message)
    found = plain(top)
    return _read(found if isinstance(found, dict) else {})


def _read(document: Mapping[str, object]) -> Update:
    removed = [_text(element, _REMOVE) for element in _listed(document.get(_REMOVE))]
    globals_ = [
        entry for element in _listed(document.get(_GLOBAL)) for entry in _entries(element, _GLOBAL)
    ]
    return Update(
        remove=tuple(removed),
        add=tuple(_change(element, _ADD) for element in _listed(document.get(_ADD))),
        update=tuple(_change(element, _UPDATE) for element in _listed(document.get(_UPDATE))),
        globals=tuple(globals_),
        ignored=tuple(key for key in document if key not in (*_KNOWN, _FEDERATION)),
    )


def _listed(value: object) -> list[Any]:
    """A list; a single value counts as a list of one, an absent one as an empty list."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def _text(value: object, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        raise InputError(BAD_UPDATE, f"{where}: {json.dumps(value)} must be a text")
    return literals.trim(value)


def _change(value: object, where: str) -> QueueChange:
    if not isinstance(value, dict) or not value.get("queue-name"):
        raise InputError(BAD_UPDATE, f"{where}: queue-name is missing in {json.dumps(value)}")
    name = _text(value["queue-name"], f"{where}: queue-name")
    params = value.get("params")
    return QueueChange(name, () if params is None else tuple(_entries(params, f"{where} {name}")))


def _entries(value: object, where: str) -> Iterable[Entry]:
    """The pairs of `{"entry": [{"key": ..., "value": ...}]}`."""
    if value == "":
        return
    if not isinstance(value, dict):
        raise InputError(BAD_UPDATE, f'{where}: it must be of the form {{"entry": [...]}}')
    for entry in _listed(value.get("entry")):
        if not isinstance(entry, dict) or not entry.get("key"):
            raise InputError(BAD_UPDATE, f"{where}: key is missing in {json.dumps(entry)}")
        written = entry.get("value")
        text = "" if written is None else _text(written, f"{where}: {entry['key']}")
        yield _text(entry["key"], f"{where}: key"), text

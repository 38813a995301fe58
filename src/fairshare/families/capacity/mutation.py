"""Owns changes of the Capacity Scheduler's configuration by document (Hadoop's `scheduler-conf`).

A document is read to an `Update`, and an update makes new properties out of old ones: a pure
function. Knows neither who asked for it nor what the scheduler says to the result
(spec/rest.md 1.8.21).
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from fairshare.config import literals
from fairshare.config.problems import Problems
from fairshare.config.xml import Element, parse
from fairshare.errors import InputError
from fairshare.families.capacity.names import PREFIX
from fairshare.model.queues import ROOT, parent_name

Entry = tuple[str, str]
"""Name and value; an empty value takes the property away."""

WRAPPER: Final = "sched-conf"
_REMOVE, _ADD, _UPDATE, _GLOBAL = "remove-queue", "add-queue", "update-queue", "global-updates"
_KNOWN: Final = (_REMOVE, _ADD, _UPDATE, _GLOBAL)
_FEDERATION: Final = "subClusterId"
_BAD: Final = "bad-update"


class QueueChange(msgspec.Struct, frozen=True):
    """What becomes of one queue's properties; names are relative: `capacity`."""

    queue: str
    entries: tuple[Entry, ...] = ()


class Update(msgspec.Struct, frozen=True):
    """One document. It is applied in the order remove, add, update, globals.

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
        found = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise InputError(_BAD, f"the update is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise InputError(_BAD, 'the update must be an object such as {"update-queue": [...]}')
    if set(found) == {WRAPPER} and isinstance(found[WRAPPER], dict):
        found = found[WRAPPER]
    return _read(found)


def read_xml(document: str | bytes) -> Update:
    """An update from XML (`<sched-conf>`); raises InputError (`bad-update`)."""
    problems = Problems()
    top = parse(document, "the update", problems)
    if top is None:
        raise InputError(_BAD, str(problems.all[0]))
    if top.name != WRAPPER:
        message = f"the update's top element is <{top.name}>, it must be <{WRAPPER}>"
        raise InputError(_BAD, message)
    found = _plain(top)
    return _read(found if isinstance(found, dict) else {})


def _plain(element: Element) -> Any:
    """An element as its JSON form: what stands there more than once is a list."""
    if not element.children:
        return element.text
    found: dict[str, Any] = {}
    for child in element.children:
        value = _plain(child)
        if child.name not in found:
            found[child.name] = value
        elif isinstance(found[child.name], list):
            found[child.name].append(value)
        else:
            found[child.name] = [found[child.name], value]
    return found


def _read(found: dict[str, Any]) -> Update:
    removed = [_text(one, _REMOVE) for one in _listed(found.get(_REMOVE))]
    globals_ = [entry for one in _listed(found.get(_GLOBAL)) for entry in _entries(one, _GLOBAL)]
    return Update(
        remove=tuple(removed),
        add=tuple(_change(one, _ADD) for one in _listed(found.get(_ADD))),
        update=tuple(_change(one, _UPDATE) for one in _listed(found.get(_UPDATE))),
        globals=tuple(globals_),
        ignored=tuple(key for key in found if key not in (*_KNOWN, _FEDERATION)),
    )


def _listed(value: Any) -> list[Any]:
    """A list; one thing alone stands for a list of it, and nothing for none."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def _text(value: Any, where: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return json.dumps(value)
    if not isinstance(value, str):
        raise InputError(_BAD, f"{where}: {json.dumps(value)} must be a text")
    return literals.trim(value)


def _change(value: Any, where: str) -> QueueChange:
    if not isinstance(value, dict) or not value.get("queue-name"):
        raise InputError(_BAD, f"{where}: queue-name is missing in {json.dumps(value)}")
    name = _text(value["queue-name"], f"{where}: queue-name")
    params = value.get("params")
    return QueueChange(name, () if params is None else tuple(_entries(params, f"{where} {name}")))


def _entries(value: Any, where: str) -> Iterable[Entry]:
    """The pairs of `{"entry": [{"key": ..., "value": ...}]}`."""
    if value == "":
        return
    if not isinstance(value, dict):
        raise InputError(_BAD, f'{where}: it must be of the form {{"entry": [...]}}')
    for one in _listed(value.get("entry")):
        if not isinstance(one, dict) or not one.get("key"):
            raise InputError(_BAD, f"{where}: key is missing in {json.dumps(one)}")
        written = one.get("value")
        text = "" if written is None else _text(written, f"{where}: {one['key']}")
        yield _text(one["key"], f"{where}: key"), text


def apply_update(properties: Mapping[str, str], update: Update) -> dict[str, str]:
    """The properties after an update, in their order; raises InputError (`bad-update`).

    Whether the result makes sense as a whole is not asked here.

    >>> old = {"yarn.scheduler.capacity.root.queues": "a"}
    >>> apply_update(old, read_json('{"add-queue": {"queue-name": "root.b"}}'))
    {'yarn.scheduler.capacity.root.queues': 'a,b'}
    """
    found = dict(properties)
    for queue in update.remove:
        _remove(found, queue)
    for change in update.add:
        _add(found, change)
    for change in update.update:
        _put(found, f"{PREFIX}{change.queue}.", change.entries)
    _put(found, "", update.globals)
    return found


def _remove(properties: dict[str, str], queue: str) -> None:
    """Take a queue and all below it out, whatever is written of them."""
    if not _is_below_root(queue):
        raise InputError(_BAD, f"Can't remove queue {queue}")
    siblings = _children(properties, parent_name(queue))
    name = queue.rpartition(".")[2]
    if name not in siblings:
        raise InputError(_BAD, f"Queue {queue} not found")
    _set_children(properties, parent_name(queue), [one for one in siblings if one != name])
    for key in [key for key in properties if key.startswith(f"{PREFIX}{queue}.")]:
        del properties[key]


def _add(properties: dict[str, str], change: QueueChange) -> None:
    queue = change.queue
    if not _is_below_root(queue):
        raise InputError(_BAD, f"Can't add invalid queue {queue}")
    parent = parent_name(queue)
    siblings = _children(properties, parent)
    name = queue.rpartition(".")[2]
    if name in siblings:
        raise InputError(_BAD, f"Can't add existing queue {queue}")
    _set_children(properties, parent, [*siblings, name])
    _put(properties, f"{PREFIX}{queue}.", change.entries)
    if not siblings:
        # The parent was a leaf so far: a leaf's ordering policy means nothing to a parent.
        properties.pop(f"{PREFIX}{parent}.ordering-policy", None)


def _put(properties: dict[str, str], prefix: str, entries: Iterable[Entry]) -> None:
    for name, value in entries:
        if value:
            properties[prefix + name] = value
        else:
            properties.pop(prefix + name, None)


def _is_below_root(queue: str) -> bool:
    """Whether a text is a full path of a queue other than root."""
    parts = queue.split(".")
    return len(parts) > 1 and parts[0] == ROOT and all(parts)


def _children(properties: Mapping[str, str], parent: str) -> list[str]:
    written = properties.get(f"{PREFIX}{parent}.queues", "")
    return [name for part in written.split(",") if (name := literals.trim(part))]


def _set_children(properties: dict[str, str], parent: str, names: list[str]) -> None:
    key = f"{PREFIX}{parent}.queues"
    if names:
        properties[key] = ",".join(names)
    else:
        properties.pop(key, None)

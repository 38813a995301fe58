"""Recorded runs: scenarios with what the oracle made of them, small enough to be kept.

One line of JSON for each scenario, the whole file packed with xz. Of a record only what
`comparison.py` looks at is kept, and of a state only what differs from the step before: the rest
would be two hundred times as large.
"""

import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from conformance.comparison import COMPARED, NOT_COMPARED
from conformance.oracle import Document

Values = dict[tuple[str, ...], Any]
State = dict[str, dict[str, dict[str, Any]]]


class Recording(NamedTuple):
    """A scenario, and the oracle's record of it."""

    name: str
    document: Document
    record: dict[str, Any]


def write(path: Path, recordings: Iterable[Recording]) -> None:
    """Write recordings to a file; the same recordings give the same bytes."""
    written = []
    for recording in recordings:
        packed = recording._replace(record=_packed(recording.record))._asdict()
        written.append(json.dumps(packed, sort_keys=True, separators=(",", ":")) + "\n")
    path.write_bytes(lzma.compress("".join(written).encode(), preset=9 | lzma.PRESET_EXTREME))


def lines(path: Path) -> list[str]:
    """The recordings of a file as they are written."""
    return lzma.decompress(path.read_bytes()).decode().splitlines()


def read(path: Path, part: int = 0, of: int = 1) -> Iterator[Recording]:
    """The recordings of a file, or one of so many parts of them."""
    for line in lines(path)[part::of]:
        recording = Recording(**json.loads(line))
        yield recording._replace(record=_unpacked(recording.record))


def _packed(record: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in record:
        return {"error": True}
    steps = []
    before: Values = {}
    for step in record["steps"]:
        packed = {"kind": step["kind"]}
        packed |= {key: True for key in ("error", "unsupported") if key in step}
        if "events" in step:
            packed["events"] = [
                {key: value for key, value in event.items() if key not in NOT_COMPARED}
                for event in step["events"]
            ]
        values = _values(step["state"])
        new = {
            place: value
            for place, value in values.items()
            if place not in before or before[place] != value
        }
        packed["values"] = [[*place, new[place]] for place in sorted(new)]
        packed["gone"] = sorted(before.keys() - values.keys())
        before = values
        steps.append(packed)
    return {"steps": steps}


def _values(state: Mapping[str, Any]) -> Values:
    """The compared values of a state by their places: part, name, key."""
    return {
        (part, name, key): thing[key]
        for part, keys in COMPARED.items()
        for name, thing in state[part].items()
        for key in keys
        if key in thing
    }


def _unpacked(record: Mapping[str, Any]) -> dict[str, Any]:
    if "error" in record:
        return dict(record)
    steps = []
    state: State = {part: {} for part in COMPARED}
    for number, packed in enumerate(record["steps"]):
        step = dict(packed)
        state = _changed(state, step.pop("gone"), step.pop("values"))
        steps.append({**step, "step": number, "state": state})
    return {"steps": steps}


def _changed(state: State, gone: Iterable[list[str]], values: Iterable[list[Any]]) -> State:
    """The state after a step. What has not changed is the same object, which saves comparing it."""
    after = {part: dict(things) for part, things in state.items()}
    own: dict[tuple[str, str], dict[str, Any]] = {}

    def changing(part: str, name: str) -> dict[str, Any]:
        if (part, name) not in own:
            own[part, name] = after[part][name] = dict(after[part].get(name, {}))
        return own[part, name]

    for part, name, key in gone:
        del changing(part, name)[key]
    for part, name, key, value in values:
        changing(part, name)[key] = value
    for (part, name), thing in own.items():
        if not thing:
            del after[part][name]
    return after

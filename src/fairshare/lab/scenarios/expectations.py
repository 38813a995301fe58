"""The form of `expect`: which things and keys can be checked. Compares nothing."""

from collections.abc import Mapping
from typing import Any, Final

from fairshare.core.model.resources import MEMORY
from fairshare.documents.located import Node
from fairshare.documents.values import Reader, unknown_word
from fairshare.lab.scenarios.description import (
    APPLICATION,
    APPLICATION_OF_QUEUE,
    CAPACITIES,
    CAPACITY,
    CAPACITY_OF_LEAF,
    CAUSES,
    KEYS,
    QUEUE,
)
from fairshare.lab.scenarios.steps import Check


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


APPLICATION_KEYS: Final = _words("exists state reserved on missed why").union(
    APPLICATION, APPLICATION_OF_QUEUE
)
QUEUE_KEYS: Final = _words(
    "exists type state max_apps capacity used_capacity pending_after_user_limits users partitions"
).union(QUEUE, CAPACITIES, CAPACITY, CAPACITY_OF_LEAF)
NODE_KEYS: Final = _words("exists rack total used available reserved_for containers")
CLUSTER_KEYS: Final = _words("total used containers apps_running")

CHECKS: Final = {
    "apps": APPLICATION_KEYS,
    "queues": QUEUE_KEYS,
    "nodes": NODE_KEYS,
    "cluster": CLUSTER_KEYS,
}
JOB_CHECKS: Final = {
    "apps": _words(
        """
        exists state queue user priority diagnostics runnable initialized used fair_share weight
        demand needed min_share deficit locality why
        """
    ),
    "queues": _words(
        """
        exists apps used demand fair_share min_share max_share weight policy max_apps to_preempt
        """
    ),
    "nodes": _words("exists rack total used containers"),
    "cluster": _words("total used node_delay rack_delay"),
}
"""What can be checked in a scenario of MapReduce."""

_CLOSE: Final = frozenset({"fair_share", "weight"})
_WITHIN: Final = 0.01
"""How near to a number of MapReduce's fractions it is enough to come."""


def read_checks(
    node: Node, reader: Reader, known: Mapping[str, frozenset[str]] = CHECKS
) -> tuple[Check, ...]:
    """Every expected value with its path and line, in the order of the file.

    With `JOB_CHECKS` shares and weights need only be met closely.
    """
    entries = reader.entries(node, "expect")
    for kind in entries.keys() - known:
        reader.wrong(node.keys[kind], unknown_word("key", kind, known, "expect"))
    checks: list[Check] = []
    for kind, keys in known.items():
        things = entries.get(kind)
        if things is None or things.empty:
            continue
        if kind == "cluster":
            checks += _checks(things, (kind,), keys, reader)
            continue
        for name, thing in reader.entries(things, f"expect.{kind}").items():
            if not thing.empty:
                checks += _checks(thing, (kind, name), keys, reader)
    if known is JOB_CHECKS:
        checks = [
            Check(one.where, _closely(one.expected), one.line) if one.where[-1] in _CLOSE else one
            for one in checks
        ]
    return tuple(checks)


def _closely(expected: object) -> Any:
    """The same, with a distance for each number that has none."""
    if is_number(expected):
        return {"about": expected, "within": _WITHIN}
    if isinstance(expected, dict) and not expected.keys() & {"about", "min", "max"}:
        return {name: _closely(value) for name, value in expected.items()}
    return expected


def _checks(node: Node, path: tuple[str, ...], keys: frozenset[str], reader: Reader) -> list[Check]:
    what = ".".join(path)
    checks = []
    for key, value in reader.entries(node, what).items():
        if key not in keys:
            reader.wrong(node.keys[key], unknown_word("check", key, keys, what))
        else:
            (_check_why if key == "why" else _check_form)(value, f"{what}.{key}", reader)
            expected = _expected(value, f"{what}.{key}", reader)
            checks.append(Check((*path, key), expected, node.keys[key].line))
    return checks


def _expected(node: Node, what: str, reader: Reader) -> Any:
    """The plain value, in which memory that is written with a unit is a number of MB."""
    if node.entries is None:
        return node.plain
    return {
        name: reader.memory(value, f"{what}.{name}")
        if name == MEMORY and isinstance(value.scalar, str)
        else _expected(value, f"{what}.{name}", reader)
        for name, value in node.entries.items()
    }


def _check_form(node: Node, what: str, reader: Reader) -> None:
    """`{about, within}` and `{min, max}` hold numbers and nothing else, at any depth."""
    entries = node.entries
    if not entries:
        return
    if "about" in entries:
        allowed = {"about", "within"}
    elif entries.keys() & {"min", "max"}:
        allowed = {"min", "max"}
    else:
        for key, value in entries.items():
            _check_form(value, f"{what}.{key}", reader)
        return
    for key, value in entries.items():
        if key not in allowed:
            reader.wrong(node.keys[key], unknown_word("key", key, allowed, what))
        elif not is_number(value.scalar):
            reader.wrong(value.place, f"{what}.{key} must be a number, found {value.kind}")


def _check_why(node: Node, what: str, reader: Reader) -> None:
    """A reason has a cause that there is, and no other keys than a reason has."""
    entries = node.entries
    if not entries:
        reader.wrong(node.place, f"{what} is a mapping, as {{cause: queue-maximum}}")
        return
    for key, value in entries.items():
        if key not in KEYS:
            reader.wrong(node.keys[key], unknown_word("key", key, KEYS, what))
        elif key == "cause" and value.scalar not in CAUSES:
            found = str(value.scalar)
            reader.wrong(value.place, unknown_word("cause", found, CAUSES, what))


def is_number(value: object) -> bool:
    """Whether it is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)

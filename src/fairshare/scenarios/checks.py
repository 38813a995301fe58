"""Owns the comparison of what a scenario expects with what was found. Runs nothing.

Numbers must be equal; `{about: 3333, within: 1}` allows a distance and `{min: 3, max: 5}` a range.
A mapping looks only at the keys that it names.
"""

from typing import Any, Literal

import msgspec

from fairshare.scenarios.description import Description
from fairshare.scenarios.expectations import is_number
from fairshare.scenarios.fields import unknown_word
from fairshare.scenarios.steps import Check

Kind = Literal["differs", "unsupported", "malformed"]

TOLERANCE = 1e-6


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One failed check. `step` counts from 0, as in a record; None before the first step.

    `where` names what was looked at (`apps.a1.containers`, `error`). For what cannot be compared
    `kind` says so, and `found` says why.
    """

    kind: Kind = "differs"
    step: int | None = None
    line: int | None = None
    where: str
    expected: Any = None
    found: Any = None


def check(
    step: int, expected: Check, state: Description, types: tuple[str, ...]
) -> Difference | None:
    """Compare one value; None when it is as expected. `types` are the resource types' names."""
    *path, key = expected.where
    thing: Any = state
    for name in path:
        thing = thing.get(name) if thing is not None else None
    problem = Difference(
        step=step,
        line=expected.line,
        where=".".join(expected.where),
        expected=expected.expected,
    )
    if key == "exists":
        found = thing is not None
    elif thing is None:
        return msgspec.structs.replace(problem, found=None)
    elif key not in thing:
        reason = f"{path[0]} have no {key!r} with this scheduler"
        return msgspec.structs.replace(problem, kind="unsupported", found=reason)
    else:
        found = thing[key]
    if key == "diagnostics" and str(expected.expected) in str(found):
        return None
    unknown = _unknown_type(expected.expected, found, types)
    if unknown is not None:
        return msgspec.structs.replace(problem, kind="unsupported", found=unknown)
    if equal(expected.expected, found):
        return None
    return msgspec.structs.replace(problem, found=_named(expected.expected, found))


def equal(expected: Any, found: Any) -> bool:
    """Whether a found value is as expected.

    >>> equal({"memory-mb": 1}, {"memory-mb": 1, "vcores": 9}), equal({"n1": 0}, {})
    (True, True)
    >>> equal({"about": 3333, "within": 1}, 3334), equal({"min": 3, "max": 5}, 6), equal(1, True)
    (True, False, False)
    """
    if isinstance(expected, dict):
        if "about" in expected:
            distance = expected.get("within", 0)
            return is_number(found) and bool(abs(found - expected["about"]) <= distance)
        if expected and expected.keys() <= {"min", "max"}:
            return is_number(found) and bool(
                expected.get("min", found) <= found <= expected.get("max", found)
            )
        return isinstance(found, dict) and all(
            equal(value, found.get(key, 0 if is_number(value) else None))
            for key, value in expected.items()
        )
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if is_number(expected) and is_number(found):
        return bool(abs(expected - found) < TOLERANCE)
    return bool(expected == found)


def _unknown_type(expected: Any, found: Any, types: tuple[str, ...]) -> str | None:
    """What to say when amounts are expected of a type that the cluster does not have.

    Without this a misspelt type would be 0, and `{memory: 0}` would always hold.
    """
    if not isinstance(expected, dict) or not isinstance(found, dict) or found.keys() != set(types):
        return None
    unknown = [name for name in expected if name not in found]
    return unknown_word("resource type", unknown[0], types) if unknown else None


def _named(expected: Any, found: Any) -> Any:
    """Of a mapping only what was asked for."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {key: found.get(key) for key in expected}
    return found


def check_error(
    step: int, line: int, expected: str | bool | None, outcome_error: str | None
) -> Difference | None:
    """Compare a step's refusal with its `error`; None when both agree."""
    if expected is None and outcome_error is None:
        return None
    if (
        expected is not None
        and outcome_error is not None
        and (expected is True or str(expected) in outcome_error)
    ):
        return None
    return Difference(step=step, line=line, where="error", expected=expected, found=outcome_error)

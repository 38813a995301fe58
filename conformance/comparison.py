"""What counts as identical: two records of one scenario, laid side by side step by step.

A record is what `fairshare record` and the oracle write. Decisions are the events of a step, in
their order, and whether it was refused; the state is what queues, applications and nodes look like
after it. Wording and the numbers of containers are nobody's business.
"""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

Record = Mapping[str, Any]

COMPARED = {
    "apps": (
        "state", "queue", "containers", "on", "used", "reserved", "pending", "demand",
        "fair_share", "priority", "to_preempt", "preempted", "headroom",
    ),
    "queues": (
        "used", "reserved", "demand", "fair_share", "steady_fair_share", "min_share", "max_share",
        "weight", "running_apps", "pending_apps", "am_used", "capacity", "max_capacity",
        "absolute_capacity", "effective_min", "effective_max", "users", "state",
    ),
    "nodes": ("total", "used", "available", "reserved_for"),
}  # fmt: skip
"""The keys of a state that must agree, as far as the oracle's state has them."""

NOT_COMPARED = ("why", "message", "container", "attempt", "exit")
"""The keys of an event that need not."""

COUNTED = ("completed", "marked")
"""Events that are chosen in the order of a hash map; `amounts` only counts them."""

MISSING = object()

Agreed = dict[tuple[str, str], tuple[Record, Record]]
"""What agreed at its last comparison by its place: the oracle's, ours."""


class Difference(NamedTuple):
    """Where two records part. `signature` is the same for differences of one kind."""

    step: int | None
    kind: str
    where: str
    signature: str
    oracle: Any
    ours: Any

    def __str__(self) -> str:
        place = "at the start" if self.step is None else f"step {self.step} ({self.kind})"
        return f"{place}: {self.where}: oracle {_shown(self.oracle)}, ours {_shown(self.ours)}"


class Verdict(NamedTuple):
    """The first difference in the decisions, and the first in the state; None: there is none."""

    decision: Difference | None
    state: Difference | None

    @property
    def identical(self) -> bool:
        """Whether nothing differs at all."""
        return self.decision is None and self.state is None

    @property
    def first(self) -> Difference | None:
        """The earlier one of both; of one step, the decision."""
        found = [difference for difference in self if difference is not None]
        return min(found, key=lambda d: -1 if d.step is None else d.step, default=None)


def compare(oracle: Record, ours: Record, *, amounts: bool = False) -> Verdict:
    """What differs first. With `amounts`, completions and marks of a step are only counted."""
    if "crash" in ours:
        last = ours["crash"].strip().rpartition("\n")[2]
        crash = Difference(None, "start", "crash", f"crash {last}", None, ours["crash"])
        return Verdict(crash, crash)
    if "error" in oracle or "error" in ours:
        if ("error" in oracle) == ("error" in ours):
            return Verdict(None, None)
        refused = Difference(
            None, "start", "error", "start error", oracle.get("error"), ours.get("error")
        )
        return Verdict(refused, refused)
    decision = state = None
    agreed: Agreed = {}
    for left, right in zip(oracle["steps"], ours["steps"], strict=True):
        if "unsupported" in left:
            break
        decision = _decision_difference(left, right, amounts)
        if state is None and "state" in left:
            state = _state_difference(left, right, agreed)
        if decision is not None:  # what comes after follows from it
            break
    return Verdict(decision, state)


def _decision_difference(oracle: Record, ours: Record, amounts: bool) -> Difference | None:
    step, kind = oracle["step"], oracle["kind"]
    errors = oracle.get("error"), ours.get("error")
    if bool(errors[0]) != bool(errors[1]):
        return Difference(step, kind, "error", f"{kind} error {bool(errors[0])}", *errors)
    left, right = _events(oracle, amounts), _events(ours, amounts)
    for number in range(max(len(left), len(right))):
        a = left[number] if number < len(left) else None
        b = right[number] if number < len(right) else None
        if a != b:
            signature = f"{kind} {a and a.get('event')} {b and b.get('event')}"
            return Difference(step, kind, f"event {number}", signature, a, b)
    return None


def _events(step: Record, amounts: bool) -> list[dict[str, Any]]:
    events = [
        {key: value for key, value in event.items() if key not in NOT_COMPARED}
        for event in step.get("events") or ()
    ]
    if not amounts:
        return events
    counts = Counter((e["event"], e.get("app")) for e in events if e["event"] in COUNTED)
    strict = [event for event in events if event["event"] not in COUNTED]
    return strict + [
        {"event": event, "app": app, "count": count}
        for (event, app), count in sorted(counts.items())
    ]


def _state_difference(oracle: Record, ours: Record, agreed: Agreed) -> Difference | None:
    """The first difference of two states. What agreed before, and is the same again, still does."""
    step, kind = oracle["step"], oracle["kind"]
    for part, keys in COMPARED.items():
        left, right = oracle["state"].get(part) or {}, ours["state"].get(part) or {}
        for name in sorted(left.keys() | right.keys()):
            if name not in left or name not in right:
                there = ("there" if name in side else None for side in (left, right))
                return Difference(step, kind, f"{part}.{name}", f"{part} exists", *there)
            pair = left[name], right[name]
            before = agreed.get((part, name))
            if before is not None and before[0] is pair[0] and before[1] == pair[1]:
                continue
            for key in keys:
                a, b = pair[0].get(key, MISSING), pair[1].get(key)
                if a is not MISSING and not same(a, b):
                    return Difference(step, kind, f"{part}.{name}.{key}", f"{part} {key}", a, b)
            agreed[part, name] = pair
    return None


def same(a: Any, b: Any) -> bool:
    """Whether two values agree: whole numbers exactly, others to a ten-thousandth; an amount that
    is not named is 0.

    >>> same({"memory-mb": 1024}, {"memory-mb": 1024, "vcores": 0}), same(33.33333, 33.33334)
    (True, True)
    """
    if type(a) is type(b) is not dict and a == b:  # most are
        return True
    if isinstance(a, dict) and isinstance(b, dict):
        if a == b and {int}.issuperset(map(type, (*a.values(), *b.values()))):
            return True
        return all(same(a.get(key, 0), b.get(key, 0)) for key in a.keys() | b.keys())
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return abs(a - b) <= 1e-4 * max(1.0, abs(a), abs(b))
    return bool(a == b)


def _shown(value: Any) -> str:
    return "nothing" if value is None else json.dumps(value, sort_keys=True)

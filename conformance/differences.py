"""Owns the differences that are there knowingly, and how a run goes on after one.

Each has its reason in `docs/hadoop-differences.md`. What it touches is left out of both records, so
that the rest of the run is still compared.
"""

from collections.abc import Mapping
from typing import Any

from conformance.oracle import Document

NO_MASTER = "has 0 amount of resource for a resource type"
"""Hadoop's resource manager fails when a lost master may not be asked for again, since its queue
may have none of some resource by now, and ends; ours waits for another configuration. What comes
after that step is not compared."""

LOST_PASS = ("cannot find TempQueuePerPartition", "CSQueue.getQueuePath()")
"""Hadoop's preemption within a queue takes leaves by their short names; where several have the same
one, a null reference ends the pass of the monitor and it is lost. Ours carries it out. What comes
after that step is not compared."""

INVALID_NAME = "Illegal node name"
"""Hadoop's resource manager fails on a queue with such a name and ends; ours refuses it. The
oracle's stays, with an application that waits for ever."""


def without_known(
    document: Document, oracle: Mapping[str, Any], ours: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any], list[str]]:
    """Both records without what differs knowingly, and what that was: one line for each."""
    known: list[str] = []
    oracle, ours = _up_to_failure(oracle, ours, known)
    hanging: set[str] = set()
    for step in oracle.get("steps", ()):
        if INVALID_NAME in (step.get("error") or ""):
            name = document["steps"][step["step"]]["submit"]["app"]
            hanging.add(name)
            known.append(f"step {step['step']}: {name} names a queue that cannot be")
    if not hanging or "steps" not in ours:
        return oracle, ours, known
    steps = document["steps"][: len(ours["steps"])]
    about = [_application_of(step) in hanging for step in steps]
    return _without(oracle, hanging, about), _without(ours, hanging, about), known


def _up_to_failure(
    oracle: Mapping[str, Any], ours: Mapping[str, Any], known: list[str]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    for number, step in enumerate(oracle.get("steps", ())):
        asked = step["kind"] in ("submit", "ask")
        error = step.get("error") or ""
        if not asked and NO_MASTER in error and "steps" in ours:
            known.append(f"step {number}: a master may not be asked for again")
            return tuple({**one, "steps": one["steps"][:number]} for one in (oracle, ours))  # type: ignore[return-value]
        if any(message in error for message in LOST_PASS) and "steps" in ours:
            known.append(f"step {number}: a pass of the preemption monitor is lost")
            return tuple({**one, "steps": one["steps"][:number]} for one in (oracle, ours))  # type: ignore[return-value]
    return oracle, ours


def _application_of(step: Document) -> str | None:
    (argument,) = step.values()
    name = argument.get("app") if isinstance(argument, dict) else argument
    return name if isinstance(name, str) else None


def _without(record: Mapping[str, Any], names: set[str], about: list[bool]) -> dict[str, Any]:
    """A record without some applications, and without what steps about them were refused for."""
    steps = []
    for step, about_them in zip(record["steps"], about, strict=True):
        kept = dict(step)
        if about_them:
            kept.pop("error", None)
        kept["events"] = [e for e in step.get("events", ()) if e.get("app") not in names]
        apps = {name: app for name, app in step["state"]["apps"].items() if name not in names}
        kept["state"] = {**step["state"], "apps": apps}
        steps.append(kept)
    return {**record, "steps": steps}

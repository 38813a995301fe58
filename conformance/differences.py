"""The differences that are there knowingly, and how a run goes on after one.

Each has its reason in `docs/hadoop-differences.md`. What it touches is left out of both records, so
that the rest of the run is still compared.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from conformance import defects
from conformance.comparison import compare
from conformance.oracle import Document

NO_MASTER = "has 0 amount of resource for a resource type"
"""Hadoop's resource manager fails when a lost master may not be asked for again, since its queue
may have none of some resource by now, and ends; ours waits for another configuration. What comes
after that step is not compared."""

LOST_PASS = ("cannot find TempQueuePerPartition", "CSQueue.getQueuePath()")
"""Hadoop's preemption within a queue takes leaves by their short names; where several have the same
one, a null reference ends the pass of the monitor and it is lost. Ours carries it out. What comes
after that step is not compared."""

COUNTED_TWICE = "an application counts twice for {}, or is over and counts"
"""Hadoop's books of a leaf become impossible: more applications run and wait there than it has. It
is so when one that waits for room for its master is entered among those that run, and when one
that is over stays in a list. Ours goes on. What comes from that step on is not compared, since an
application that is not there takes containers, room for masters, and somebody's turn."""

NOT_MAPPED = "Verify automatic queue mapping for user exists"
"""Hadoop makes the leaf of the older auto-creation, and then refuses who named it, since the queue
mappings send him elsewhere; ours makes none. What comes after that step is not compared."""

UNLIKE_PARTS = "Total of Auto Created leaf queues guaranteed capacity"
"""Where older leaves must not exceed their parent, Hadoop refuses every reload once the leaves'
parts of their parent come to more than the parent's part of its own parent: two leaves of 50 %
below a parent of 60 %. It finds that half-way, goes back, finds it again, and is left half-way.
Ours does not compare the two. What comes after that step is not compared."""

NO_ORDER = "{} has the weight 0 under drf: its dominant share is not a number"
"""Hadoop's comparison then finds such a queue equal to every other one, so that the order of all of
its siblings depends on the way of sorting; ours counts the share as 0. A run ends where another
child of that parent is served on each side. A difference within one child is compared."""

NO_PARTIAL_PATH = "Could not find queue for application : "
"""Hadoop takes the first parts of `b.c.new` for a queue that is called b, makes what is missing
below it, although there is a root.b.c, and does not find the queue again for the master of the
application; ours names the queues that are there, and makes none for a master. What comes after
that step is not compared."""

UNMADE = "the queue of a submission cannot be made of its template"
"""Hadoop's resource manager fails on a value of a template that it reads when it makes a queue, and
ends; ours refuses the application. What comes after that step is not compared."""

NEVER_MADE = {
    "Illegal node name": "{} names a queue that cannot be",
    "Min resource configuration": "the leaf for {} would have amounts above their maximum",
}
"""Hadoop's resource manager fails on a queue with such a name, or on a leaf of the older
auto-creation with such amounts, and ends; ours refuses it. The oracle's stays, with an application
that waits for ever."""


NO_QUEUE_LEFT = "Application killed on recovery as it was submitted to queue"
"""Hadoop kills an application that comes back into a queue that is no leaf by then; here what runs
keeps its queue, and so a scenario's application that was never there is refused."""

WRONG_CALCULATOR = "looks at memory alone, but there are further resource types"
"""Hadoop takes over a file with which it would not start again, since it asks for the calculator at
the start alone; ours refuses it. What comes after that step is not compared."""


NO_SOURCE = ("is not a Leaf Queue", "doesn't exist")
"""Hadoop does not move an application out of a leaf that a reload has taken away or made a parent;
ours does, since there it gets nothing more. What comes after that step is not compared."""

HALF_WAY = "a refused reload was applied in part"
"""Hadoop has applied a part of what it refuses when it goes back: from then on queues that are
equally far from their capacities are served in another order, and limits for masters are computed
at other moments; ours changes nothing. What comes after the first step that shows it is not
compared, unless that step is refused on one side alone."""

LEFT_OUT = "a refused reload has made {} a second time, without its applications"
"""Hadoop has taken a leaf away when it comes to what it refuses, and makes another one of the name
when it goes back: its applications are in neither. What comes after that step is not compared."""


def without_known(
    document: Document, oracle: Mapping[str, Any], ours: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any], list[str]]:
    """Both records without what differs knowingly, and what that was: one line for each."""
    known: list[str] = []
    oracle = _without_nameless(oracle, known)
    oracle, ours = _up_to_failure(document, oracle, ours, known)
    hanging: set[str] = set()
    for step, own in zip(oracle.get("steps", ()), ours.get("steps", ()), strict=False):
        why = next((NEVER_MADE[e] for e in NEVER_MADE if e in (step.get("error") or "")), None)
        if why is not None and step["kind"] == "submit":
            name = document["steps"][step["step"]]["submit"]["app"]
            hanging.add(name)
            known.append(f"step {step['step']}: {why.format(name)}")
        for name in _killed_on_recovery(step, own):
            hanging.add(name)
            known.append(f"step {step['step']}: {name} comes back into a queue that is no leaf")
    if not hanging or "steps" not in ours:
        return oracle, ours, known
    steps = document["steps"][: len(ours["steps"])]
    about = [_application_of(step) in hanging for step in steps]
    return _without(oracle, hanging, about), _without(ours, hanging, about), known


def _without_nameless(oracle: Mapping[str, Any], known: list[str]) -> Mapping[str, Any]:
    """Hadoop makes a queue without a name of a blank part of a list of queues; ours none."""
    steps = []
    for step in oracle.get("steps", ()):
        queues = (step.get("state") or {}).get("queues") or {}
        nameless = [name for name in queues if name.endswith(".")]
        if nameless:
            known[:] = [f"a queue without a name: {nameless[0]!r}"]
            kept = {name: one for name, one in queues.items() if name not in nameless}
            step = {**step, "state": {**step["state"], "queues": kept}}
        steps.append(step)
    return {**oracle, "steps": steps} if known else oracle


def _up_to_failure(
    document: Document,
    oracle: Mapping[str, Any],
    ours: Mapping[str, Any],
    known: list[str],
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    if "steps" not in ours:
        return oracle, ours
    refused = False
    for number, (theirs, own) in enumerate(
        zip(oracle.get("steps", ()), ours["steps"], strict=False)
    ):
        before = oracle["steps"][number - 1] if number else {}
        failure = (
            _partial(document["steps"][number], before, theirs)
            or (UNMADE if _hangs(theirs, own) else None)
            or _unordered(before, theirs, own)
            or _failure(theirs)
            or _made_for_nobody(theirs, own)
            or _wrong_calculator(theirs, own)
            or _moves_out(document["steps"][number], before, theirs, own)
            or _left_out(theirs, own)
            or _impossible(theirs, own)
            or (HALF_WAY if refused and not _same(theirs, own) else None)
            or (HALF_WAY if _keeps_states(theirs, own) else None)
        )
        refused = refused or (own["kind"] == "reload" and bool(own.get("error")))
        if failure is None and number:
            both = defects.Both(document, number, oracle["steps"], ours["steps"])
            failure = defects.found(both)
        if failure is not None:
            known.append(f"step {number}: {failure}")
            kept = [{**one, "steps": one["steps"][:number]} for one in (oracle, ours)]
            return kept[0], kept[1]
    return oracle, ours


def _partial(step: Document, before: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    """Whether Hadoop makes a queue of a partial path: for nothing, or beside one of that path."""
    if theirs["kind"] != "submit":
        return None
    if NO_PARTIAL_PATH in (theirs.get("error") or ""):
        return "a queue of a partial path is made, and then not found"
    given = str(step["submit"].get("queue") or "")
    parts = given.split(".")
    queues = (before.get("state") or {}).get("queues") or {}
    if given in queues:
        return None
    for end in range(len(parts) - 1, 0, -1):
        prefix = ".".join(parts[:end]).strip()
        found = [name for name in queues if prefix in (name, name.rpartition(".")[2])]
        if found and "." in prefix and prefix not in queues:
            continue
        if found:
            twin = f"{found[0]}.{parts[end].strip()}"
            return f"a second queue {twin}" if twin in queues else None
    return None


def _hangs(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether both refuse a submission, and Hadoop's application waits all the same."""
    if any(text in (theirs.get("error") or "") for text in NEVER_MADE):
        return False
    waits = any(event.get("state") == "PENDING" for event in theirs.get("events") or ())
    return bool(theirs.get("error") and own.get("error") and waits)


def _killed_on_recovery(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> list[str]:
    """Which applications Hadoop kills in a step since their queue is no leaf, if ours refuses."""
    if theirs["kind"] != "submit" or not own.get("error"):
        return []
    apps = (theirs.get("state") or {}).get("apps") or {}
    return [
        event["app"]
        for event in theirs.get("events") or ()
        if event.get("state") == "KILLED"
        and NO_QUEUE_LEFT in apps.get(event["app"], {}).get("diagnostics", "")
    ]


def _keeps_states(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether a reload that both refuse has changed states of queues in Hadoop alone."""
    if own["kind"] != "reload" or not (theirs.get("error") and own.get("error")):
        return False
    before, state = own.get("state", {}).get("queues", {}), theirs.get("state", {})
    queues = state.get("queues", {})
    kept = {
        name: {**one, "state": before[name]["state"]} if "state" in before.get(name, {}) else one
        for name, one in queues.items()
    }
    return kept != queues and _same({**theirs, "state": {**state, "queues": kept}}, own)


def _same(theirs: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Whether a step agrees, or is refused on one side alone."""
    if bool(theirs.get("error")) != bool(own.get("error")):
        return True
    return compare({"steps": [theirs]}, {"steps": [own]}).identical


def _failure(step: Mapping[str, Any]) -> str | None:
    error = step.get("error") or ""
    if NO_MASTER in error and step["kind"] not in ("submit", "ask"):
        return "a master may not be asked for again"
    if UNLIKE_PARTS in error and step["kind"] == "reload":
        return "a reload that compares parts of a parent with parts of the cluster is left half-way"
    if any(message in error for message in LOST_PASS):
        return "a pass of the preemption monitor is lost"
    return None


def _unordered(
    before: Mapping[str, Any], theirs: Mapping[str, Any], own: Mapping[str, Any]
) -> str | None:
    """Which queue leaves its siblings without an order, if two of them are served differently."""
    served = next((pair for pair in zip(_served(theirs), _served(own), strict=False)
                   if pair[0] != pair[1]), None)  # fmt: skip
    if served is None:
        return None
    apps = (theirs.get("state") or {}).get("apps") or {}
    queues = (before.get("state") or {}).get("queues") or {}
    for name, queue in queues.items():
        parent = name.rpartition(".")[0]
        if queue.get("weight") != 0 or queues.get(parent, {}).get("policy") != "drf":
            continue
        one, other = (_child(parent, apps.get(app, {}).get("queue")) for app, *_ in served)
        if 0 in queue["used"].values() and one and other and one != other:
            return NO_ORDER.format(name)
    return None


def _served(step: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    kinds = ("allocated", "reserved")
    return [
        (event.get("app"), event["event"], event.get("node"))
        for event in step.get("events") or ()
        if event["event"] in kinds
    ]


def _child(parent: str, name: str | None) -> str | None:
    """Which child of a queue is this one, or above it; None if it is none of its descendants."""
    if name is None or not name.startswith(parent + "."):
        return None
    return name[len(parent) + 1 :].partition(".")[0]


def _made_for_nobody(oracle: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    if NOT_MAPPED not in (oracle.get("error") or ""):
        return None
    made = _queues(oracle) - _queues(ours)
    return (
        f"a leaf for somebody who is not mapped to it: {', '.join(sorted(made))}" if made else None
    )


def _wrong_calculator(oracle: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    if oracle.get("error") or WRONG_CALCULATOR not in (ours.get("error") or ""):
        return None
    return "a file with which Hadoop would not start again is refused at a reload"


def _moves_out(
    step: Document, before: Mapping[str, Any], oracle: Mapping[str, Any], ours: Mapping[str, Any]
) -> str | None:
    error = oracle.get("error") or ""
    if (
        oracle["kind"] != "move"
        or ours.get("error")
        or not any(told in error for told in NO_SOURCE)
    ):
        return None
    state = before.get("state") or {}
    name = step["move"]["app"]
    source = (state.get("apps") or {}).get(name, {}).get("queue")
    if source is None or f"The specified Queue: {source} " not in error:
        return None
    return f"{name} is moved out of {source}, which is no leaf any longer"


def _left_out(oracle: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    if oracle["kind"] != "reload" or not (oracle.get("error") and ours.get("error")):
        return None
    state, own = oracle.get("state") or {}, ours.get("state") or {}
    lives = _lives(state)
    for name, queue in (state.get("queues") or {}).items():
        if queue.get("type") != "leaf" or "pending_apps" not in queue:
            continue
        listed = [
            sum(one.get(key, 0) for key in ("running_apps", "pending_apps", "non_runnable_apps"))
            for one in (queue, own.get("queues", {}).get(name, {}))
        ]
        if listed[0] < lives[name] <= listed[1]:
            return LEFT_OUT.format(name)
    return None


def _lives(state: Mapping[str, Any]) -> Counter[str]:
    """How many applications that are not over each queue has."""
    return Counter(
        application.get("queue", "")
        for application in (state.get("apps") or {}).values()
        if application.get("state") in ("PENDING", "RUNNING")
    )


def _queues(step: Mapping[str, Any]) -> set[str]:
    return set((step.get("state") or {}).get("queues") or ())


def _impossible(oracle: Mapping[str, Any], ours: Mapping[str, Any]) -> str | None:
    """Which leaf has more applications in Hadoop's books than there are, if ours has not."""
    state, own = oracle.get("state") or {}, ours.get("state") or {}
    lives = _lives(state)
    for name, queue in (state.get("queues") or {}).items():
        if queue.get("type") != "leaf" or "pending_apps" not in queue:
            continue
        counted = _counted(queue)
        if sum(counted) > lives[name] and counted != _counted(own.get("queues", {}).get(name, {})):
            return COUNTED_TWICE.format(name)
    return None


def _counted(queue: Mapping[str, Any]) -> tuple[int, int]:
    return queue.get("running_apps", 0), queue.get("pending_apps", 0)


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

"""How a step is recognised at which a defect of Hadoop's Capacity Scheduler shows.

Each function names one defect that `docs/hadoop-differences.md` has, or answers None. It answers
only where that defect explains what differs at the step: what the defect needs has happened, and an
application is where only the defect could have put it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.oracle import Document

Step = Mapping[str, Any]
Part = dict[str, Any]

LIVES = ("PENDING", "RUNNING")


class Both:
    """A step on both sides, with the one before it. `theirs` is Hadoop's."""

    def __init__(
        self, document: Document, number: int, theirs: Sequence[Step], ours: Sequence[Step]
    ) -> None:
        self.document = document
        self.number = number
        self.theirs, self.ours = theirs[number], ours[number]
        self.theirs_before, self.ours_before = theirs[number - 1], ours[number - 1]
        self._theirs = theirs

    def was_subject_of(self, kind: str, application: str) -> bool:
        """Whether a step of a kind was about an application, this one included."""
        for step in self.document["steps"][: self.number + 1]:
            argument = step.get(kind)
            if isinstance(argument, dict) and argument.get("app") == application:
                return True
        return False

    def lost_a_container_since_its_move(self, application: str) -> bool:
        """Whether a container of an application has ended in Hadoop, or a reservation was given
        back, since it was moved last."""
        for number in range(self.number, 0, -1):
            events = self._theirs[number].get("events") or ()
            if any(
                event.get("event") in ("completed", "unreserved")
                and event.get("app") == application
                for event in events
            ):
                return True
            argument = self.document["steps"][number].get("move")
            if isinstance(argument, dict) and argument.get("app") == application:
                return False
        return False

    @property
    def decides_otherwise(self) -> bool:
        """Whether the events of the step differ in more than wording."""
        return _plain(self.theirs) != _plain(self.ours)


def found(both: Both) -> str | None:
    """Which of these defects shows at a step."""
    return (
        _left_behind(both)
        or _served_though_it_waits(both)
        or _runs_and_waits(both)
        or _not_recognised(both)
    )


def _left_behind(both: Both) -> str | None:
    """An application stood in two lists of its leaf, since it was held back, was given a priority
    and was woken; now it has left the leaf, and in Hadoop one of the lists still has it."""
    for name, queue in _leaves(both.theirs):
        own = _part(both.ours, "queues").get(name)
        before = _part(both.theirs_before, "queues").get(name)
        if own is None or before is None:
            continue
        excess = _excess(both.theirs, name, queue)
        if excess < 1 or excess != _excess(both.ours, name, own) + 1:
            continue
        if _excess(both.theirs_before, name, before) < 1:
            continue
        if _counts(before) != _counts(_part(both.ours_before, "queues").get(name, {})):
            continue
        for application in _leavers(both, name):
            if both.was_subject_of("set_priority", application):
                return f"{application} stood in two lists of {name}, and one still has it"
    return None


def _leavers(both: Both, leaf: str) -> Iterator[str]:
    """Applications that had containers in a leaf in which Hadoop lists them as waiting, and that
    ended, began another attempt or were moved in this step."""
    (argument,) = both.document["steps"][both.number].values()
    moved = argument.get("app") if both.theirs["kind"] == "move" else None
    after = _part(both.theirs, "apps")
    for name, before in _part(both.theirs_before, "apps").items():
        waits = before.get("state") == "PENDING" and before.get("containers")
        if not waits or before.get("queue") != leaf or name not in after:
            continue
        another = after[name].get("attempt") != before.get("attempt")
        if name == moved or another or after[name].get("state") not in LIVES:
            yield name


def _served_though_it_waits(both: Both) -> str | None:
    """An application was moved into a leaf with the fair order and waits there. A container of it
    has ended since then, and Hadoop sorts it in among those that compete: it serves it."""
    if not both.decides_otherwise:
        return None
    own = _plain(both.ours)
    sides = (both.theirs, both.theirs_before, both.ours_before)
    for event in _plain(both.theirs):
        if event.get("event") not in ("allocated", "reserved") or event in own:
            continue
        name = event.get("app", "")
        states = [_part(side, "apps").get(name, {}) for side in sides]
        if any(state.get("state") != "PENDING" for state in states):
            continue
        leaf = _part(both.theirs, "queues").get(states[0].get("queue", ""), {})
        if (
            leaf.get("policy") == "fair"
            and both.was_subject_of("move", name)
            and (states[1].get("containers") or both.lost_a_container_since_its_move(name))
        ):
            return f"{name} is served though it waits"
    return None


def _runs_and_waits(both: Both) -> str | None:
    """An application was held back, moved, and stands in two lists of those that may run now:
    Hadoop lets it run, looks again, and tells it to wait, though no list of those that wait has it.
    """
    theirs, own = _part(both.theirs, "apps"), _part(both.ours, "apps")
    for name, state in theirs.items():
        if state.get("state") != "PENDING" or own.get(name, {}).get("state") != "RUNNING":
            continue
        if _part(both.ours_before, "apps").get(name, {}).get("state") != "PENDING":
            continue
        leaf = state.get("queue", "")
        queue = _part(both.theirs, "queues").get(leaf, {})
        if _counts(queue) != _counts(_part(both.ours, "queues").get(leaf, {})):
            continue
        waiting = sum(
            one.get("queue") == leaf and one.get("state") == "PENDING" for one in theirs.values()
        )
        listed = queue.get("pending_apps", 0) + queue.get("non_runnable_apps", 0)
        if waiting > listed and both.was_subject_of("move", name):
            return f"{name} runs, and Hadoop lists it as waiting"
    return None


def _not_recognised(both: Both) -> str | None:
    """Containers on reserved nodes, where another queue has the short name of their leaf: Hadoop
    knows their leaf by that name alone, and so does not find what may be taken from it."""
    if both.theirs["kind"] not in ("preempt", "run") or not _selects_reserved(both.document):
        return None
    names = Counter(name.rpartition(".")[2] for name in _part(both.theirs_before, "queues"))
    reserved = {
        name
        for name, node in _part(both.ours_before, "nodes").items()
        if node.get("reserved_for") is not None
    }
    more = Counter(_chosen(both.ours))
    more.subtract(_chosen(both.theirs))
    for name, count in more.items():
        before = _part(both.ours_before, "apps").get(name, {})
        leaf = before.get("queue", "")
        ambiguous = names[leaf.rpartition(".")[2]] > 1
        if count > 0 and ambiguous and not reserved.isdisjoint(before.get("on") or {}):
            return f"containers of {leaf} on reserved nodes are passed over for its short name"
    return None


def _selects_reserved(document: Document) -> bool:
    """Whether preemption looks for containers on reserved nodes, now or after a reload."""
    reloads = (step["reload"] for step in document["steps"] if "reload" in step)
    places = [document, *(one for one in reloads if isinstance(one, dict))]
    return any(
        name.endswith("select_based_on_reserved_containers") and str(value).lower() == "true"
        for place in places
        for name, value in (place.get("properties") or {}).items()
    )


def _chosen(step: Step) -> list[str]:
    return [e["app"] for e in step.get("events") or () if e.get("event") == "marked"]


def _plain(step: Step) -> list[dict[str, Any]]:
    keys = ("event", "app", "node", "resource", "priority", "state")
    return [{key: e[key] for key in keys if key in e} for e in step.get("events") or ()]


def _part(step: Step, part: str) -> Part:
    found: Part = (step.get("state") or {}).get(part) or {}
    return found


def _leaves(step: Step) -> Iterator[tuple[str, Part]]:
    for name, queue in _part(step, "queues").items():
        if queue.get("type") == "leaf" and "pending_apps" in queue:
            yield name, queue


def _counts(queue: Part) -> tuple[int, ...]:
    return tuple(queue.get(key, 0) for key in ("running_apps", "pending_apps", "non_runnable_apps"))


def _excess(step: Step, leaf: str, queue: Part) -> int:
    """How many entries a leaf's lists have beyond the applications that it has."""
    lives = Counter(
        one.get("queue") for one in _part(step, "apps").values() if one.get("state") in LIVES
    )
    return sum(_counts(queue)) - lives[leaf]

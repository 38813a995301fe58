"""Owns the rules about which settings suit which queue: leaf or parent, running or stopped."""

from collections.abc import Iterator

from fairshare.config.problems import Finding
from fairshare.families.capacity.lint.subject import CapacitySubject, property_of
from fairshare.families.capacity.queue_settings import SETTINGS
from fairshare.model.queues import ROOT

_OF_LEAVES = tuple(one.name for one in SETTINGS if one.scope == "leaf")
_OF_MAKERS = tuple(
    one.name for one in SETTINGS if one.scope == "parent" and one.name.startswith("auto-")
)
_OF_PARENTS = tuple(
    one.name for one in SETTINGS if one.scope == "parent" and one.name not in _OF_MAKERS
)
_TEMPLATES = ("auto-queue-creation-v2.", "leaf-queue-template.")
_STOPPED = "STOPPED"


def leaf_setting_of_parent(subject: CapacitySubject) -> Iterator[Finding]:
    """What only a leaf has, and no child inherits."""
    for name, _ in subject.parents:
        for suffix in _OF_LEAVES:
            if subject.is_written(name, suffix):
                yield subject.silent(
                    property_of(name, suffix),
                    f"{name} is a parent queue, and its children do not inherit it",
                )


def parent_setting_of_leaf(subject: CapacitySubject) -> Iterator[Finding]:
    """What only a parent has."""
    for name, _ in subject.leaves:
        for suffix in _OF_PARENTS:
            if subject.is_written(name, suffix):
                yield subject.silent(property_of(name, suffix), f"{name} has no queues below it")


def creation_is_off(subject: CapacitySubject) -> Iterator[Finding]:
    """Settings for queues made on demand, below a queue that makes none."""
    for name, own in subject.queues:
        if own.dynamic_children or own.legacy_dynamic_leaves:
            continue
        written = [suffix for suffix in _OF_MAKERS if subject.is_written(name, suffix)]
        written += [
            key.removeprefix(property_of(name, ""))
            for word in _TEMPLATES
            for key in subject.site.names(property_of(name, word))
            if "template." in key
        ]
        for suffix in written:
            yield subject.silent(
                property_of(name, suffix),
                f"no queues are made below {name}: auto-queue-creation-v2.enabled is not true",
                "makes no queues there",
            )


def queue_stopped(subject: CapacitySubject) -> Iterator[Finding]:
    """Queues that take no applications."""
    for name, own in subject.queues:
        if own.state == _STOPPED:
            below = sum(one.startswith(f"{name}.") for one in subject.leaf)
            rest = f", and neither do the {below} queues below it" if below else ""
            yield Finding(
                subject.place(name, "state"),
                f"{name} is STOPPED: it takes no applications{rest}",
                "refuses every application there",
            )


def no_default_queue(subject: CapacitySubject) -> Iterator[Finding]:
    """Applications without a queue are sent to one that does not exist."""
    settings = subject.settings
    if f"{ROOT}.default" in subject.leaf or settings.mappings or settings.queues == {}:
        return
    if any(name.endswith(".default") for name in subject.leaf) or len(subject.leaf) < 2:
        return
    yield Finding(
        subject.place_of(property_of(ROOT, "queues")),
        "there is no queue default and no queue-mappings: who names no queue is refused",
        "refuses the application: submitted to unknown queue: default",
    )


def short_name_twice(subject: CapacitySubject) -> Iterator[Finding]:
    """A name in two places, where preemption inside queues needs it to be one's own
    (Hadoop: IntraQueueCandidatesSelector)."""
    if not (subject.settings.monitor.enabled and subject.settings.monitor.intra_queue.enabled):
        return
    owners: dict[str, str] = {}
    for name in subject.leaf:
        short = name.rpartition(".")[2]
        first = owners.setdefault(short, name)
        if first != name:
            yield Finding(
                subject.place(name, "capacity"),
                f"{name} and {first} have the same short name: preemption inside queues fails",
                "loses that pass of the monitor",
            )

"""The rules about preemption that is on and cannot fire, or off and set up
(`yarn.scheduler.fair.preemption`).
"""

from collections.abc import Iterator

from fairshare.core.model.queues import ROOT
from fairshare.core.schedulers.fair.settings import NEVER_MS
from fairshare.documents import literals
from fairshare.documents.problems import Finding
from fairshare.documents.xml import Element
from fairshare.settings.fair.lint.subject import Subject
from fairshare.settings.fair.names import PREFIX

_ON = PREFIX + "preemption"
_MASTERS = PREFIX + "am.preemption."
_UTILIZATION = PREFIX + "preemption.cluster-utilization-threshold"
_TIMEOUTS = (
    "defaultFairSharePreemptionTimeout",
    "defaultMinSharePreemptionTimeout",
    "fairSharePreemptionTimeout",
    "minSharePreemptionTimeout",
)


def preemption_cannot_fire(subject: Subject) -> Iterator[Finding]:
    """Preemption is on, and no queue has a timeout that ends."""
    if not subject.settings.preemption:
        return
    names = [ROOT, *subject.allocations.queues]
    by_fair_share = any(
        _inherited(subject, name, "fair_share_timeout_ms") < NEVER_MS
        and _inherited(subject, name, "fair_share_threshold") > 0
        for name in names
    )
    by_minimum = any(
        any(leaf.min_share or ())
        and _inherited(subject, leaf.name, "min_share_timeout_ms") < NEVER_MS
        for leaf in subject.leaves
    )
    if not (by_fair_share or by_minimum):
        yield Finding(
            subject.site.place(_ON),
            f"{_ON} is true, but nothing is ever preempted: no queue has a"
            " fairSharePreemptionTimeout, or a minSharePreemptionTimeout with minResources;"
            " set defaultFairSharePreemptionTimeout (seconds) in the allocation file",
            "looks for starved applications at each update and finds none",
        )


def timeouts_without_preemption(subject: Subject) -> Iterator[Finding]:
    """Timeouts are set, and preemption is off."""
    written = subject.written(*_TIMEOUTS)
    if subject.settings.preemption or not subject.has_site or not written:
        return
    _, first = written[0]
    others = f" (and {len(written) - 1} more)" if len(written) > 1 else ""
    yield Finding(
        first.place,
        f"<{first.name}>{others} has no effect: {_ON} is not true",
        "keeps it for the day when preemption is on",
        "warning",
    )


def timeout_without_minimum(subject: Subject) -> Iterator[Finding]:
    """A leaf that waits for a minimum which it does not have."""
    for leaf in subject.leaves:
        if leaf.min_share_timeout_ms is not None and not any(leaf.min_share or ()):
            yield Finding(
                subject.place(leaf.name, "minSharePreemptionTimeout"),
                f"minSharePreemptionTimeout of {leaf.name} has no effect: it has no minResources",
                "never finds it below its minimum",
                "warning",
            )


def threshold_zero(subject: Subject) -> Iterator[Finding]:
    """A threshold of 0 is never undercut."""
    for queue, element, value in _written_thresholds(subject):
        if value <= 0:
            where = f" of {queue}" if queue else ""
            yield Finding(
                element.text_place,
                f"with <{element.name}> {element.trimmed}{where} no queue is ever below the fair"
                " share: it never starts a preemption",
                "moves it into 0 to 1, and never finds a starved queue",
            )


def threshold_above_one(subject: Subject) -> Iterator[Finding]:
    """A part of the fair share that is more than all of it; seconds were meant, perhaps."""
    for queue, element, value in _written_thresholds(subject):
        if value > 1:
            where = f" of {queue}" if queue else ""
            meant = element.name.replace("Threshold", "Timeout")
            yield Finding(
                element.text_place,
                f"<{element.name}> {element.trimmed}{where} is a part of the fair share and counts"
                f" as 1: every queue below the whole share is starved. Is <{meant}> meant, which is"
                " in seconds?",
                "moves it into 0 to 1",
                "warning",
            )


def preemption_overridden(subject: Subject) -> Iterator[Finding]:
    """`allowPreemptionFrom` true below a queue with false."""
    for name, element in subject.written("allowPreemptionFrom"):
        if not name or element.trimmed.lower() != "true":
            continue
        for above in subject.path(name):
            if above.name != name and not above.preemptable:
                yield Finding(
                    element.text_place,
                    f"allowPreemptionFrom of {name} has no effect: {above.name} says false, which"
                    " holds for all below it",
                    "lets the false of the queue above win",
                    "warning",
                )
                break


def nothing_to_preempt(subject: Subject) -> Iterator[Finding]:
    """Preemption is on, and root protects all that runs."""
    if subject.settings.preemption and not subject.queue(ROOT).preemptable:
        yield Finding(
            subject.place(ROOT, "allowPreemptionFrom"),
            f"{_ON} is true, but root says allowPreemptionFrom false for all queues:"
            " nothing can be preempted",
            "chooses victims and finds none",
        )


def utilization_out_of_reach(subject: Subject) -> Iterator[Finding]:
    """A cluster can never be used by more than the threshold."""
    settings = subject.settings
    if settings.preemption and settings.preemption_utilization_threshold >= 1:
        yield Finding(
            subject.site.place(_UTILIZATION),
            f"{_UTILIZATION} is {settings.preemption_utilization_threshold:g}: a cluster is never"
            " used by more than 1, so nothing is ever preempted",
            "preempts only above the threshold, strictly",
        )


def utilization_needs_other_queues(subject: Subject) -> Iterator[Finding]:
    """A parent that alone cannot use so much of the cluster that containers are preempted."""
    settings, cluster = subject.settings, subject.cluster
    if not settings.preemption or cluster is None:
        return
    threshold = settings.preemption_utilization_threshold
    for queue in subject.parents:
        reach = subject.reachable(queue)
        most = max(
            amount / there for amount, there in zip(reach[:2], cluster[:2], strict=True) if there
        )
        if most <= threshold < 1 and queue.name in subject.allocations.queues:
            yield Finding(
                subject.place(queue.name, "maxResources"),
                f"{queue.name} alone never uses more than {100 * most:.4g} percent of the cluster:"
                " while the other queues are idle, no container is preempted for a starved queue"
                f" below it, because {_UTILIZATION} is {threshold:g}. Lower that, or raise the"
                " maximum",
                "preempts only while more of the cluster is used",
            )


def master_preemption_of_no_leaf(subject: Subject) -> Iterator[Finding]:
    """An exception for masters that names no leaf by its full name."""
    for name in subject.settings.master_preemption_queues:
        if name.startswith(ROOT + ".") and not subject.queue(name).parent:
            continue
        yield Finding(
            subject.site.place(f"{_MASTERS}{name}"),
            f"{_MASTERS}{name} has no effect: it must end with the full name of a leaf queue,"
            " such as root.a.b",
            "looks it up by the full name of the leaf",
            "warning",
        )


def _inherited(subject: Subject, name: str, setting: str) -> float:
    """A setting of a queue: its own or that of the nearest queue above that has one, else the
    default of the file."""
    values = (getattr(queue, setting) for queue in subject.path(name))
    default: float = getattr(subject.allocations, setting)
    return next((value for value in values if value is not None), default)


def _written_thresholds(subject: Subject) -> Iterator[tuple[str, Element, float]]:
    """The thresholds of the file, each with its queue ("" for the default) and element."""
    for queue, element in subject.written(
        "fairSharePreemptionThreshold", "defaultFairSharePreemptionThreshold"
    ):
        try:
            yield queue, element, literals.single(element.text)
        except ValueError:
            continue

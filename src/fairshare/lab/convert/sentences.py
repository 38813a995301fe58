"""What a comparison says in plain words: one sentence for each queue.

What was lost in the conversion of the queue, or above it, is shown beside a difference that it
would explain; nothing here proves that it does.
"""

from collections.abc import Sequence
from typing import Final

from fairshare.lab.convert.comparison import (
    NOTICEABLE,
    Comparison,
    QueueComparison,
    QueueMetrics,
    waits_longer,
)
from fairshare.lab.convert.fair_to_capacity.draft import Finding
from fairshare.wording import counted

_LEAST_MS: Final = 1_000
_LEAST_SHARE: Final = 0.05
_LIGHT: Final = ("weight", "changed")
_PARTS: Final = ("first", "second", "third", "last")

_WORSE: Final = (
    ("weight", "with weight {} it comes after all others there"),
    ("minimum", "its minimum of {} is not guaranteed there"),
    ("preemption-time", "its time of {} counts no more when containers are taken"),
)
_BETTER: Final = (
    ("maximum", "its maximum of {} does not hold there"),
    ("minimum", "the minimum of {} is not set aside there"),
)
_OF_OTHERS: Final = {
    1: ("maximum", "the maximum of {} does not hold there ({})"),
    -1: ("minimum", "the minimum of {} is not guaranteed there ({})"),
}
"""What another queue has lost that this one pays for, or profits from."""


def sentence(queue: QueueComparison, findings: Sequence[Finding]) -> str:
    """What has become of a queue.

    `root.ml waits 2.1 times as long (42 s on average, before 20 s): its minimum of 40 GB is not
    guaranteed there.`
    """
    before, after = queue.before, queue.after
    if before is None or not before.applications:
        if after is not None and after.applications:
            return f"{queue.name} has {_count(after.applications)} now, and had none."
        return f"{queue.name} has no applications in this workload."
    if after is None or not after.applications:
        return f"{queue.name} has no applications any more: {_count(before.applications)} before."
    parts, direction = _differences(queue, before, after)
    if not parts and not queue.contended:
        return f"{queue.name} had room for all that it wanted, in both: {_alike(after)}."
    if not parts:
        return f"{queue.name} fares alike: {_alike(after)}."
    differences = " and ".join([", ".join(parts[:-1]), parts[-1]] if parts[:-1] else parts)
    return f"{queue.name} {differences}{_reason(queue, direction, findings)}."


def verdict(comparison: Comparison) -> str:
    """What the whole comparison cannot show; empty: there was something to share."""
    if comparison.contended:
        return ""
    return (
        f"The workload used {comparison.used:.0%} of the cluster at most: nothing had to wait for"
        " room, so that this compares nothing. Compare with a smaller --cluster, or with a workload"
        " that wants more."
    )


def _differences(
    queue: QueueComparison, before: QueueMetrics, after: QueueMetrics
) -> tuple[list[str], int]:
    """What is different; and whether it is worse for the queue (1), better (-1), or neither."""
    parts: list[str] = []
    direction = 0
    if after.refused > before.refused:
        parts.append(f"has {_count(after.refused - before.refused)} refused that were not")
        direction = 1
    if queue.elsewhere:
        parts.append(f"has {_count(queue.elsewhere)} running in other queues now")
    if after.unfinished != before.unfinished:
        parts.append(
            f"leaves {after.unfinished} of {_count(after.applications)} unfinished,"
            f" before {before.unfinished}"
        )
        direction = direction or (1 if after.unfinished > before.unfinished else -1)
    for text, sign in (_waiting(before, after), _slower(before, after), _share(before, after)):
        if text:
            parts.append(text)
            direction = direction or sign
    return parts, direction


def _waiting(before: QueueMetrics, after: QueueMetrics) -> tuple[str, int]:
    old, new = before.waiting_mean_ms, after.waiting_mean_ms
    if old is None or new is None or abs(new - old) < _LEAST_MS:
        return "", 0
    times = f"({_seconds(new)} on average, before {_seconds(old)})"
    if new > old * NOTICEABLE:
        much = f"{new / old:.1f} times as long" if old >= _LEAST_MS else "longer"
        return f"waits {much} {times}", 1
    if old > new * NOTICEABLE:
        much = f"{new / old:.0%} of the time" if new >= _LEAST_MS else "hardly at all"
        return f"waits {much} {times}", -1
    return "", 0


def _slower(before: QueueMetrics, after: QueueMetrics) -> tuple[str, int]:
    old, new = before.slowdown, after.slowdown
    if not old or not new:
        return "", 0
    if new > old * NOTICEABLE:
        return f"takes {new / old:.1f} times as long to finish", 1
    if old > new * NOTICEABLE:
        return f"finishes in {new / old:.0%} of the time", -1
    return "", 0


def _share(before: QueueMetrics, after: QueueMetrics) -> tuple[str, int]:
    """The first part of the time in which the shares differ: what comes later follows from it, and
    by the end all work is done, so that means say little."""
    for part, old, new in zip(_PARTS, before.shares, after.shares, strict=True):
        if abs(new - old) >= max(_LEAST_SHARE, old * (NOTICEABLE - 1)):
            text = f"uses {new:.0%} of the cluster in the {part} quarter, before {old:.0%}"
            return text, 1 if new < old else -1
    return "", 0


def _reason(queue: QueueComparison, direction: int, findings: Sequence[Finding]) -> str:
    """What goes with the difference: the limit for masters if it was measured to, else what its own
    conversion has lost or changed."""
    if direction > 0 and (reason := _masters(queue)):
        return f": {reason}"
    if not direction:
        return ""
    counting = [f for f in findings if f.outcome == "lost" or (f.rule, f.outcome) == _LIGHT]
    for rule, text in _WORSE if direction > 0 else _BETTER:
        for finding in counting:
            if finding.rule == rule and _concerns(finding, queue.name):
                reason = text.format(finding.value)
                if finding.queue != queue.name:
                    reason = f"in {finding.queue} above it, {reason}"
                return f": {reason}"
    rule, text = _OF_OTHERS[direction]
    for finding in counting:
        if finding.rule == rule and not _concerns(finding, queue.name):
            return f": {text.format(finding.queue, finding.value)}"
    return "; nothing that was lost would explain it: look at what changed for all queues"


def _masters(queue: QueueComparison) -> str:
    """The part of the limit for masters, if at least half of the longer wait goes without it."""
    before, after, unlimited = queue.before, queue.after, queue.unlimited
    if unlimited is None or not waits_longer(before, after):
        return ""
    assert before is not None
    assert after is not None
    old, new = before.waiting_mean_ms or 0, after.waiting_mean_ms or 0
    freed = unlimited.waiting_mean_ms
    if freed is None or new - freed < (new - old) / 2:
        return ""
    return (
        "applications wait for room for their masters, at most maximum-am-resource-percent of the"
        f" queue; with 1 they would wait {_seconds(freed)}"
    )


def _concerns(finding: Finding, queue: str) -> bool:
    return bool(finding.queue) and f"{queue}.".startswith(f"{finding.queue}.")


def _alike(after: QueueMetrics) -> str:
    waits = "" if after.waiting_mean_ms is None else f"waits {_seconds(after.waiting_mean_ms)}, "
    return f"{waits}uses {after.share:.0%} of the cluster"


def _count(applications: int) -> str:
    return counted(applications, "application")


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.0f} s" if ms >= 10_000 else f"{ms / 1000:.1f} s"

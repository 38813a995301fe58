"""Owns how a scenario sees why an application waits: the key `why` of `expect`.

Reads the scheduler's reasons and adds no words: those are for `fairshare why`.
"""

from collections.abc import Mapping
from typing import Any, Final

from fairshare.model.identifiers import ApplicationId
from fairshare.schedulers.protocol import Scheduler
from fairshare.schedulers.reasons import Cause, Reason, reasons

NOTHING: Final = "nothing"
"""The cause of an application that waits for nothing."""

CAUSES: Final = frozenset({NOTHING, *(str(cause) for cause in Cause)})

KEYS: Final = frozenset(
    {"cause", "queue", "user", "node", "label", "ahead", "also", "preempting", "drained"}
)
"""What can be checked of the weightiest reason. `ahead` names the applications that come first,
`also` what else must be lifted, each as its cause and its queue; `preempting` counts containers."""


def describe_reason(
    scheduler: Scheduler, number: ApplicationId, names: Mapping[ApplicationId, str]
) -> dict[str, Any]:
    """The weightiest reason for which an application waits; `cause` is always there."""
    application = scheduler.state.applications[number]
    found = reasons(application, scheduler.limits_of(number), scheduler.state)
    if not found:
        return {"cause": NOTHING}
    first = found[0]
    described = {
        "cause": str(first.cause),
        "queue": first.queue,
        "user": first.user,
        "node": first.node,
        "label": first.label,
        "ahead": [names[one] for one in first.ahead if one in names],
        "also": sorted(_short(one) for one in first.also),
        "preempting": first.preempting,
        "drained": first.drained,
    }
    return {key: value for key, value in described.items() if value or key == "also"}


def add_reasons(
    described: dict[str, Any], scheduler: Scheduler, names: Mapping[ApplicationId, str]
) -> None:
    """Add `why` to each application of a description."""
    for number, name in names.items():
        described["apps"][name]["why"] = describe_reason(scheduler, number, names)


def _short(reason: Reason) -> str:
    """A cause and where it is: `queue-maximum root.a`."""
    return f"{reason.cause} {reason.queue}".rstrip()

"""Owns how a scenario sees why an application waits: the key `why` of `expect`.

Reads the scheduler's reasons and adds no words: those are for `fairshare why`.
"""

from collections.abc import Mapping
from typing import Any, Final

from fairshare.model.identifiers import ApplicationId
from fairshare.scenarios.cluster import Cluster
from fairshare.schedulers.reasons import Cause, Reason, reasons

NOTHING: Final = "nothing"
"""The cause of an application that waits for nothing."""

CAUSES: Final = frozenset({NOTHING, *(str(cause) for cause in Cause)})

KEYS: Final = frozenset({"cause", "queue", "user", "node", "label", "ahead", "also", "preempting"})
"""What can be checked of the weightiest reason. `ahead` names the applications that come first,
`also` what else must be lifted, each as its cause and its queue; `preempting` counts containers."""


def describe_reason(
    cluster: Cluster, number: ApplicationId, names: Mapping[ApplicationId, str]
) -> dict[str, Any]:
    """The weightiest reason for which an application waits; `cause` is always there."""
    application = cluster.state.applications[number]
    found = reasons(application, cluster.scheduler.limits_of(number), cluster.state)
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
    }
    return {key: value for key, value in described.items() if value or key == "also"}


def add_reasons(
    described: dict[str, Any], cluster: Cluster, names: Mapping[ApplicationId, str]
) -> None:
    """Add `why` to each application of a description."""
    for number, name in names.items():
        described["apps"][name]["why"] = describe_reason(cluster, number, names)


def _short(reason: Reason) -> str:
    """A cause and where it is: `queue-maximum root.a`."""
    return f"{reason.cause} {reason.queue}".rstrip()

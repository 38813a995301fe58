"""Owns the list of the Capacity Scheduler's properties that are known, and not honoured here."""

from typing import Final

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.capacity.names import PREFIX

_SWITCHES: Final = {
    "schedule-asynchronously.enable": "containers are assigned when a node reports, one at a time",
    "multi-node-placement-enabled": "containers are assigned on the node that reports",
    "skip-allocate-on-nodes-with-reserved-containers": (
        "it belongs to the placement on several nodes, which is not here"
    ),
    "user-metrics.enable": "there are no metrics of single users beside those of their queues",
    "application.fail-fast": (
        "an application whose queue is gone after a restart is refused, and the server goes on"
    ),
}
"""What has no effect when it is on; off is what happens here."""

_DETAILS: Final = (
    "schedule-asynchronously.maximum-threads",
    "schedule-asynchronously.maximum-pending-backlogs",
    "schedule-asynchronously.scheduling-interval-ms",
)
"""What has no effect whatever it says."""

_MULTI_NODE: Final = "multi-node-sorting.policy"
_PORT_IN_NODE_NAME: Final = "yarn.scheduler.include-port-in-node-name"


def report_unsupported(site: Site, problems: Problems) -> None:
    """Report properties that have no effect here."""
    for suffix, why in _SWITCHES.items():
        name = PREFIX + suffix
        if site.boolean(name, False, problems):
            _report(site, problems, name, why)
    details = [PREFIX + suffix for suffix in _DETAILS]
    details += site.names(PREFIX + _MULTI_NODE)
    for name in details:
        if site.text(name, problems) is not None:
            _report(site, problems, name, "what it sets is not here")
    if site.boolean(_PORT_IN_NODE_NAME, False, problems):
        _report(site, problems, _PORT_IN_NODE_NAME, "a node is known by its name alone")


def _report(site: Site, problems: Problems, name: str, why: str) -> None:
    message = f"{name} has no effect: {why}"
    problems.warning(site.place(name), "unsupported", message, "honours it")

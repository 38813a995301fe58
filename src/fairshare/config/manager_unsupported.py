"""Owns the list of the resource manager's properties that are known, and not honoured here.

They are the same for all schedulers. docs/hadoop-differences.md says what to do instead.
"""

from typing import Final

from fairshare.config.problems import Problems
from fairshare.config.site import Site

_RM: Final = "yarn.resourcemanager."
_NM: Final = "yarn.nodemanager."

_SWITCHES: Final = {
    f"{_RM}reservation-system.enable": (
        "there is no reservation system: give the work a queue with a guarantee"
    ),
    f"{_RM}opportunistic-container-allocation.enabled": (
        "all containers are guaranteed: a queue that may use more than its share, and preemption,"
        " fill what is idle"
    ),
    f"{_RM}auto-update.containers": (
        "a container keeps its size: ask for a new one, and release the old one"
    ),
    f"{_NM}distributed-scheduling.enabled": (
        "the scheduler alone grants containers, and all of them are guaranteed"
    ),
}
"""What has no effect when it is on; off is what happens here."""

_HANDLER: Final = f"{_RM}placement-constraints.handler"
_OFF: Final = "disabled"
_QUEUED: Final = f"{_NM}opportunistic-containers-max-queue-length"
_ATTRIBUTES: Final = f"{_NM}node-attributes.provider"


def report_unsupported(site: Site, problems: Problems) -> None:
    """Report properties that have no effect here."""
    for name, why in _SWITCHES.items():
        if site.boolean(name, False, problems):
            _report(site, problems, name, why)
    handler = site.text(_HANDLER, problems)
    if handler is not None and handler.strip().lower() != _OFF:
        why = "there are no placement constraints: ask for nodes, racks or a node label"
        _report(site, problems, _HANDLER, why)
    if site.integer(_QUEUED, 0, problems) > 0:
        _report(site, problems, _QUEUED, _SWITCHES[f"{_NM}distributed-scheduling.enabled"])
    if (site.text(_ATTRIBUTES, problems) or "").strip():
        _report(site, problems, _ATTRIBUTES, "nodes have no attributes: use node labels")


def _report(site: Site, problems: Problems, name: str, why: str) -> None:
    message = f"{name} has no effect: {why}"
    problems.warning(site.place(name), "unsupported", message, "honours it")

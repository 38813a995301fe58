"""The properties of the resource manager that all schedulers share, and the list of those that are
known, and not honoured here (docs/hadoop-differences.md says what to do instead).
"""

from typing import Any, Final, TypeVar

import msgspec

from fairshare.core.model.resources import MEMORY, VCORES, Resource, ResourceTypes
from fairshare.core.schedulers.base import BaseSettings
from fairshare.documents.problems import Problems
from fairshare.settings.resource_types import limit_key, read_limits, read_types, scheduler_limit
from fairshare.settings.site import Site

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
            warn_unsupported(site, problems, name, why)
    handler = site.text(_HANDLER, problems)
    if handler is not None and handler.strip().lower() != _OFF:
        why = "there are no placement constraints: ask for nodes, racks or a node label"
        warn_unsupported(site, problems, _HANDLER, why)
    if site.integer(_QUEUED, 0, problems) > 0:
        why = _SWITCHES[f"{_NM}distributed-scheduling.enabled"]
        warn_unsupported(site, problems, _QUEUED, why)
    if (site.text(_ATTRIBUTES, problems) or "").strip():
        warn_unsupported(site, problems, _ATTRIBUTES, "nodes have no attributes: use node labels")


def warn_unsupported(site: Site, problems: Problems, name: str, why: str) -> None:
    """Say of a property that it has no effect here."""
    message = f"{name} has no effect: {why}"
    problems.warning(site.place(name), "unsupported", message, "honours it")


ACL_ENABLED: Final = "yarn.acl.enable"
ADMINISTRATORS: Final = "yarn.admin.acl"
PORT_IN_NODE_NAME: Final = "yarn.scheduler.include-port-in-node-name"
_BY_TAG: Final = f"{_RM}application-tag-based-placement."
TAG_USERS: Final = f"{_BY_TAG}username.whitelist"


def read_tag_users(
    site: Site, name: str, default: tuple[str, ...], problems: Problems
) -> tuple[str, ...]:
    """The users whose applications are placed by a tag; none unless that is switched on. As in
    Hadoop blanks belong to a name."""
    on = site.boolean(f"{_BY_TAG}enable", False, problems)
    users = tuple(user for user in (site.text(name, problems) or "").split(",") if user)
    for user in users:
        if user != user.strip():
            message = f"{name}: the blank belongs to {user!r}, so that no user is called so"
            problems.trap(site.place(name), "property-value", message, "compares names as they are")
    return users if on else default


class ManagerSettings(msgspec.Struct, frozen=True):
    """The resource manager's settings, for any scheduler."""

    types: ResourceTypes
    minimum_allocation: Resource
    maximum_allocation: Resource
    maximum_override_delay_ms: int
    heartbeat_interval_ms: int
    acl_enabled: bool
    administrators: str
    master_max_attempts: int
    max_completed_applications: int
    container_expiry_ms: int


def read_manager(site: Site, problems: Problems) -> ManagerSettings:
    """Read them and check what Hadoop checks at its start (Hadoop: FairScheduler.validateConf)."""
    types = read_types(site, problems)
    limits = read_limits(site, types, problems)
    check_limits(site, problems)
    report_unsupported(site, problems)
    _check_intervals(site, _heartbeat_ms(site, Problems()), problems)
    return ManagerSettings(
        types=types,
        minimum_allocation=limits.minimum,
        maximum_allocation=limits.maximum,
        maximum_override_delay_ms=site.long(
            "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", 10_000, problems
        ),
        heartbeat_interval_ms=_heartbeat_ms(site, problems),
        acl_enabled=site.boolean(ACL_ENABLED, False, problems),
        administrators=_administrators(site, problems),
        master_max_attempts=site.integer(
            "yarn.resourcemanager.am.max-attempts", 2, problems, minimum=1
        ),
        max_completed_applications=_completed(site, problems),
        container_expiry_ms=_positive_ms(
            site, f"{_RM}rm.container-allocation.expiry-interval-ms", 600_000, problems
        ),
    )


_HEARTBEAT: Final = f"{_RM}nodemanagers.heartbeat-interval-ms"
_EXPIRY: Final = "yarn.{}.liveness-monitor.expiry-interval-ms"


def _heartbeat_ms(site: Site, problems: Problems) -> int:
    default = 1_000
    interval_ms = site.integer(_HEARTBEAT, default, problems)
    if interval_ms > 0:
        return interval_ms
    message = f"{_HEARTBEAT} is {interval_ms}: {default} holds"
    problems.trap(site.place(_HEARTBEAT), "property-value", message, f"has nodes take {default}")
    return default


def read_expiries(site: Site, problems: Problems) -> tuple[int, int]:
    """After how many milliseconds of silence a node and a master are given up."""
    node_ms = site.integer(_EXPIRY.format("nm"), 600_000, problems, minimum=1)
    return node_ms, _positive_ms(site, _EXPIRY.format("am"), 900_000, problems)


def _positive_ms(site: Site, name: str, default: int, problems: Problems) -> int:
    """A time after which something expires."""
    time_ms = site.integer(name, default, problems)
    if time_ms > 0:
        return time_ms
    message = f"{name} is {time_ms}: it must be at least 1"
    problems.error(site.place(name), "property-value", message, "starts, and all expires at once")
    return default


def read_rolling(site: Site, kind: str, problems: Problems) -> int:
    """After how many seconds the key of such tokens is replaced."""
    return site.long(f"{_RM}{kind}.master-key-rolling-interval-secs", 86_400, problems)


def _check_intervals(site: Site, heartbeat_ms: int, problems: Problems) -> None:
    """Intervals that must fit each other (Hadoop: ResourceManager.validateConfigs, and the secret
    managers of the three kinds of tokens)."""
    node_ms, master_ms = read_expiries(site, problems)
    if node_ms < heartbeat_ms:
        name = _EXPIRY.format("nm")
        message = (
            f"Nodemanager expiry interval should be no less than heartbeat interval: {name} is"
            f" {node_ms}, and {_HEARTBEAT} {heartbeat_ms}"
        )
        problems.error(site.place(name, _HEARTBEAT), "intervals", message, "does not start")
    for kind, expiry_ms, role in (
        ("container-tokens", node_ms, "nm"),
        ("nm-tokens", node_ms, "nm"),
        ("am-rm-tokens", master_ms, "am"),
    ):
        seconds = read_rolling(site, kind, problems)
        if seconds * 1_000 <= 3 * expiry_ms:
            name, other = f"{_RM}{kind}.master-key-rolling-interval-secs", _EXPIRY.format(role)
            message = (
                f"{name} should be more than 3 X {other}: it is {seconds} seconds, and that"
                f" {expiry_ms} milliseconds"
            )
            problems.error(site.place(name, other), "intervals", message, "does not start")


def _completed(site: Site, problems: Problems) -> int:
    name, default = "yarn.resourcemanager.max-completed-applications", 1_000
    most = site.integer(name, default, problems)
    if most >= 0:
        return most
    message = f"{name} is {most}: it must be at least 0"
    hadoop = "starts, and ends when the first application has ended"
    problems.error(site.place(name), "property-value", message, hadoop)
    return default


def _administrators(site: Site, problems: Problems) -> str:
    """All users by default, as in Hadoop."""
    written = site.text(ADMINISTRATORS, problems)
    return "*" if written is None else written


def check_limits(site: Site, problems: Problems) -> None:
    """What Hadoop checks of the smallest and largest container: the scheduler's properties alone
    (Hadoop: FairScheduler.validateConf, CapacitySchedulerConfigValidator)."""
    for name in (MEMORY, VCORES):
        least, most = (
            scheduler_limit(site, name, bound, Problems()) for bound in ("minimum", "maximum")
        )
        if 0 <= least <= most:
            continue
        keys = [limit_key(name, bound) for bound in ("minimum", "maximum")]
        wrong = "must not be negative" if least < 0 else f"is above the maximum allocation {most}"
        problems.error(
            site.place(*keys),
            "allocation-limits",
            f"Invalid resource scheduler {'memory' if name == MEMORY else name}: the minimum"
            f" allocation {least} {wrong} (see {keys[0]} and {keys[1]})",
            "does not start",
        )


Settings = TypeVar("Settings", bound=BaseSettings)


def collect_base(site: Site, kind: type[Settings], problems: Problems, **further: Any) -> Settings:
    """Settings of a class, with `further` fields of its own; errors are added to the problems."""
    manager = read_manager(site, problems)
    return kind(
        types=manager.types,
        minimum_allocation=manager.minimum_allocation,
        maximum_allocation=manager.maximum_allocation,
        increment_allocation=manager.minimum_allocation,
        maximum_override_delay_ms=manager.maximum_override_delay_ms,
        acl_enabled=manager.acl_enabled,
        administrators=manager.administrators,
        master_max_attempts=manager.master_max_attempts,
        **further,
    )

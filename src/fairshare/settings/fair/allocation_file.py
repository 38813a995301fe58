"""Owns the Fair Scheduler's allocation file, fair-scheduler.xml
(Hadoop: AllocationFileLoaderService).

Knows neither where the file is nor when it is read again.
"""

from collections.abc import Callable
from typing import Any, Final

from fairshare.core.model.queues import ROOT
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.policies import POLICIES, Policy
from fairshare.core.schedulers.fair.settings import AllocationSettings, QueueSettings
from fairshare.documents.problems import Problem, Problems
from fairshare.documents.xml import Element, parse
from fairshare.settings.fair.element_values import BAD_FILE, ElementValues
from fairshare.settings.fair.file_settings import BY_NAME
from fairshare.settings.fair.placement_policy import read_placement_policy
from fairshare.settings.fair.queue_elements import read_queues

_ALL_USERS: Final = "*"


_LEGACY_TIMEOUT: Final = "fairSharePreemptionTimeout"
"""The older name of defaultFairSharePreemptionTimeout; read where the file lacks the newer one."""

_RULES: Final = "queuePlacementPolicy"

_UNSUPPORTED: Final = frozenset({"reservation-planner", "reservation-agent", "reservation-policy"})

_KNOWN: Final = (*BY_NAME, _LEGACY_TIMEOUT, _RULES, *_UNSUPPORTED, "queue", "pool", "user")

NAMES: Final = frozenset(_KNOWN)
"""The elements at the top of the file."""


def read_allocation_file(
    document: str | bytes, file: str, types: ResourceTypes
) -> tuple[AllocationSettings, tuple[Problem, ...]]:
    """The settings of an allocation file, and what there is to say about it (no errors).

    `file` is the name for problems. Raises ConfigurationError with all problems when the file
    is bad (Hadoop: AllocationConfigurationException).
    """
    problems = Problems()
    settings = collect_allocation_file(document, file, ElementValues(types, problems))
    problems.raise_errors()
    return settings, problems.all


def collect_allocation_file(
    document: str | bytes, file: str, values: ElementValues
) -> AllocationSettings:
    """As `read_allocation_file`, but errors are only added to the problems of `values`."""
    problems = values.problems
    root = parse(document, file, problems)
    if root is None:
        return AllocationSettings(from_file=True)
    if root.name != "allocations":
        problems.error(
            root.place,
            "allocations",
            f"the top element is <{root.name}>, it must be <allocations>",
            BAD_FILE,
        )
        return AllocationSettings(from_file=True)
    fields: dict[str, Any] = {}
    seen: dict[str, Element] = {}
    queues, users = [], []
    for child in root.children:
        known = _reader_of(child.name)
        if known is not None:
            field, read = known
            if field in seen:
                values.repeated(child, seen[field])
            seen[field] = child
            fields[field] = read(values, child)
        elif child.name in ("queue", "pool"):
            queues.append(child)
        elif child.name == "user":
            users.append(child)
        elif child.name in _UNSUPPORTED:
            problems.warning(
                child.place,
                "unsupported",
                f"<{child.name}> has no effect: there is no reservation system",
                "keeps it for the reservation system",
            )
        else:
            values.unknown(child, _KNOWN, "<allocations>")
    legacy = fields.pop("legacy_fair_share_timeout_ms", None)
    fields.setdefault("fair_share_timeout_ms", legacy)
    settings, elements = read_queues(queues, values)
    result = AllocationSettings(
        queues=settings,
        user_max_applications=_users(users, values),
        from_file=True,
        **{field: value for field, value in fields.items() if value is not None},
    )
    _check_policies(result, elements, values)
    _check_acls(result, elements, values)
    return result


def _reader_of(name: str) -> tuple[str, Callable[[ElementValues, Element], Any]] | None:
    """The field of an element at the top, and the function that reads it."""
    setting = BY_NAME.get(name)
    if setting is not None:
        return setting.field, setting.read
    if name == _LEGACY_TIMEOUT:
        return "legacy_fair_share_timeout_ms", ElementValues.seconds
    if name == _RULES:
        return "rules", lambda values, element: read_placement_policy(element, values)
    return None


def _users(elements: list[Element], values: ElementValues) -> dict[str, int]:
    limits: dict[str, int] = {}
    for element in elements:
        values.attributes(element, ("name",))
        name = element.attributes.get("name", "")
        if not name:
            values.problems.warning(
                element.place, "user", "a <user> without name has no effect", "ignores it"
            )
        for child in element.children:
            if child.name != "maxRunningApps":
                values.unknown(child, ("maxRunningApps",), "<user>")
                continue
            if name in limits:
                values.problems.warning(
                    child.place,
                    "repeated-element",
                    f"the limit of the user {name!r} is set again: the earlier one has no effect",
                    "takes the last one",
                )
            limit = values.applications(child)
            if limit is not None and name:
                limits[name] = limit
    return limits


def _check_policies(
    settings: AllocationSettings, elements: dict[str, Element], values: ElementValues
) -> None:
    """Report queues that their parent's policy forbids
    (Hadoop: SchedulingPolicy.isChildPolicyAllowed): they are not made."""

    def policy_of(name: str) -> Policy | None:
        queue = settings.queues.get(name)
        return POLICIES.get((queue and queue.policy) or settings.default_policy)

    for name, queue in settings.queues.items():
        policy, message = policy_of(name), ""
        above = name.rpartition(".")[0]
        parent = policy_of(above) if above else None
        if policy is None:
            continue
        if policy.leaf_only and (queue.parent or name == ROOT):
            message = (
                f"{name} is a parent queue, and the policy {policy.name} is for leaf queues only"
            )
        elif parent is not None and not parent.leaf_only and not parent.allows_child(policy):
            message = (
                f"{name} has the policy {policy.name},"
                f" and its parent {above} the policy {parent.name}"
            )
        if message:
            values.problems.trap(
                elements[name].place,
                "policy-pair",
                f"{message}: this cannot be, and what is below it is not made either",
                "logs an error and does not create the queue",
            )


def _check_acls(
    settings: AllocationSettings, elements: dict[str, Element], values: ElementValues
) -> None:
    """Report a list that excludes no users, because root's list allows all
    (Hadoop: FSQueue.hasAccess)."""
    for field, tag in (("submit_acl", "aclSubmitApps"), ("administer_acl", "aclAdministerApps")):
        root = settings.queues.get(ROOT, QueueSettings(ROOT))
        if (getattr(root, field) or _ALL_USERS).strip() != _ALL_USERS:
            continue
        for name, queue in settings.queues.items():
            if name != ROOT and (getattr(queue, field) or _ALL_USERS).strip() != _ALL_USERS:
                place = next(c.place for c in elements[name].children if c.name == tag)
                values.problems.trap(
                    place,
                    tag,
                    f"<{tag}> of {name} excludes no users, because root allows all:"
                    f" give the queue root <{tag}> of one blank",
                    "admits all users, too",
                )
                break

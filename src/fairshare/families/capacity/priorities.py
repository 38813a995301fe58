"""Owns two lists of priorities: those of users (Hadoop: AppPriorityACLsManager), and workflows'
(`yarn.scheduler.capacity.workflow-priority-mappings`).

Knows no property. All functions raise ValueError with a message that can follow its name.
"""

import re
from typing import Final

from fairshare.config import literals
from fairshare.schedulers.capacity.settings import PriorityRule, WorkflowPriority

_GROUP: Final = re.compile(r"\[([^\]]+)")
_KEYS: Final = ("user", "group", "max_priority", "default_priority")


def read_priority_rules(text: str, cluster_maximum: int) -> tuple[tuple[PriorityRule, ...], bool]:
    """Groups `[user=ann group=dev max_priority=7 default_priority=4]`, the lowest maximum first.

    A maximum above the cluster's is lowered to it; whether one was is the second answer. A text
    without groups, such as `*`, restricts no users.
    """
    rules, lowered = [], False
    for match in _GROUP.finditer(text):
        body = literals.trim(match.group(1))
        if body:
            rule = _rule(body)
            lowered |= rule.maximum_priority > cluster_maximum
            most = min(rule.maximum_priority, cluster_maximum)
            rules.append(PriorityRule(rule.acl, most, rule.default_priority))
    rules.sort(key=lambda rule: rule.maximum_priority)
    return tuple(rules), lowered


def _rule(body: str) -> PriorityRule:
    names: list[str] = []
    maximum: int | None = None
    default = 0
    for part in re.split(" +", body):
        key, _, value = part.partition("=")
        if not value:
            continue
        match literals.trim(key).lower():
            case "user" | "group":
                # As in Hadoop, the first of both names users, whatever it is called
                # (Hadoop: AppPriorityACLConfigurationParser).
                names = ["*", *names] if literals.trim(value) == "*" else [*names, value]
            case "max_priority":
                maximum = literals.integer(value)
            case "default_priority":
                default = max(literals.integer(value), 0)
            case other:
                known = ", ".join(_KEYS)
                raise ValueError(f"there is no key {other!r} in '[{body}]' (there are {known})")
    if not names:
        raise ValueError(f"'[{body}]' names no users: user= or group= is missing")
    if maximum is None:
        raise ValueError(f"'[{body}]' has no max_priority=")
    acl = "*" if names[0] == "*" else " ".join(names[:2])
    return PriorityRule(acl, maximum, default)


def read_workflow_priorities(text: str) -> tuple[WorkflowPriority, ...]:
    """Entries `workflow:queue:priority`, separated by commas; a workflow in any case of letters."""
    found = []
    for entry in (literals.trim(part) for part in text.split(",")):
        if not entry:
            continue
        parts = [piece for part in entry.split(":") if (piece := literals.trim(part))]
        if len(parts) != 3:
            raise ValueError(
                f"Illegal workflow priority mapping {entry!r}: it must be workflow:queue:priority"
            )
        try:
            priority = literals.integer(parts[2])
        except ValueError as error:
            raise ValueError(f"Illegal workflow priority for mapping {entry!r}: {error}") from error
        found.append(WorkflowPriority(parts[0].lower(), parts[1], priority))
    return tuple(found)

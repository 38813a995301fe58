"""Owns the names of queues' properties: which queue, user, label or template each belongs to.

Reads no value. Names of users may hold periods (`user-settings.<user>.weight`). Which settings
there are is in `queue_settings.py`.
"""

import difflib
import re
from collections.abc import Iterable
from typing import Final

from fairshare.families.capacity import queue_settings
from fairshare.families.capacity.names import LABELS, PREFIX, USERS, Scope
from fairshare.model.queues import ROOT

TEMPLATES: Final = {one.name: one.field for one in queue_settings.TEMPLATE}
"""The words between a queue and what it gives to queues made below it, and the settings' names."""

LABEL_SUFFIXES: Final = tuple(one.name for one in queue_settings.LABEL)
SUFFIXES: Final = frozenset(one.name for one in queue_settings.SETTINGS)
UNSUPPORTED: Final = frozenset(
    {
        "multi-node-sorting.policy",
        "auto-create-child-queue.management-policy",
        "reservable",
        "reservation-window",
        "reservation-policy",
        "reservation-agent",
        "reservation-planner",
        "reservation-move-on-expiry",
        "reservation-enforcement-window",
        "average-capacity",
        "instantaneous-max-capacity",
        "show-reservations-as-queues",
        "acl_administer_reservations",
        "acl_list_reservations",
        "acl_submit_reservations",
    }
)
"""Known of a queue, and not honoured here."""

_PATH: Final = rf"({ROOT}(?:\.[^.]+)*?)"
_TEMPLATE: Final = re.compile(
    rf"{_PATH}\.({'|'.join(re.escape(word) for word in TEMPLATES)})\.(.+)", re.DOTALL
)
_USER: Final = re.compile(
    rf"{_PATH}\.{re.escape(USERS)}(.+)\.{queue_settings.USER_WEIGHT.name}", re.DOTALL
)
_LABEL: Final = re.compile(
    rf"{_PATH}\.{re.escape(LABELS)}([^.]+)\.(?:{'|'.join(LABEL_SUFFIXES)})", re.DOTALL
)
_QUEUE: Final = re.compile(_PATH + r"\.(.+)", re.DOTALL)


_MOST_PARTS: Final = 1 + max(suffix.count(".") for suffix in SUFFIXES | UNSUPPORTED)
"""Of the suffix that has the most."""

HINTS: Final = 50
"""The number of mistakes that are reported with what may be meant: the search takes long."""


class QueueNames:
    """All scopes by (path, template), in the order of the files; names that are not a queue's."""

    def __init__(self, names: Iterable[str]) -> None:
        self.scopes: dict[tuple[str, str], Scope] = {}
        for name in names:
            if name.startswith(f"{PREFIX}{ROOT}."):
                self._sort_in(name)

    def scope(self, path: str, template: str = "") -> Scope:
        """That scope; an empty one if nothing is written of it."""
        return self.scopes.get((path, template)) or Scope(path, template, "")

    def _sort_in(self, name: str) -> None:
        rest = name.removeprefix(PREFIX)
        template = ""
        path = ""
        match = _TEMPLATE.fullmatch(rest)
        if match is not None:
            path, template, inner = match.groups()
            rest = f"{ROOT}.{inner}"  # a template's content looks like root's own
        found = _USER.fullmatch(rest) or _LABEL.fullmatch(rest)
        owner = found.group(1) if found else _owner(rest)
        if owner is None or (template and owner != ROOT):
            return
        path = path or owner
        scope = self.scopes.setdefault((path, template), Scope(path, template, name))
        scope.names.append(name)
        if found is not None:
            kind = scope.users if found.re is _USER else scope.labels
            if found.group(2) not in kind:
                kind.append(found.group(2))


def _owner(rest: str) -> str | None:
    """The queue of `root.a.capacity`: the part before the longest suffix that is known."""
    parts = rest.split(".")
    for length in range(max(1, len(parts) - _MOST_PARTS), len(parts)):
        suffix = ".".join(parts[length:])
        if suffix in SUFFIXES or suffix in UNSUPPORTED:
            return ".".join(parts[:length])
    return None


OLDER: Final = {
    "acl_submit_jobs": "acl_submit_applications",
    "acl_administer_jobs": "acl_administer_queue",
    "supports-priority": "",
    "maximum-initialized-active-tasks": "",
    "maximum-initialized-active-tasks-per-user": "",
    "init-accept-jobs-factor": "",
    "maximum-system-jobs": "maximum-applications",
}
"""Names of Hadoop 1 by what they are called now; empty: what they meant is gone."""

UNLIKE: Final = {
    "minimum-allocation-mb": "yarn.scheduler.minimum-allocation-mb in yarn-site.xml",
    "minimum-allocation-vcores": "yarn.scheduler.minimum-allocation-vcores in yarn-site.xml",
}
"""What looks like a property of queues, and is one of the whole cluster."""


def advice_on(name: str, known: Iterable[str]) -> str:
    """What to do about an unknown name: the end of a sentence, or nothing.

    >>> advice_on("yarn.scheduler.capacity.root.a.acl_submit_jobs", [])
    ': since Hadoop 2 it is yarn.scheduler.capacity.root.a.acl_submit_applications'
    """
    path, _, suffix = name.rpartition(".")
    if suffix in OLDER:
        now = OLDER[suffix]
        return f": since Hadoop 2 it is {path}.{now}" if now else ": it is of Hadoop 1, and gone"
    if suffix in UNLIKE:
        return f": the smallest container is the same in all queues, {UNLIKE[suffix]}"
    near = nearest_name(name, known)
    return f": is {near} meant?" if near else ""


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """What may be meant by an unknown name.

    >>> nearest_name("yarn.scheduler.capacity.root.a.maximum-capactiy", [])
    'yarn.scheduler.capacity.root.a.maximum-capacity'
    """
    rest = name.removeprefix(PREFIX)
    match = _QUEUE.fullmatch(rest)
    if match is None:
        if _owner(f"{ROOT}.{rest}") not in (None, ROOT):
            return f"{PREFIX}{ROOT}.{rest}"
        near = difflib.get_close_matches(name, list(known), 1, 0.85)
        return near[0] if near else None
    path, dot, suffix = rest.rpartition(".")
    near = difflib.get_close_matches(suffix, SUFFIXES, 1, 0.8)
    return f"{PREFIX}{path}{dot}{near[0]}" if near else None

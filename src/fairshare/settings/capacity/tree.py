"""Which queues there are, the tree of `.queues` lists, and how the settings of each queue, or of a
template for queues, are read: which queue, user, label or template each property belongs to, and
then by the tables of `queue_settings.py`.

Names of users may hold periods (`user-settings.<user>.weight`). Knows no setting but the list of
children and what creates queues, and nothing of what is inherited (Hadoop:
CapacitySchedulerConfiguration).
"""

import difflib
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from fairshare.core.model.queues import ROOT, parent_name
from fairshare.core.schedulers.capacity.queues import STOPPED
from fairshare.core.schedulers.capacity.settings import LabelCapacity, QueueSettings, Template
from fairshare.documents.problems import Problems
from fairshare.settings.capacity import queue_settings
from fairshare.settings.capacity.names import LABELS, PREFIX, USERS, Scope
from fairshare.settings.capacity.queue_settings import (
    CHILDREN,
    LABEL,
    READ_AT_START,
    READ_TO_MAKE,
    SETTINGS,
    USER_WEIGHT,
)
from fairshare.settings.capacity.queue_values import Kind, QueueValues
from fairshare.settings.known_names import nearest
from fairshare.settings.setting import Setting, by_name
from fairshare.settings.site import Site

TEMPLATES: Final = {one.name: one.field for one in queue_settings.TEMPLATE}
"""The words between a queue and what it gives to queues made below it, and the settings' names."""

LABEL_SUFFIXES: Final = tuple(one.name for one in queue_settings.LABEL)
SUFFIXES: Final = frozenset(
    {"auto-create-child-queue.management-policy", *(one.name for one in queue_settings.SETTINGS)}
)
UNSUPPORTED: Final = frozenset(
    {
        "multi-node-sorting.policy",
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
            kind.setdefault(found.group(2))


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


def advice_on(name: str, *, search: bool = True) -> str:
    """What to do about an unknown name: the end of a sentence, or nothing; without a `search` for
    similar names, which takes long.

    >>> advice_on("yarn.scheduler.capacity.root.a.acl_submit_jobs")
    ': since Hadoop 2 it is yarn.scheduler.capacity.root.a.acl_submit_applications'
    """
    path, _, suffix = name.rpartition(".")
    if suffix in OLDER:
        now = OLDER[suffix]
        return f": since Hadoop 2 it is {path}.{now}" if now else ": it is of Hadoop 1, and gone"
    if suffix in UNLIKE:
        return f": the smallest container is the same in all queues, {UNLIKE[suffix]}"
    near = nearest_name(name) if search else None
    return f": is {near} meant?" if near else ""


def nearest_name(name: str) -> str | None:
    """What may be meant by an unknown name.

    >>> nearest_name("yarn.scheduler.capacity.root.a.maximum-capactiy")
    'yarn.scheduler.capacity.root.a.maximum-capacity'
    """
    rest = name.removeprefix(PREFIX)
    match = _QUEUE.fullmatch(rest)
    if match is None:
        if _owner(f"{ROOT}.{rest}") not in (None, ROOT):
            return f"{PREFIX}{ROOT}.{rest}"
        return nearest(name)
    path, dot, suffix = rest.rpartition(".")
    near = difflib.get_close_matches(suffix, SUFFIXES, 1, 0.8)
    return f"{PREFIX}{path}{dot}{near[0]}" if near else None


_BY_NAME = by_name(SETTINGS)
NAMES: Final = frozenset(_BY_NAME)


class QueueReader:
    """Reads scopes. What is wrong in a value is reported at its place, and read as absent."""

    def __init__(self, values: QueueValues) -> None:
        self._values = values

    def forgiving(self) -> "QueueReader":
        """A reader of what Hadoop does not look at when it starts: a wrong value is reported."""
        return QueueReader(self._values.forgiving())

    def value(self, scope: Scope, name: str) -> Any:
        """One setting by its name; None if it is not written."""
        return _BY_NAME[name].read(self._values.at(scope), scope.prefix + name)

    def children(self, scope: Scope) -> tuple[str, ...] | None:
        """The short names of the queues right below; None if the file has no list."""
        names: tuple[str, ...] | None = self.value(scope, CHILDREN.name)
        return names

    def makes_queues(self, scope: Scope) -> bool:
        """Whether queues may be made below this one on demand, so that it is a parent."""
        makers = ("auto-queue-creation-v2.enabled", "auto-create-child-queue.enabled")
        return any(self.value(scope, name) for name in makers)

    def read(
        self,
        scope: Scope,
        kind: Kind,
        children: tuple[str, ...] | None = None,
        at_start: Collection[str] = NAMES,
        made: Sequence[Kind] = (),
    ) -> QueueSettings:
        """Everything that is written of a queue or in a template. `at_start` are the names of what
        Hadoop reads at its start; what is wrong elsewhere keeps queues of the kinds `made` from
        being created."""
        values = self._values.at(scope, kind)
        later = values.forgiving()
        if made:  # what keeps queues from being created is reported below, and the rest is not read
            later = later.aside(Problems())
        of_user = values if at_start is NAMES else later
        users = {
            user: USER_WEIGHT.read(of_user, f"{scope.prefix}{USERS}{user}.{USER_WEIGHT.name}")
            for user in scope.users
            if not scope.template
        }
        of_label = values if at_start else later
        early = [name for name in at_start if name not in _unread(scope)]
        labels = {
            label: {
                one.field: one.read(of_label, f"{scope.prefix}{LABELS}{label}.{one.name}")
                for one in LABEL
            }
            for label in scope.labels
        }
        return QueueSettings(
            children=children,
            user_weights={user: found for user, found in users.items() if found is not None},
            label_capacities={label: LabelCapacity(**found) for label, found in labels.items()},
            unreadable=self._unreadable(scope, at_start, made),
            **{
                one.field: one.read(values if one.name in early else later, scope.prefix + one.name)
                for one in SETTINGS
                if one is not CHILDREN
            },
        )

    def _unreadable(
        self, scope: Scope, at_start: Collection[str], made: Sequence[Kind]
    ) -> dict[str, str]:
        """What is wrong in a value that Hadoop reads when a queue is created; see
        `QueueSettings.unreadable`."""
        reasons: dict[str, str] = {}
        written = {name.removeprefix(scope.prefix) for name in scope.names}
        lists: list[tuple[Kind, Iterable[Setting]]] = [("maker", READ_TO_MAKE)]
        passed = (*at_start, CHILDREN.name, *_unread(scope))
        later = [setting for setting in SETTINGS if setting.name not in passed]
        lists += [(kind, later) for kind in made]
        for kind, settings in lists:
            for setting in settings:
                if setting.name in written:
                    self._try(scope, kind, setting, setting.name, reasons)
            for user in scope.users if kind != "maker" and not scope.template else ():
                self._try(scope, kind, USER_WEIGHT, f"{USERS}{user}.{USER_WEIGHT.name}", reasons)
        return reasons

    def _try(
        self, scope: Scope, kind: Kind, setting: Setting, suffix: str, reasons: dict[str, str]
    ) -> None:
        problems = Problems()
        setting.read(self._values.aside(problems).at(scope, kind), scope.prefix + suffix)
        for problem in problems.errors[:1]:
            reasons[f"{kind}:{setting.field}"] = problem.message
            self._values.report_unusable(problem)


def _unread(scope: Scope) -> tuple[str, ...]:
    """What is not even read beside what is written of a queue."""
    written = scope.prefix + "maximum-allocation" in scope.names
    return ("maximum-allocation-mb", "maximum-allocation-vcores") if written else ()


MADE: Final[dict[str, tuple[Kind, ...]]] = {
    "common": ("leaf", "parent"),
    "leaf": ("leaf",),
    "parent": ("parent",),
    "legacy_leaf": ("leaf",),
}
"""Which queues are made of a template."""

_LONGEST_NAME_COMPARED = 200
"""Of a longer one the nearest is not looked for: this takes the square of its length."""


class QueueTree(msgspec.Struct, frozen=True):
    """Queues by full path, parents before children; templates by the path of their owner."""

    queues: dict[str, QueueSettings]
    templates: dict[str, Template]


def read_tree(site: Site, reader: QueueReader, problems: Problems) -> QueueTree:
    """All queues of a site."""
    names = QueueNames(found.name for found in site)
    queues = dict(_listed(names, reader))
    templates: dict[str, Template] = {}
    unlisted = 0
    for (path, template), scope in names.scopes.items():
        if template:
            for user in scope.users:
                name = f"{scope.prefix}{USERS}{user}.{USER_WEIGHT.name}"
                site.text(name, problems)
                message = f"{name} has no effect: only queues of the file have weights of users"
                problems.warning(site.place(name), "without-effect", message, "ignores it")
            # Hadoop reads a part of the older templates at its start, and the rest, as all of the
            # others, when a queue is made.
            field = TEMPLATES[template]
            at_start = READ_AT_START if field == "legacy_leaf" else ()
            found = {field: reader.read(scope, "either", at_start=at_start, made=MADE[field])}
            templates[path] = msgspec.structs.replace(templates.get(path, Template()), **found)
        elif path not in queues:
            if _made_on_demand(path, queues):
                children = reader.forgiving().children(scope)
                queues[path] = reader.read(
                    scope, "either", children, at_start=(), made=MADE["common"]
                )
            else:
                unlisted += 1
                if reader.forgiving().value(scope, "state") == STOPPED:
                    queues[path] = QueueSettings(state=STOPPED)  # a reload may take it away
                _report_unlisted(scope, queues if unlisted <= HINTS else {}, site, problems)
        _report_unsupported(scope, site, problems)
        _check_policy(
            scope, bool(path in queues and queues[path].legacy_dynamic_leaves), site, problems
        )
    return QueueTree(queues, templates)


def _listed(names: QueueNames, reader: QueueReader) -> Iterator[tuple[str, QueueSettings]]:
    """The queues that lists of children lead to, from root down."""
    waiting = deque([ROOT])
    while waiting:
        path = waiting.popleft()
        scope = names.scope(path)
        children = reader.children(scope)
        waiting.extend(f"{path}.{child}" for child in children or ())
        parent = bool(children) or path == ROOT or reader.makes_queues(scope)
        yield path, reader.read(scope, "parent" if parent else "leaf", children)


def _made_on_demand(path: str, queues: dict[str, QueueSettings]) -> bool:
    """Whether a queue above may have queues made below it, so that one of this name can come."""
    above = parent_name(path)
    while above:
        if above in queues and queues[above].dynamic_children:
            return True
        above = parent_name(above)
    owner = queues.get(parent_name(path))
    return owner is not None and bool(owner.legacy_dynamic_leaves)


def _report_unlisted(scope: Scope, meant: Collection[str], site: Site, problems: Problems) -> None:
    for name in scope.names:
        site.text(name, Problems())  # reported here, once for all properties of the queue
    short = len(scope.path) <= _LONGEST_NAME_COMPARED
    near = difflib.get_close_matches(scope.path, meant, 1, 0.85) if short else []
    hint = f". Is {near[0]} meant?" if near else ""
    problems.warning(
        site.place(scope.first),
        "unlisted-queue",
        f"there is no queue {scope.path}: {PREFIX}{parent_name(scope.path)}.queues does not name"
        f" it, so that its properties have no effect{hint}",
        "ignores them",
    )


_POLICY: Final = "auto-create-child-queue.management-policy"
_POLICY_CLASS: Final = (
    "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.queuemanagement"
    ".GuaranteedOrZeroCapacityOverTimePolicy"
)


def _check_policy(scope: Scope, managed: bool, site: Site, problems: Problems) -> None:
    """The class that gives capacities to older created leaves: there is one."""
    name = scope.prefix + _POLICY
    written = site.string(name, _POLICY_CLASS, problems)
    if written != _POLICY_CLASS:
        add = problems.error if managed else problems.warning
        message = (
            f"{name}: Could not instantiate AutoCreatedQueueManagementPolicy: {written} (there is"
            f" {_POLICY_CLASS})"
        )
        add(site.place(name), "property-value", message, "does not start without the class")


def _report_unsupported(scope: Scope, site: Site, problems: Problems) -> None:
    for suffix in sorted(UNSUPPORTED):
        name = scope.prefix + suffix
        if name in site:
            site.text(name, problems)
            problems.warning(
                site.place(name), "unsupported", f"{name} is not honoured here", "honours it"
            )

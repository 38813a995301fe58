"""Owns which queues there are, the tree of `.queues` lists, and how the settings of each queue, or
of a template for queues, are read: by their tables.

Knows no setting but the list of children and what creates queues, and nothing of what is inherited
(Hadoop: CapacitySchedulerConfiguration).
"""

import difflib
from collections import deque
from collections.abc import Collection, Iterator
from typing import Any

import msgspec

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.capacity.known_names import HINTS, TEMPLATES, UNSUPPORTED, QueueNames
from fairshare.families.capacity.names import LABELS, PREFIX, USERS, Scope
from fairshare.families.capacity.queue_settings import CHILDREN, LABEL, SETTINGS, USER_WEIGHT
from fairshare.families.capacity.queue_values import Kind, QueueValues
from fairshare.families.setting import by_name
from fairshare.model.queues import ROOT, parent_name
from fairshare.schedulers.capacity.queues import STOPPED
from fairshare.schedulers.capacity.settings import LabelCapacity, QueueSettings, Template

_BY_NAME = by_name(SETTINGS)


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
        return self.value(scope, CHILDREN.name)  # type: ignore[no-any-return]

    def makes_queues(self, scope: Scope) -> bool:
        """Whether queues may be made below this one on demand, so that it is a parent."""
        makers = ("auto-queue-creation-v2.enabled", "auto-create-child-queue.enabled")
        return any(self.value(scope, name) for name in makers)

    def read(
        self, scope: Scope, kind: Kind, children: tuple[str, ...] | None = None
    ) -> QueueSettings:
        """Everything that is written of a queue or in a template."""
        values = self._values.at(scope, kind)
        users = {
            user: USER_WEIGHT.read(values, f"{scope.prefix}{USERS}{user}.{USER_WEIGHT.name}")
            for user in scope.users
        }
        labels = {
            label: {
                one.field: one.read(values, f"{scope.prefix}{LABELS}{label}.{one.name}")
                for one in LABEL
            }
            for label in scope.labels
        }
        return QueueSettings(
            children=children,
            user_weights={user: found for user, found in users.items() if found is not None},
            label_capacities={label: LabelCapacity(**found) for label, found in labels.items()},
            **{
                one.field: one.read(values, scope.prefix + one.name)
                for one in SETTINGS
                if one is not CHILDREN
            },
        )


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
            # Hadoop reads the older templates at its start, the others when a queue is made.
            field = TEMPLATES[template]
            used = reader if field == "legacy_leaf" else reader.forgiving()
            found = {field: used.read(scope, "either")}
            templates[path] = msgspec.structs.replace(templates.get(path, Template()), **found)
        elif path not in queues:
            if _made_on_demand(path, queues):
                used = reader.forgiving()
                queues[path] = used.read(scope, "either", used.children(scope))
            else:
                unlisted += 1
                if reader.forgiving().value(scope, "state") == STOPPED:
                    queues[path] = QueueSettings(state=STOPPED)  # a reload may take it away
                _report_unlisted(scope, queues if unlisted <= HINTS else {}, site, problems)
        _report_unsupported(scope, site, problems)
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


def _report_unsupported(scope: Scope, site: Site, problems: Problems) -> None:
    for suffix in sorted(UNSUPPORTED):
        name = scope.prefix + suffix
        if name in site:
            site.text(name, problems)
            problems.warning(
                site.place(name), "unsupported", f"{name} is not honoured here", "honours it"
            )

"""Owns which queues there are: the tree of `.queues` lists, and what is written of other queues.

Knows no property of a queue but its list of children, and what lets queues be made on demand.
"""

import difflib
from collections import deque
from collections.abc import Collection, Iterator

import msgspec

from fairshare.config.problems import Problems
from fairshare.config.site import Site
from fairshare.families.capacity.known_names import HINTS, TEMPLATES, UNSUPPORTED, QueueNames
from fairshare.families.capacity.names import PREFIX, Scope
from fairshare.families.capacity.queue import QueueReader
from fairshare.model.queues import ROOT, parent_name
from fairshare.schedulers.capacity.queues import STOPPED
from fairshare.schedulers.capacity.settings import QueueSettings, Template

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

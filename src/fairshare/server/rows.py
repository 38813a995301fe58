"""The rows of all lists: one frozen record for each application and each node, made again only
where its thing may have changed.

REST, the pages, their past and YARN's documents are lists of such rows. A row leaves out what
changes all the time, such as the headroom of an application or the use of a GPU: that is filled in
for each answer. A list is therefore O(n) in its things, one look each, and shows one instant: when
its rows are complete, only frozen records are left to be written in slices.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Generic, TypeVar

import msgspec

from fairshare.api.applications import ApplicationRow
from fairshare.api.nodes import Node as NodeRow
from fairshare.api.values import EMPTY
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.model.nodes import Node
from fairshare.core.schedulers.protocol import State
from fairshare.runtime.projections.application_versions import ApplicationVersions
from fairshare.server.service import Service
from fairshare.server.slices import sliced
from fairshare.server.views import filled, kind_of, node_row, progress_of

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")
Row = TypeVar("Row")
Form = TypeVar("Form", bound=ApplicationRow)

ROUNDS: Final = 4
"""How often rows that changed meanwhile are renewed in slices."""

FEW: Final = 30
"""How many rows may remain for the final unsliced step: about one slice of work."""


class Rows(ABC, Generic[Key, Item, Row]):
    """The rows of all things of one kind. An unchanged row stays the same object, so that readers
    can compare by identity."""

    def __init__(self) -> None:
        self._rows: dict[Key, Row] = {}

    @abstractmethod
    def things(self) -> Mapping[Key, Item]:
        """All things that there are now."""

    @abstractmethod
    def make(self, item: Item) -> Row:
        """The row of a thing as it is now."""

    @abstractmethod
    def outdated(self) -> Iterable[Key] | None:
        """The keys of the rows that may have changed since the last call; None: all of them."""

    def _without_outdated(self) -> dict[Key, Row]:
        rows, outdated = self._rows, self.outdated()
        if outdated is None:
            rows.clear()
        else:
            for key in outdated:
                rows.pop(key, None)
        if len(rows) > 2 * len(self.things()):
            self._rows = rows = {key: rows[key] for key in self.things() if key in rows}
        return rows

    def _renewed(self, key: Key) -> Row:
        row = self._rows[key] = self.make(self.things()[key])
        return row

    def all(self) -> dict[Key, Row]:
        """The rows of all things as they are now."""
        rows = self._without_outdated()
        return {key: rows[key] if key in rows else self._renewed(key) for key in self.things()}

    async def of_one_instant(self, chosen: Callable[[], Iterable[Key]]) -> dict[Key, Row]:
        """The rows of the chosen things, all of the instant in which this returns.

        Outdated rows are renewed in slices until few are left; what changes faster than it is
        renewed is renewed at once in the end.
        """
        for rounds in range(ROUNDS, -1, -1):
            rows, keys = self._without_outdated(), list(chosen())
            missing = [key for key in keys if key not in rows]
            if not rounds or len(missing) <= FEW:
                break
            async for key in sliced(missing):
                if key in self.things():
                    self._renewed(key)
        return {key: rows[key] if key in rows else self._renewed(key) for key in keys}

    async def newest(self, fits: Callable[[Row], bool], most: int) -> dict[Key, Row]:
        """The last rows that fit, the newest first, at most `most`, all of one instant.

        It looks no further than the last of them.
        """
        chosen = self._newest(fits, most)
        if chosen is None:
            await self.of_one_instant(self.things)  # and nothing changes before the next look
            chosen = self._newest(fits, most)
        assert chosen is not None, "all rows have just been renewed"
        return chosen

    def _newest(self, fits: Callable[[Row], bool], most: int) -> dict[Key, Row] | None:
        """None where more rows would have to be renewed than at once."""
        rows, chosen, renewed = self._without_outdated(), dict[Key, Row](), 0
        for key in reversed(list(self.things())):
            row = rows.get(key)
            if row is None:
                renewed += 1
                if renewed > FEW:
                    return None
                row = self._renewed(key)
            if fits(row):
                chosen[key] = row
                if len(chosen) == most:
                    break
        return chosen


class ApplicationDocuments(Rows[ApplicationId, Application, Row]):
    """Records of applications, which are outdated once a record of the journal speaks of theirs."""

    def __init__(self, service: Service, versions: ApplicationVersions) -> None:
        super().__init__()
        self._service = service
        self._versions = versions
        self._seen = 0  # the last record that the rows reflect

    def things(self) -> Mapping[ApplicationId, Application]:
        """All known applications, the oldest first."""
        return self._service.state.applications

    def outdated(self) -> list[ApplicationId] | None:
        """Those that records speak of."""
        outdated = self._versions.since(self._seen)
        self._seen = self._service.version
        return outdated


class ApplicationRows(ApplicationDocuments[ApplicationRow]):
    """The applications, without their `VolatileFields`."""

    def make(self, item: Application) -> ApplicationRow:
        """One application."""
        return msgspec.structs.replace(
            application_row(self._service, item),
            demand=EMPTY,
            fair_share=EMPTY,
            headroom=EMPTY,
            diagnostics="",
            job=None,
        )


def application_row(service: Service, application: Application) -> ApplicationRow:
    """One application with all fields of its row."""
    return application_document(ApplicationRow, service, application)


def application_document(
    form: type[Form], service: Service, application: Application, **more: object
) -> Form:
    """One application as an answer of some form, with `more` fields."""
    state: State = service.state
    start = state.deferred.get(application.id)
    if start is not None:  # what is left of the conditions for its start
        after = tuple(
            f"{application_name(state.epoch_ms, one.application)}:{one.outcome}"
            for one in start.after
        )
        more.update(held=start.held, begin_ms=start.begin_ms or None, after=after)
    return filled(
        form,
        service.views.application(application.id),
        state.types,
        id=application_name(state.epoch_ms, application.id),
        kind=kind_of(application),
        progress=progress_of(service.views.groups(application)),
        tags=application.submission.tags,
        expires_ms=application.expires_ms,
        **more,
    )


class NodeDocuments(Rows[str, Node, Row]):
    """Records of nodes: each node is compared with what it was, since many things change it."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state
        self._seen: dict[str, object] = {}

    def things(self) -> Mapping[str, Node]:
        """All nodes in the order of registration."""
        return self._state.nodes

    def outdated(self) -> list[str]:
        """Those of which some value that a row shows has changed."""
        nodes = self.things()
        outdated = [
            name
            for name, values in self._seen.items()
            if (node := nodes.get(name)) is None or self.fingerprint(node) != values
        ]
        for name in outdated:
            del self._seen[name]
        return outdated

    def _renewed(self, key: str) -> Row:
        self._seen[key] = self.fingerprint(self.things()[key])
        return super()._renewed(key)

    def fingerprint(self, item: Node) -> tuple[object, ...]:
        """All values that `node_row` reads."""
        return (
            item.available,
            item.total,
            len(item.containers),
            item.occupants,
            item.reservation,
            item.rack,
            item.attributes,
            self._state.drains.get(item.name),
            self._state.failing.get(item.name),
            self._state.label_of(item),
        )


class NodeRows(NodeDocuments[NodeRow]):
    """The nodes, without what is measured of their GPUs."""

    def make(self, item: Node) -> NodeRow:
        """One node."""
        return node_row(self._state, item)

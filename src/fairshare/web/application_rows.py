"""Owns the rows of applications: what lists and answers show of one, and the list's bytes.

The part of a row that only records about the application change is cached as bytes until the next
such record. The fields that other events can change (`VolatileFields`) are written for each answer.
A list is therefore O(n) in applications, one comparison each, without building n documents. A list
shows one instant: only frozen values are written in slices.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import msgspec

from fairshare.api.applications import ApplicationRow
from fairshare.families.registry import family_of
from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId, application_name
from fairshare.model.resources import Resource
from fairshare.schedulers.protocol import State
from fairshare.schedulers.views import VolatileFields
from fairshare.server.server import LiveServer
from fairshare.server.views import kind_of, progress_of
from fairshare.web.answers import encoded, filled
from fairshare.web.slices import brought_up_to_date, sliced
from fairshare.wording import without_output

Row = TypeVar("Row", bound=ApplicationRow)

MAX_VECTORS: Final = 10_000

Chosen = Callable[[], Iterable[tuple[Application, bool]]]
"""The applications that a list has now, and whether all of their output may be shown."""


def application_row(server: LiveServer, application: Application) -> ApplicationRow:
    """One application as a list shows it."""
    return application_document(ApplicationRow, server, application)


def application_document(
    form: type[Row], server: LiveServer, application: Application, **more: Any
) -> Row:
    """One application as an answer of some form, with `more` fields."""
    views = server.service.views
    state = server.service.state
    return filled(
        form,
        views.application(application.id),
        state.types,
        id=application_name(state.epoch_ms, application.id),
        kind=kind_of(application),
        progress=progress_of(views.groups(application)),
        tags=application.submission.tags,
        expires_ms=application.expires_ms,
        **_deferral(state, application),
        **more,
    )


def _deferral(state: State, application: Application) -> dict[str, Any]:
    """What is left of the conditions for the application's start."""
    start = state.deferred.get(application.id)
    if start is None:
        return {}
    after = tuple(
        f"{application_name(state.epoch_ms, one.application)}:{one.outcome}" for one in start.after
    )
    return {"held": start.held, "begin_ms": start.begin_ms or None, "after": after}


class KeptRow(msgspec.Struct, frozen=True):
    """A row in three parts, around the fields of `VolatileFields`."""

    before: bytes
    between: bytes
    after: bytes


class ApplicationRows:
    """The rows of one server's applications."""

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._family = family_of(server.scheduler_name)
        self._kept: dict[ApplicationId, KeptRow] = {}
        self._seen = 0  # the last record that the cache reflects
        self._vectors: dict[Resource, bytes] = {}

    async def listed(self, chosen: Chosen) -> bytes:
        """The answer with the chosen applications, all of one instant."""
        if self._family.volatile_fields(self._server.scheduler) is None:
            whole = [(application_row(self._server, one), full) for one, full in chosen()]
            return _list([_open_row(row, full) async for row, full in sliced(whole)])
        self._let_go()
        await brought_up_to_date(
            lambda: (one for one, _ in chosen()),
            lambda one: one.id not in self._kept,
            self._write,
            len(self._server.service.state.applications) - len(self._kept),
        )
        self._let_go()
        look = self._family.volatile_fields(self._server.scheduler)
        assert look is not None
        kept = self._kept
        found = [(kept.get(one.id) or self._write(one), look(one), full) for one, full in chosen()]
        return _list([self._row(kept, rest, full) async for kept, rest, full in sliced(found)])

    def _let_go(self) -> None:
        """Drop the cached rows of applications that records have changed since the last call."""
        changed = self._server.projections.application_versions.since(self._seen)
        self._seen = self._server.service.version
        if changed is None:
            self._kept.clear()
            return
        for number in changed:
            self._kept.pop(number, None)

    def _write(self, application: Application) -> KeptRow:
        number = application.id
        content = encoded(application_row(self._server, application))
        # A quotation mark within a string is escaped with a backslash, and a vector holds only
        # numbers, whatever the names of its types: none of these markers can occur anywhere else.
        first = content.index(b',"demand":{')
        second = content.index(b'},"to_preempt":') + 1
        third = content.index(b',"diagnostics":"')
        fourth = content.index(b'","missed":', third) + 1
        kept = self._kept[number] = KeptRow(
            content[:first],
            content[second:third],
            content[fourth:],
        )
        return kept

    def _row(self, kept: KeptRow, rest: VolatileFields, full: bool) -> bytes:
        words = rest.diagnostics
        return b"".join(
            (
                kept.before,
                b',"demand":',
                self._vector(rest.demand),
                b',"fair_share":',
                self._vector(rest.fair_share),
                b',"headroom":',
                self._vector(rest.headroom),
                kept.between,
                b',"diagnostics":',
                encoded(words if full else without_output(words)) if words else b'""',
                kept.after,
            )
        )

    def _vector(self, resource: Resource) -> bytes:
        found = self._vectors.get(resource)
        if found is None:
            if len(self._vectors) >= MAX_VECTORS:
                self._vectors.clear()
            found = encoded(self._server.service.state.types.mapping(resource))
            self._vectors[resource] = found
        return found


def _list(rows: list[bytes]) -> bytes:
    return b'{"applications":[' + b",".join(rows) + b"]}"


def _open_row(row: ApplicationRow, full: bool) -> bytes:
    if not full:
        row = msgspec.structs.replace(row, diagnostics=without_output(row.diagnostics))
    return encoded(row)

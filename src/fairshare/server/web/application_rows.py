"""The rows of applications: what lists and answers show of one, and the list's bytes.

The part of a row that only records about the application change is cached as bytes until the next
such record. The fields that other events can change (`VolatileFields`) are written for each answer.
A list is therefore O(n) in applications, one comparison each, without building n documents. A list
shows one instant: only frozen values are written in slices.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, TypeVar

import msgspec

from fairshare.api.applications import ApplicationRow
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId, application_name
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.protocol import State
from fairshare.core.schedulers.views import VolatileFields
from fairshare.server.row_cache import RowCache, cut
from fairshare.server.server import LiveServer
from fairshare.server.slices import rows_of_one_instant, sliced
from fairshare.server.views import kind_of, progress_of
from fairshare.server.web.answers import encoded, filled
from fairshare.settings.registry import family_of
from fairshare.wording import without_output

Form = TypeVar("Form", bound=ApplicationRow)

MAX_VECTORS: Final = 10_000

Shown = tuple[Application, bool]
"""An application of a list, and whether all of its output may be shown."""

Chosen = Callable[[], Iterable[Shown]]
"""The applications that a list has now."""


def application_row(server: LiveServer, application: Application) -> ApplicationRow:
    """One application as a list shows it."""
    return application_document(ApplicationRow, server, application)


def application_document(
    form: type[Form], server: LiveServer, application: Application, **more: Any
) -> Form:
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


class ApplicationRows(RowCache[ApplicationId, Shown, tuple[bytes, ...]]):
    """The rows of one server's applications, cut where the fields of `VolatileFields` belong."""

    def __init__(self, server: LiveServer) -> None:
        super().__init__()
        self._server = server
        self._family = family_of(server.scheduler_name)
        self._seen = 0  # the last record that the cache reflects
        self._vectors: dict[Resource, bytes] = {}

    async def listed(self, chosen: Chosen) -> bytes:
        """The answer with the chosen applications, all of one instant."""
        if self._family.volatile_fields(self._server.scheduler) is None:
            whole = [(application_row(self._server, one), full) for one, full in chosen()]
            return _list([_open_row(row, full) async for row, full in sliced(whole)])
        shown, rows = await rows_of_one_instant(self, chosen)
        look = self._family.volatile_fields(self._server.scheduler)
        assert look is not None
        found = [(kept, look(one), full) for (one, full), kept in zip(shown, rows, strict=True)]
        return _list([self._row(kept, rest, full) async for kept, rest, full in sliced(found)])

    def key(self, item: Shown) -> ApplicationId:
        """Its number: the row is the same for all readers."""
        return item[0].id

    def changed(self) -> Iterable[ApplicationId] | None:
        """Those that records speak of."""
        changed = self._server.projections.application_versions.since(self._seen)
        self._seen = self._server.service.version
        return changed

    def known(self, key: ApplicationId) -> bool:
        """Whether the application is not forgotten."""
        return key in self._server.service.state.applications

    def make(self, item: Shown) -> tuple[bytes, ...]:
        """The three pieces of a row."""
        # A vector holds only numbers, whatever the names of its types: with the braces or quotation
        # marks of their values, none of these markers can occur anywhere else.
        return cut(
            encoded(application_row(self._server, item[0])),
            (b',"demand":{', b"}," + _field_after("headroom")),
            (b',"diagnostics":"', b'",' + _field_after("diagnostics")),
        )

    def _row(self, kept: tuple[bytes, ...], rest: VolatileFields, full: bool) -> bytes:
        words = rest.diagnostics
        before, between, after = kept
        return b"".join(
            (
                before,
                self._vector(rest.demand),
                b'},"fair_share":{',
                self._vector(rest.fair_share),
                b'},"headroom":{',
                self._vector(rest.headroom),
                between,
                encoded(words if full else without_output(words))[1:-1] if words else b"",
                after,
            )
        )

    def _vector(self, resource: Resource) -> bytes:
        found = self._vectors.get(resource)
        if found is None:
            if len(self._vectors) >= MAX_VECTORS:
                self._vectors.clear()
            found = encoded(self._server.service.state.types.mapping(resource))[1:-1]
            self._vectors[resource] = found
        return found


@cache
def _field_after(name: str) -> bytes:
    """What the field that follows this one in a row begins with: `"missed":` after diagnostics."""
    names = ApplicationRow.__struct_fields__
    return f'"{names[names.index(name) + 1]}":'.encode()


def _list(rows: list[bytes]) -> bytes:
    return b'{"applications":[' + b",".join(rows) + b"]}"


def _open_row(row: ApplicationRow, full: bool) -> bytes:
    if not full:
        row = msgspec.structs.replace(row, diagnostics=without_output(row.diagnostics))
    return encoded(row)

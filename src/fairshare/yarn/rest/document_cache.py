"""The cached JSON of applications: written once for each record about one of them.

Fields that depend on the clock or on other applications fill gaps between the cached pieces:
`diagnostics`, the elapsed time, the use until now with its part of queue and cluster, and the
remaining lifetime. The functions that make the whole document also compute the gaps. A `Moment` of
an application is frozen: its bytes can be made later.
"""

from collections.abc import Callable, Hashable, Iterable

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.resources import Resource, ResourceTypes, scale, subtract, total
from fairshare.runtime.projections.attempt_history import ApplicationAttempts
from fairshare.server.row_cache import RowCache, cut
from fairshare.server.slices import rows_of_one_instant, sliced
from fairshare.yarn.rest.application_documents import (
    application_info,
    finished_ms,
    shown_seconds,
    timeouts_of,
)
from fairshare.yarn.rest.diagnostics import application_diagnostics, waiting_for
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.rest.rendering import encoder

MAX_FORMS = 3
"""How many sets of fields have cached documents."""

Shown = tuple[Application, bool]
"""An application, and whether the caller may view all of it."""

_NOBODYS_PARTS = (b"0.0", b"0.0")


class Use(msgspec.Struct, frozen=True, gc=False):
    """The use over time, and its text. Until an instant `now_ms` it is
    `rate * now_ms + before`, in milliseconds times amounts; the map has `shown` types."""

    rate: Resource
    before: Resource
    form: bytes
    shown: int

    def written(self, now_ms: int, parts: tuple[bytes, bytes]) -> bytes:
        """The text of the gap; `parts` are the percentages of queue and cluster."""
        seconds = [
            (rate * now_ms + before) // 1_000
            for rate, before in zip(self.rate, self.before, strict=True)
        ]
        return self.form % (seconds[0], seconds[1], *parts, *seconds[: self.shown])


class CachedDocument(msgspec.Struct, frozen=True, gc=False):
    """The pieces around the gaps. A gap whose content is constant is part of its piece.

    `since_ms` is None where the elapsed time no longer changes; `simple`: there are no other gaps.
    """

    pieces: tuple[bytes, ...]
    waits: bool
    since_ms: int | None
    use: Use | None
    expires: bool
    simple: bool


class Moment(msgspec.Struct, frozen=True, gc=False):
    """The document of one application at one instant: the pieces, and the content of the gaps."""

    kept: CachedDocument
    words: bytes = b""
    parts: tuple[bytes, bytes] = _NOBODYS_PARTS
    timeouts: bytes = b""

    def written(self, now_ms: int) -> bytes:
        """Its JSON, at the instant of its view."""
        kept = self.kept
        first, second, third, fourth, last = kept.pieces
        lasted = b"" if kept.since_ms is None else b"%d" % max(0, now_ms - kept.since_ms)
        used = b"" if kept.use is None else kept.use.written(now_ms, self.parts)
        return b"".join(
            (first, self.words, second, lasted, third, used, fourth, self.timeouts, last)
        )


class DocumentCache(RowCache[tuple[ApplicationId, bool], Shown, CachedDocument]):
    """The documents without some fields, for callers who may view all of an application or not."""

    def __init__(self, gateway: Gateway, without: frozenset[str]) -> None:
        super().__init__()
        self._gateway = gateway
        self._without = without
        self._seen = 0  # the last record that the cache reflects
        self._reports = 0
        self._logs = 0

    def key(self, item: Shown) -> tuple[ApplicationId, bool]:
        """Its number, and whether all of it is shown."""
        application, full = item
        return application.id, full

    def changed(self) -> list[tuple[ApplicationId, bool]] | None:
        """Those that records, or reports of masters and nodes, speak of."""
        attempt_history, logs = self._gateway.attempt_history, self._gateway.log_aggregation
        found = self._gateway.changes.since(self._seen)
        if attempt_history.reports != self._reports:
            found = None
        elif found is not None:
            found += logs.changed_since(self._logs)
        self._seen, self._reports = self._gateway.version, attempt_history.reports
        self._logs = logs.version
        return None if found is None else [(one, full) for one in found for full in (True, False)]

    def known(self, key: tuple[ApplicationId, bool]) -> bool:
        """Whether the application is not forgotten."""
        return key[0] in self._gateway.scheduler.state.applications

    def make(self, item: Shown) -> CachedDocument:
        """The document of one application."""
        application, full = item
        gateway = self._gateway
        history = gateway.attempt_history.of(application.id)
        info = application_info(gateway, application, full=full, without=self._without)
        waits = waiting_for(gateway, application, history) is not None
        lasts = full and not finished_ms(application, history)
        use = _use(gateway.scheduler.state.types, application, history)
        expires = (
            "timeouts" not in self._without
            and application.expires_ms is not None
            and not application.over
        )
        return CachedDocument(
            pieces=cut(
                encoder.encode(info),
                (b',"diagnostics":', b',"clusterId":') if waits else None,
                (b',"elapsedTime":', b",") if lasts else None,
                (b',"memorySeconds":', b',"preemptedResourceMB":') if use else None,
                (b',"timeouts":', b"") if expires else None,
            ),
            waits=waits,
            since_ms=application.submitted_ms if lasts else None,
            use=use,
            expires=expires,
            simple=not waits and use is None and not expires,
        )


class DocumentView:
    """A view of one instant: values that several applications share are computed once."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.now_ms = gateway.now_ms()
        self._words: dict[Hashable, bytes] = {}
        self._parts: dict[tuple[str, Resource], tuple[bytes, bytes]] = {}

    def moment(self, application: Application, full: bool, kept: CachedDocument) -> Moment:
        """The document of an application now."""
        if kept.simple:
            return Moment(kept)
        words, parts, timeouts = b"", _NOBODYS_PARTS, b""
        if kept.waits:
            words = self._waiting(application)
        if kept.use is not None and full:
            parts = self._parts_of(application)
        if kept.expires:
            timeouts = encoder.encode(timeouts_of(application, self.now_ms))
        return Moment(kept, words, parts, timeouts)

    def _waiting(self, application: Application) -> bytes:
        history = self._gateway.attempt_history.of(application.id)
        key = waiting_for(self._gateway, application, history)
        found = self._words.get(key)
        if found is None:
            words = application_diagnostics(self._gateway, application, history, self.now_ms)
            found = self._words[key] = encoder.encode(words)
        return found

    def _parts_of(self, application: Application) -> tuple[bytes, bytes]:
        key = (application.queue, application.used)
        found = self._parts.get(key)
        if found is None:
            state = self._gateway.scheduler.state
            of_queue, of_cluster = self._gateway.yarn.usage_percentages(state, application)
            found = self._parts[key] = encoder.encode(of_queue), encoder.encode(of_cluster)
        return found


class DocumentCaches:
    """All cached documents of one server, by the set of fields that is left out."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._caches: dict[frozenset[str], DocumentCache] = {}

    async def written(
        self, chosen: Callable[[], Iterable[Shown]], without: frozenset[str]
    ) -> list[bytes]:
        """The JSON of each chosen application, all of one instant: only moments, which are frozen,
        are written in slices."""
        cache = self._caches.pop(without, None) or DocumentCache(self._gateway, without)
        self._caches[without] = cache  # at the end: the least recently used goes first
        while len(self._caches) > MAX_FORMS:
            del self._caches[next(iter(self._caches))]
        shown, rows = await rows_of_one_instant(cache, chosen)
        view = DocumentView(self._gateway)
        moments = [
            view.moment(one, full, kept) for (one, full), kept in zip(shown, rows, strict=True)
        ]
        return [moment.written(view.now_ms) async for moment in sliced(moments)]


def _use(
    types: ResourceTypes, application: Application, history: ApplicationAttempts
) -> Use | None:
    """The use over time of its live containers; None if it has none."""
    live = application.containers.values()
    if not live:
        return None
    size = len(types.names)
    rate = total((container.resource for container in live), size)
    begun = total((scale(one.resource, one.allocated_ms) for one in live), size)
    shown = shown_seconds(application, history, size)
    entries = b",".join(
        b'"entry":{"key":%s,"value":"%%d"}' % encoder.encode(name).replace(b"%", b"%%")
        for name in types.names[:shown]
    )
    form = (
        b'%d,"vcoreSeconds":%d'
        b',"queueUsagePercentage":%s,"clusterUsagePercentage":%s,"resourceSecondsMap":{'
    )
    return Use(rate, subtract(history.use_ms, begun), form + entries + b"}", shown)

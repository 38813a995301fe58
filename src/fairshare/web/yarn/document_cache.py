"""Owns the cached JSON of applications: written once for each record about one of them.

Fields that depend on the clock or on other applications fill gaps between the cached pieces:
`diagnostics`, the elapsed time, the use until now with its part of queue and cluster, and the
remaining lifetime. The functions that make the whole document also compute the gaps. A `Moment` of
an application is frozen: its bytes can be made later.
"""

from collections.abc import Hashable

import msgspec

from fairshare.model.applications import Application
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import Resource, ResourceTypes, scale, subtract, total
from fairshare.projections.attempt_history import ApplicationAttempts
from fairshare.web.yarn.application_documents import application_info, shown_seconds
from fairshare.web.yarn.diagnostics import application_diagnostics, waiting_for
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.rendering import encoder
from fairshare.web.yarn.states import finished_ms
from fairshare.web.yarn.timeouts import timeouts_of

MAX_SHELVES = 6
"""How many forms have cached documents: a server of many tenants mostly needs two."""

_NOBODYS_PARTS = (b"0.0", b"0.0")


class Use(msgspec.Struct, frozen=True):
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


class CachedDocument(msgspec.Struct, frozen=True):
    """The pieces around the gaps. A gap whose content is constant is part of its piece.

    `since_ms` is None where the elapsed time no longer changes; `simple`: there are no other gaps.
    """

    pieces: tuple[bytes, bytes, bytes, bytes, bytes]
    waits: bool
    since_ms: int | None
    use: Use | None
    expires: bool
    simple: bool


class Moment(msgspec.Struct, frozen=True):
    """The document of one application at one instant: the pieces, and the content of the gaps."""

    kept: CachedDocument
    words: bytes = b""
    parts: tuple[bytes, bytes] = _NOBODYS_PARTS
    timeouts: bytes = b""

    def written(self, now_ms: int) -> bytes:
        """Its JSON, with the instant of the glance."""
        kept = self.kept
        first, second, third, fourth, last = kept.pieces
        lasted = b"" if kept.since_ms is None else b"%d" % max(0, now_ms - kept.since_ms)
        used = b"" if kept.use is None else kept.use.written(now_ms, self.parts)
        return b"".join(
            (first, self.words, second, lasted, third, used, fourth, self.timeouts, last)
        )


class DocumentCache:
    """The documents of one form: for callers who may view all of it (`full`), and without some
    fields."""

    def __init__(self, gateway: Gateway, full: bool, without: frozenset[str]) -> None:
        self._gateway = gateway
        self._full = full
        self._without = without
        self._kept: dict[ApplicationId, CachedDocument] = {}
        self._seen = 0  # the last record that the cache reflects
        self._reports = 0
        self._logs = 0

    def let_go(self) -> None:
        """Drop the documents that records, or reports of masters and nodes, have changed since the
        last call."""
        attempt_history, logs = self._gateway.attempt_history, self._gateway.log_aggregation
        changed = self._gateway.changes.since(self._seen)
        if changed is None or attempt_history.reports != self._reports:
            self._kept.clear()
        else:
            for number in (*changed, *logs.changed_since(self._logs)):
                self._kept.pop(number, None)
        self._seen, self._reports = self._gateway.version, attempt_history.reports
        self._logs = logs.version

    @property
    def count(self) -> int:
        """How many documents are kept."""
        return len(self._kept)

    def outdated(self, application: Application) -> bool:
        """Whether an application has no cached document; as of the last `let_go`."""
        return application.id not in self._kept

    def write(self, application: Application) -> CachedDocument:
        """Write the document of one application, and cache it."""
        gateway, number = self._gateway, application.id
        history = gateway.attempt_history.of(number)
        info = application_info(gateway, application, full=self._full, without=self._without)
        waits = waiting_for(gateway, application, history) is not None
        lasts = self._full and not finished_ms(application, history)
        use = _use(gateway.scheduler.state.types, application, history)
        expires = (
            "timeouts" not in self._without
            and application.expires_ms is not None
            and not application.over
        )
        kept = self._kept[number] = CachedDocument(
            pieces=_pieces(encoder.encode(info), (waits, lasts, use is not None, expires)),
            waits=waits,
            since_ms=application.submitted_ms if lasts else None,
            use=use,
            expires=expires,
            simple=not waits and use is None and not expires,
        )
        return kept

    def kept(self, application: Application) -> CachedDocument:
        """The document of one application, as of the last `let_go`."""
        return self._kept.get(application.id) or self.write(application)

    def glance(self) -> "DocumentView":
        """A look at several applications in this instant."""
        self.let_go()
        return DocumentView(self._gateway, self, self._full)


class DocumentView:
    """A view of one instant: values that several applications share are computed once."""

    def __init__(self, gateway: Gateway, shelf: DocumentCache, full: bool) -> None:
        self._gateway = gateway
        self._shelf = shelf
        self._full = full
        self.now_ms = gateway.now_ms()
        self._words: dict[Hashable, bytes] = {}
        self._parts: dict[tuple[str, Resource], tuple[bytes, bytes]] = {}

    def moment(self, application: Application) -> Moment:
        """The document of an application now."""
        kept = self._shelf.kept(application)
        if kept.simple:
            return Moment(kept)
        words, parts, timeouts = b"", _NOBODYS_PARTS, b""
        if kept.waits:
            words = self._waiting(application)
        if kept.use is not None and self._full:
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
    """All shelves of one server: there are two for each set of fields that is left out."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._shelves: dict[tuple[bool, frozenset[str]], DocumentCache] = {}

    def of(self, full: bool, without: frozenset[str]) -> DocumentCache:
        """The shelf of one form. The least recently used shelves are emptied."""
        key = (full, without)
        shelf = self._shelves.pop(key, None) or DocumentCache(self._gateway, full, without)
        self._shelves[key] = shelf  # at the end: the last to go
        while len(self._shelves) > MAX_SHELVES:
            del self._shelves[next(iter(self._shelves))]
        shelf.let_go()
        return shelf


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
        b',"memorySeconds":%d,"vcoreSeconds":%d'
        b',"queueUsagePercentage":%s,"clusterUsagePercentage":%s,"resourceSecondsMap":{'
    )
    return Use(rate, subtract(history.use_ms, begun), form + entries + b"}", shown)


def _pieces(
    content: bytes, gaps: tuple[bool, bool, bool, bool]
) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """The document cut where its gaps are.

    A quotation mark within a string is escaped with a backslash, and users choose no keys: the
    markers of gaps can occur nowhere else.
    """
    waits, lasts, uses, expires = gaps
    pieces, done = [], 0
    for open_, begin, after in (
        (waits, b',"diagnostics":', b',"clusterId":'),
        (lasts, b',"elapsedTime":', b","),
        (uses, b',"memorySeconds":', b',"preemptedResourceMB":'),
        (expires, b',"timeouts":', b""),
    ):
        start = end = done
        if open_:
            start = content.index(begin, done)
            start += len(begin) if begin != b',"memorySeconds":' else 0
            end = content.index(after, start) if after else len(content) - 1
        pieces.append(content[done:start])
        done = end
    first, second, third, fourth = pieces
    return first, second, third, fourth, content[done:]

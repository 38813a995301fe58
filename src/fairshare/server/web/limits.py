"""The limits per caller: requests a second, open streams, sizes, applications.

A request that is too large is refused with 413 or 431, one too many with 429, each with a reason,
before anything is decided. A caller is an authenticated user, else an address. `[limits]` of
fairshare.toml sets the values.
"""

import contextlib
import math
import re
import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from fairshare.api.work import ContainerRequest, TaskGroup
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import ForgetApplications, SubmitApplication
from fairshare.core.model.queues import full_name
from fairshare.core.model.work import Command
from fairshare.errors import InputError
from fairshare.server.access.proxies import address_of_scope, peer_of_scope
from fairshare.server.access.submitted_bytes import size_of
from fairshare.server.access.tokens import Identity
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web.answers import refusal
from fairshare.settings.limits import DEFAULT_REQUESTS_PER_SECOND, LimitSettings
from fairshare.wording import counted

BURST_S = 2.0
"""For how many seconds the requests of a burst would be allowed."""

STREAMS = frozenset({"/api/v1/changes", "/api/v1/events"})
"""Paths whose answers stay open: they wait for a change, or stream changes."""
TAILS = ("/api/jobs/", "/logs/tail")
"""Beginning and end of further such paths: the logs of Ray jobs."""

SESSIONS = re.compile(r"/api/v1/containers/[^/]+/(exec|terminal)")
"""Paths whose connections stay open: sessions in containers."""

CROWDED = "fairshare.crowded"
"""Key in the scope of a call: its connection exceeds the limit, and no idle one could be closed."""

HEALTH = frozenset({"/healthz", "/readyz"})
"""Paths without a limit: a supervisor that gets no answer would restart the server in vain."""

MAX_KNOWN = 10_000
"""The most callers with a bucket; one that has been idle for a while equals a new one."""


class Buckets:
    """A token bucket for each caller: it fills with `per_second`, and holds `BURST_S` of it.

    With `per_second` 0 everything may pass. `now_s` is a clock that only goes forward.
    """

    def __init__(self, per_second: int, now_s: Callable[[], float]) -> None:
        self._rate = per_second
        self._now_s = now_s
        self._most = max(1.0, per_second * BURST_S)
        self._known: dict[str, tuple[float, float]] = {}

    def take(self, caller: str) -> float:
        """Take a token; 0.0 if there was one, else the seconds until there is one."""
        if not self._rate:
            return 0.0
        now_s = self._now_s()
        left, at_s = self._known.pop(caller, (self._most, now_s))
        left = min(self._most, left + (now_s - at_s) * self._rate)
        enough = left >= 1.0
        # Move it to the end: the first one is the caller that has been idle for the longest time.
        self._known[caller] = (left - 1.0 if enough else left, now_s)
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return 0.0 if enough else (1.0 - left) / self._rate


class Streams:
    """The answers that stay open."""

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._open: Counter[str] = Counter()

    @contextlib.contextmanager
    def hold(self, caller: str) -> Iterator[None]:
        """Count a stream as long as it is open; raises InputError (`too-many-streams`)."""
        most, total = self._settings.streams_per_caller, self._settings.streams
        if self._open[caller] >= most or self._open.total() >= total:
            whose = "you have" if self._open[caller] >= most else "there are"
            number = self._open[caller] if self._open[caller] >= most else total
            raise InputError(
                "too-many-streams",
                f"{whose} {number} open answers that wait for changes, and more are not kept open:"
                " close some, or let your programs share one",
            )
        self._open[caller] += 1
        try:
            yield
        finally:
            self._open[caller] -= 1
            if not self._open[caller]:
                del self._open[caller]


class Sessions:
    """The sessions in running containers: each costs processes and a thread."""

    def __init__(self, settings: LimitSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._of_container: Counter[ContainerId] = Counter()
        self._of_user: Counter[str] = Counter()

    def begin(self, user: str, container: ContainerId) -> Callable[[], None]:
        """Count a session until the function that is returned is called, once and from any thread.

        Raises InputError (`too-many-sessions`)."""
        in_container, of_user = (
            self._settings.sessions_per_container,
            self._settings.sessions_per_user,
        )
        with self._lock:
            if self._of_container[container] >= in_container:
                raise _too_many_sessions(f"this container has {in_container}")
            if self._of_user[user] >= of_user:
                raise _too_many_sessions(f"you have {of_user}")
            self._of_container[container] += 1
            self._of_user[user] += 1

        def end() -> None:
            with self._lock:
                self._of_container -= Counter((container,))  # drops what is at zero
                self._of_user -= Counter((user,))

        return end


def _too_many_sessions(reason: str) -> InputError:
    words = "sessions, and more are not opened: end one, or wait until its processes have ended"
    return InputError("too-many-sessions", f"{reason} {words}")


class Throttle:
    """Middleware behind authentication: sizes of headers, requests a second, open streams."""

    def __init__(
        self, app: ASGIApp, server: LiveServer, buckets: Buckets, identity_key: str
    ) -> None:
        self.app = app
        self.buckets = buckets
        self.limits = server.settings.limits
        self.streams = Streams(self.limits)
        self.identity_key = identity_key
        self.proxies = server.authentication.proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        caller = caller_of_scope(scope, self.identity_key)
        most = self.limits.header_kb * 1024
        if sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > most:
            answer = refusal(431, "headers-too-large", f"the headers are larger than {most} bytes")
            await answer(scope, receive, send)
            return
        if scope.get(CROWDED) and not self._passes_a_crowd(scope):
            answer = refusal(
                503,
                "too-many-connections",
                "there are as many connections as [limits] in fairshare.toml allows: close some, or"
                " come again later",
                {"Connection": "close", "Retry-After": "1"},
            )
            await answer(scope, receive, send)
            return
        wait_s = self.buckets.take(caller)
        if wait_s:
            await too_many_requests(wait_s)(scope, receive, send)
            return
        if not stays_open(scope.get("path", "")):
            await self.app(scope, receive, send)
            return
        try:
            with self.streams.hold(caller):
                await self.app(scope, receive, send)
        except InputError as error:
            if error.code != "too-many-streams":
                raise
            await refusal(429, error.code, str(error), {"Retry-After": "1"})(scope, receive, send)

    def _passes_a_crowd(self, scope: Scope) -> bool:
        """Health checks, administrators, and proxies, which call for many users."""
        if scope.get("path") in HEALTH or self.proxies.name(peer_of_scope(scope)):
            return True
        identity = scope.get(self.identity_key)
        return isinstance(identity, Identity) and identity.administrator


def stays_open(path: str) -> bool:
    """Whether an answer counts as an open stream.

    >>> stays_open("/api/v1/events"), stays_open("/api/jobs/a/logs/tail"), stays_open("/api/jobs/a")
    (True, True, False)
    """
    if path in STREAMS or SESSIONS.fullmatch(path):
        return True
    return path.startswith(TAILS[0]) and path.endswith(TAILS[1])


def too_many_requests(wait_s: float) -> ASGIApp:
    """The answer to too many requests: 429, and when to retry."""
    return refusal(
        429,
        "too-many-requests",
        f"more requests than one caller may send: come again after {wait_s:.2f} s, and ask less"
        " often ([limits] in fairshare.toml says how often)",
        {"Retry-After": str(math.ceil(wait_s))},
    )


def caller_of_scope(scope: Scope, identity_key: str) -> str:
    """The key of a caller: the authenticated user, else the address."""
    identity = scope.get(identity_key)
    if isinstance(identity, Identity):
        return f"user {identity.user}"
    return f"address {address_of_scope(scope)}"


def requests_per_second(settings: LiveSettings) -> int:
    """The requests of one caller that are served per second on average; 0: no limit."""
    written = settings.limits.requests_per_second
    if written is not None:
        return written
    return DEFAULT_REQUESTS_PER_SECOND if settings.authentication.required else 0


# Checks for handlers, where only the handler knows the amount.


def check_tasks(limits: LimitSettings, count: int, earlier: int = 0) -> None:
    """Raise InputError (`too-many-tasks`) for more tasks than one application may have."""
    if count + earlier > limits.tasks:
        more = f", with the {earlier} that it has," if earlier else ""
        raise InputError(
            "too-many-tasks",
            f"{counted(count, 'task')}{more} are more than the {limits.tasks} that one application"
            " may have: submit several applications",
        )


def check_asks(limits: LimitSettings, counts: list[int]) -> None:
    """Raise InputError (`too-many-asks`, `too-many-containers`) for too much in one request."""
    if len(counts) > limits.asks:
        raise InputError(
            "too-many-asks",
            f"{len(counts)} asks are more than the {limits.asks} of one request: send several",
        )
    total = sum(count for count in counts if count > 0)
    if total > limits.containers:
        raise InputError(
            "too-many-containers",
            f"{counted(total, 'container')} are more than the {limits.containers} of one request:"
            " ask for the rest when some of these are done",
        )


def check_places(limits: LimitSettings, requests: Sequence[ContainerRequest | TaskGroup]) -> None:
    """Raise InputError (`too-many-places`) for more names than one request may look up."""
    named = sum(
        len(one.hosts) + len(one.racks) + len(getattr(one, "after", ())) for one in requests
    )
    if named > limits.places:
        raise InputError(
            "too-many-places",
            f"{named} hosts, racks and groups to wait for are more than the {limits.places} that"
            " one request may name: name racks instead of hosts, or send several requests",
        )


@contextlib.asynccontextmanager
async def submission_slot(server: LiveServer, submission: SubmitApplication) -> AsyncIterator[None]:
    """Around a submission: raises InputError (`too-many-applications`, `too-much-handed-in`) if the
    user has reached the limit of unfinished applications, or has submitted too many bytes; also
    `too-many-queues`, if it names a queue that placement would have to create for it."""
    user = submission.user
    most = server.settings.limits.applications_per_user
    if server.active_counts.count(user) >= most:
        raise InputError(
            "too-many-applications",
            f"{user} has {most} applications that are not over, and more are not taken: wait until"
            " some have ended, or put more tasks into one application",
        )
    _check_new_queue(server, user, submission.queue)
    with server.active_counts.on_its_way(user):
        async with room_for(server, user, size_of(submission)):
            yield


def _check_new_queue(server: LiveServer, user: str, name: str) -> None:
    """Raise InputError (`too-many-queues`) if a queue does not exist, and the user's unfinished
    applications are in as many created queues as a user may have."""
    state, most = server.service.state, server.settings.limits.created_queues_per_user
    if not name or name in state.queues or full_name(name) in state.queues:
        return
    mine = server.active_counts.submitted_bytes.unfinished(user)
    if len(mine) < most:
        return
    queues = {state.applications[one].queue for one in mine if one in state.applications}
    created = sum(one in state.queues and state.queues[one].dynamic for one in queues)
    if created >= most and not any(one.endswith(f".{name}") for one in state.queues):
        raise InputError(
            "too-many-queues",
            f"{user} has applications in {created} queues that were created for them, and no"
            f" further queue is created: name an existing one instead of {name}, or wait until some"
            " applications have ended",
        )


@contextlib.asynccontextmanager
async def room_for(server: LiveServer, user: str, size: int) -> AsyncIterator[None]:
    """Around a call that submits `size` bytes: raises InputError (`too-much-handed-in`) if the
    user's submissions already hold too many. The user's finished applications are forgotten first,
    if that helps."""
    held = server.active_counts.submitted_bytes
    most = server.settings.limits.user_mb * 1024 * 1024
    with held.on_its_way(user, size):
        old = held.oldest_over(user, held.size(user) - most)
        if old:
            await server.service.ask(ForgetApplications(old))
        if held.size(user) > most:
            raise InputError(
                "too-much-handed-in",
                f"{user} has submitted {held.size(user) - size} bytes that are still needed,"
                f" and {size} more are above the {most} of one user: wait until some applications"
                " have ended, or put large data into files",
            )
        yield


LONGEST_WORD = 128 * 1024 - 1
"""The bytes of the longest argument, or variable with its name, that Linux accepts (E2BIG)."""


def too_large(command: Command, limits: LimitSettings) -> str:
    """The part of a command that is too large to be run; empty if none is."""
    size = 0
    for argument in command.arguments:
        length = len(argument.encode())
        size += length + 1
        if length >= LONGEST_WORD:
            return f"an argument has {length} bytes, and {LONGEST_WORD} are too many: use a file"
    for name, value in command.environment.items():
        length = len(name.encode()) + 1 + len(value.encode())
        size += length + 1
        if length >= LONGEST_WORD:
            return (
                f"the variable {name[:40]} has {length} bytes with its name, and {LONGEST_WORD} are"
                " too many: use a file"
            )
    most = limits.environment_kb * 1024
    if size > most:
        return f"arguments and environment have {size} bytes, and {most} are the most: use a file"
    return ""


def body_limit_bytes(request: Request) -> int:
    """The most bytes that the body of a request may have."""
    server = request.app.state.server
    assert isinstance(server, LiveServer)
    return server.settings.limits.body_mb * 1024 * 1024

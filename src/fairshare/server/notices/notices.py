"""When notices are sent: after the record of what happened, again after a failure, and after a
restart if an earlier server did not.

An end is in the journal before its notice is in the file. So at a start the ends that the state
still knows are compared with the file: a notice is sent at least once, and may be sent twice if the
server dies while it is sent.
"""

import asyncio
import contextlib
import heapq
import itertools
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationSubmitted,
    ContainerLaunched,
    MasterStarted,
)
from fairshare.core.model.identifiers import ApplicationId, application_name, application_of
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.documents.notice_targets import shown_target
from fairshare.runtime.observers import Observers
from fairshare.server.notices.delivery import Delivery, DeliveryError
from fairshare.server.notices.store import HOOK, Notice, NoticesError, NoticeStore, notices_of
from fairshare.server.side_file import to_the_end

PAUSES_S: Final = (10, 60, 300, 1_800, 7_200)
"""The time before each further attempt; after the last one the notice has failed."""
AT_ONCE: Final = 8
AT_ONCE_OF_USER: Final = 2
MAX_PENDING: Final = 1_000
"""The notices of one user that may wait, or of the configuration's command ten times as many;
further ones fail at once."""
MOST_S: Final = 90.0
"""How long one attempt may take, whatever the other side does."""
KEPT_MS: Final = 7 * 86_400_000
FRESH_MS: Final = 86_400_000
"""At a start, ends that are older and have no notice in the file are left alone."""
RETRY_S: Final = 30.0
SLACK_MS: Final = 60_000
FORGET_MS: Final = 3_600_000

_log = logging.getLogger("fairshare.notices")


class Notices:
    """The notices of one server; all in its event loop, except what threads send."""

    def __init__(
        self, directory: Path, state: State, delivery: Delivery, now_ms: Callable[[], int]
    ) -> None:
        self._directory = directory
        self._state = state
        self.delivery = delivery
        self._now_ms = now_ms
        self._known: dict[tuple[int, int, str, str], Notice] = {}
        self._of: dict[ApplicationId, list[Notice]] = {}
        self._due: list[tuple[int, int, Notice]] = []
        self._counter = itertools.count()
        self._ready: dict[str, deque[Notice]] = {}
        self._waiting: Counter[str] = Counter()
        self._busy: Counter[str] = Counter()
        self._unwritten: list[Notice] = []
        self._sending: set[asyncio.Task[None]] = set()
        self._to_start: set[ApplicationId] = {
            one.id for one in state.applications.values() if _wants_start(one)
        }
        self._store: NoticeStore | None = None
        self._wake = asyncio.Event()
        self._forgotten_ms = now_ms()

    def of(self, application: ApplicationId) -> list[Notice]:
        """The notices about an application, of the last days."""
        return self._of.get(application, [])

    def subscribe(self, observers: Observers) -> None:
        """Follow the records."""
        observers.events(self._submitted, ApplicationSubmitted)
        observers.events(
            lambda _, event: self._happened(event.application, "end"), ApplicationEnded
        )
        observers.events(lambda _, event: self._happened(event.application, "start"), MasterStarted)
        observers.events(self._launched, ContainerLaunched)

    def _submitted(self, record: Record, event: ApplicationSubmitted) -> None:
        application = self._state.applications.get(event.application)
        if application is not None and _wants_start(application):
            self._to_start.add(application.id)

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        if self._to_start:
            self._happened(application_of(event.container), "start")

    def _happened(self, number: ApplicationId, event: str, *, hook: bool = True) -> None:
        if event == "start":
            if number not in self._to_start:
                return
            self._to_start.discard(number)
        application = self._state.applications.get(number)
        if application is None:
            return
        hook = hook and self.delivery.has_hook
        if application.submission.details.notify or hook:
            epoch_ms = self._state.epoch_ms
            for one in notices_of(epoch_ms, application, event, self._now_ms(), hook=hook):
                self._add(one)

    def _add(self, notice: Notice) -> None:
        if notice.key in self._known:
            return
        payer = _payer(notice)
        most = MAX_PENDING * 10 if payer == HOOK else MAX_PENDING
        if self._waiting[payer] >= most:
            notice.state, notice.body = "failed", {}
            notice.error = f"more than {most} notices of {payer} wait"
        self._keep(notice)
        self._unwritten.append(notice)
        self._wake.set()

    def _keep(self, notice: Notice) -> None:
        self._known[notice.key] = notice
        if notice.epoch_ms == self._state.epoch_ms:
            self._of.setdefault(notice.application, []).append(notice)
        if notice.state == "pending":
            self._waiting[_payer(notice)] += 1
            self._plan(notice)

    def _plan(self, notice: Notice) -> None:
        heapq.heappush(self._due, (notice.due_ms, next(self._counter), notice))

    async def watch(self) -> None:
        """Send what is due, until cancelled."""
        await self._begin()
        while True:
            self._wake.clear()
            await self._write()
            now_ms = self._now_ms()
            while self._due and self._due[0][0] <= now_ms:
                notice = heapq.heappop(self._due)[2]
                self._ready.setdefault(_payer(notice), deque()).append(notice)
            while len(self._sending) < AT_ONCE and (chosen := self._next()) is not None:
                task = asyncio.create_task(self._send(chosen))
                self._sending.add(task)
                task.add_done_callback(self._sent)
            if now_ms - self._forgotten_ms >= FORGET_MS:
                self._forgotten_ms = now_ms
                await self._forget()
            wait_ms = min(FORGET_MS, self._due[0][0] - now_ms) if self._due else FORGET_MS
            wait_s = max(0, wait_ms) / 1_000
            if self._unwritten:
                wait_s = min(wait_s, RETRY_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()

    def _next(self) -> Notice | None:
        """What is sent next: of the user of whom the fewest are being sent."""
        able = [payer for payer in self._ready if self._busy[payer] < AT_ONCE_OF_USER]
        if not able:
            return None
        payer = min(able, key=lambda one: self._busy[one])
        ready = self._ready.pop(payer)
        notice = ready.popleft()
        if ready:
            self._ready[payer] = ready  # behind the others
        self._busy[payer] += 1
        return notice

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._wake.set()

    async def _begin(self) -> None:
        """Open the file, and look for ends without a notice there."""
        while True:
            try:
                store, kept = await to_the_end(self._open, self._now_ms() - KEPT_MS)
                break
            except NoticesError as error:
                _log.error("notices are not sent for now: %s", error)
                await asyncio.sleep(RETRY_S)
        for notice in kept:
            if notice.key not in self._known:
                self._keep(notice)
        if store.moved_aside is not None:
            _log.error("%s was damaged, and is moved aside", store.path)
        fresh_ms = self._now_ms() - FRESH_MS
        # A command that is new in the configuration is not run for what ended before.
        hooks = [notice.changed_ms for notice in self._known.values() if notice.target == HOOK]
        hook_ms = max(hooks) - SLACK_MS if hooks else self._now_ms()
        for application in tuple(self._state.applications.values()):
            if application.finished_ms is not None and application.finished_ms >= fresh_ms:
                self._happened(application.id, "end", hook=application.finished_ms >= hook_ms)
            elif application.attempt.launched:
                self._happened(application.id, "start")

    def _open(self, oldest_ms: int) -> tuple[NoticeStore, list[Notice]]:
        """Open the file, in a thread; with the notices since an instant. `close` finds the file
        also where the server stops meanwhile."""
        if self._store is None:
            self._store = NoticeStore(self._directory)
        return self._store, self._store.load(oldest_ms)

    async def _write(self) -> None:
        """Write the notices that changed; those that cannot be written are sent all the same."""
        rows, self._unwritten = self._unwritten, []
        if not rows or self._store is None:
            return
        try:
            await to_the_end(self._store.write, rows)
        except BaseException as error:  # also where the server stops meanwhile
            self._unwritten = rows + self._unwritten
            if not isinstance(error, NoticesError):
                raise
            _log.error("%s", error)

    async def _send(self, notice: Notice) -> None:
        error: DeliveryError | None = None
        try:
            async with asyncio.timeout(MOST_S):
                await _in_thread(lambda: self.delivery.send(notice))
        except DeliveryError as failure:
            error = failure
        except TimeoutError:
            error = DeliveryError(f"it took longer than {MOST_S:g} s")
        notice.attempts += 1
        notice.changed_ms = self._now_ms()
        where = "the configuration's command" if notice.target == HOOK else notice.target
        name = application_name(notice.epoch_ms, notice.application)
        if error is None:
            notice.state, notice.error = "sent", ""
        else:
            notice.error = str(error)
            if error.final or notice.attempts > len(PAUSES_S):
                notice.state = "failed"
            else:
                notice.due_ms = notice.changed_ms + PAUSES_S[notice.attempts - 1] * 1_000
            _log.warning(
                "the notice of %s (%s) to %s was not sent: %s%s",
                name,
                notice.event,
                shown_target(where),
                notice.error,
                "" if notice.state == "failed" else "; it will be tried again",
            )
        payer = _payer(notice)
        self._busy[payer] -= 1
        if not self._busy[payer]:
            del self._busy[payer]
        if notice.state == "pending":
            self._plan(notice)
        else:
            self._waiting[payer] -= 1
            if not self._waiting[payer]:
                del self._waiting[payer]
            notice.body = {}
            if notice.target == HOOK and notice.state == "sent":
                self._drop(notice)
        self._unwritten.append(notice)

    async def _forget(self) -> None:
        """Drop what is old from memory and from the file."""
        oldest_ms = self._now_ms() - KEPT_MS
        old = [one for one in self._known.values() if one.changed_ms < oldest_ms]
        for one in old:
            if one.state != "pending":
                self._drop(one)
        if self._store is not None:
            try:
                await to_the_end(self._store.forget, oldest_ms)
            except NoticesError as error:
                _log.error("%s", error)

    def _drop(self, notice: Notice) -> None:
        self._known.pop(notice.key, None)
        left = [one for one in self.of(notice.application) if one is not notice]
        if left:
            self._of[notice.application] = left
        else:
            self._of.pop(notice.application, None)

    async def close(self) -> None:
        """Stop sending, and close the file; what is pending is sent by the next server."""
        self.delivery.close()
        for task in tuple(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        await self._write()
        store, self._store = self._store, None
        if store is not None:
            await asyncio.to_thread(store.close)


def _payer(notice: Notice) -> str:
    """Against whose limits a notice counts: its user's, or those of the configuration's command."""
    return HOOK if notice.target == HOOK else f"user {notice.user}"


def _wants_start(application: Application) -> bool:
    details = application.submission.details
    return bool(details.notify) and "start" in details.notify_on and application.finished_ms is None


async def _in_thread(work: Callable[[], None]) -> None:
    """Run blocking work in a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(error: BaseException | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except Exception as failure:
            error = failure if isinstance(failure, DeliveryError) else DeliveryError(repr(failure))
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=run, name="fairshare-notice", daemon=True).start()
    await done

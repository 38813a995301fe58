"""The supervision of background tasks: restarts a task that fails, and reports it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from fairshare.errors import JournalError
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.server.service import Service

JOURNAL_INTERVAL_S: Final = 1.0
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 60.0
STEADY_S: Final = 30.0
"""A task that has not failed for this time is healthy again."""

_log = logging.getLogger("fairshare.server")


class Supervisor:
    """Tasks that run until `stop`. `failing` has the reasons of those that failed lately, by name.

    A task that fails is started again after a pause, twice as long each time; one that returns has
    done its work.
    """

    def __init__(self, first_pause_s: float = FIRST_PAUSE_S, steady_s: float = STEADY_S) -> None:
        self.failing: dict[str, str] = {}
        self._first_pause_s = first_pause_s
        self._steady_s = steady_s
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Run some work in a task of its own, called `name` in the log and in `failing`."""
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=f"fairshare-{name}"))

    async def stop(self) -> None:
        """Cancel all, and wait until they have ended. Idempotent."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _keep(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        loop = asyncio.get_running_loop()
        pause_s = self._first_pause_s
        while True:
            began_s = loop.time()
            well = loop.call_later(self._steady_s, self.failing.pop, name, None)
            try:
                return await work()
            except Exception as error:
                if loop.time() - began_s >= self._steady_s:
                    pause_s = self._first_pause_s
                self.failing[name] = f"{type(error).__name__}: {error}"
                _log.exception("%s failed, and is started again in %g s", name, pause_s)
            finally:
                well.cancel()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


async def watch_journal(journal: SqliteJournal, service: Service) -> None:
    """End the service if its journal is removed or moved away, though nothing is recorded."""
    while True:
        await asyncio.sleep(JOURNAL_INTERVAL_S)
        try:
            journal.check_place()
        except JournalError as error:
            service.fail(error)
            return

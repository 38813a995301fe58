"""Fetches what Python calls returned from their nodes, as soon as a call has ended well.

Nodes delete it with the logs: those that aggregate logs do so when the application is over, so they
learn of its end only afterwards. What cannot be fetched stays on the node.
"""

import asyncio
import base64
import logging
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from fairshare.core.model.events import ContainerCompleted
from fairshare.core.model.identifiers import ApplicationId, ContainerId, application_of
from fairshare.core.record import Record
from fairshare.errors import InputError
from fairshare.server.fetched_results import fetched_result, folder_of
from fairshare.server.web.remote_logs import log_client, log_url, read_remote_part
from fairshare.wording import cause
from fairshare.yarn.rpc.engine.call_program import RESULT

MOST_AT_ONCE = 4
"""Of all results: each is in memory while it is fetched."""

_log = logging.getLogger("fairshare.yarn.rpc")


Place = tuple[tuple[str, str], str]
"""The names of a container's application and of itself, and the web address of its node."""


class Results:
    """The results of one state directory. `most_bytes`: larger ones are not fetched; `place_of` is
    the place of a container that runs a Python call, None if it runs something else."""

    def __init__(
        self,
        state_directory: Path,
        most_bytes: int,
        place_of: Callable[[ContainerId], Place | None],
    ) -> None:
        self.on_fetched: Callable[[ApplicationId], None] = lambda application: None
        self._directory = state_directory
        self._most_bytes = most_bytes
        self._place_of = place_of
        self._turn = asyncio.Semaphore(MOST_AT_ONCE)
        self._fetching: Counter[ApplicationId] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    def waits(self, application: ApplicationId) -> bool:
        """Whether results of an application are being fetched; `on_fetched` follows."""
        return self._fetching[application] > 0

    def observe(self, record: Record) -> None:
        """Follow a record after its commit: a call has ended."""
        for event in record.events:
            if type(event) is ContainerCompleted and event.exit_code == 0:
                place = self._place_of(event.container)
                if place is not None:
                    self._begin(application_of(event.container), *place)

    def prune(self, application_name: str) -> None:
        """Delete the results of an application that is forgotten."""
        shutil.rmtree(folder_of(self._directory, application_name), ignore_errors=True)

    async def close(self) -> None:
        """Fetch nothing more."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, application: ApplicationId, names: tuple[str, str], web_address: str) -> None:
        self._fetching[application] += 1
        fetch = self._fetch(application, names, web_address)
        task = asyncio.get_running_loop().create_task(fetch)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _fetch(
        self, application: ApplicationId, names: tuple[str, str], web_address: str
    ) -> None:
        try:
            async with self._turn, log_client() as client:
                most = (self._most_bytes + 2) // 3 * 4  # in base64
                url = log_url(web_address, names[1], RESULT)
                part = await read_remote_part(client, url, 0, most)
                if 0 < part.size <= most:
                    await asyncio.to_thread(self._keep, names, part.content)
        except (InputError, OSError, ValueError) as error:
            _log.warning("the result of %s stays on its node: %s", names[1], cause(error))
        finally:
            self._fetching[application] -= 1
            if not self._fetching[application]:
                del self._fetching[application]
                self.on_fetched(application)

    def _keep(self, names: tuple[str, str], content: bytes) -> None:
        value = base64.b64decode(content, validate=True)
        target = fetched_result(self._directory, *names)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = target.with_name(target.name + ".new")
        draft.write_bytes(value)
        draft.replace(target)

"""A server that only shows one moment: what reads a live cluster reads a past or simulated one by
the same paths.

It has a state directory of its own, in a temporary folder, decides nothing and launches nothing.
"""

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import msgspec

from fairshare.api import routes
from fairshare.api.applications import Reasons
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.client.exchange import path_of
from fairshare.core.model.identifiers import ApplicationId, ContainerId
from fairshare.core.model.inputs import Input
from fairshare.documents.ready import ready
from fairshare.engines.protocol import HostEngine, LaunchOrder
from fairshare.errors import EngineError, InputError, JournalError
from fairshare.lab.branch.estimates import estimate
from fairshare.lab.branch.history import Cut, History, Moment
from fairshare.lab.branch.proving import prove
from fairshare.lab.branch.smaller import with_smaller
from fairshare.lab.simulate.world import Origin
from fairshare.runtime.clock import Clock, VirtualClock
from fairshare.runtime.projections.projections import MANAGER
from fairshare.runtime.recovery import Position
from fairshare.server.follower import ANSWER_S, MOST_S, Estimate, Follower, Prove, Question
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web.answers import refusal
from fairshare.server.web.app import build_app

URL = "http://localhost"
_Answer = TypeVar("_Answer")


class _NoEngine(HostEngine):
    """Runs nothing."""

    def start(self, report: Callable[[Input], None], **_: object) -> None:
        pass

    def launch(self, order: LaunchOrder) -> None:
        pass

    def stop(self, container: ContainerId) -> None:
        pass

    def running(self) -> frozenset[ContainerId]:
        return frozenset()

    def close(self, *, stop_containers: bool) -> None:
        pass

    def signal(self, container: ContainerId, command: str) -> None:
        raise EngineError("nothing runs here")


class _FollowerHere(Follower):
    """Answers in this process, which has nothing else to do."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment

    async def ask(
        self, caller: str, question: Question, form: type[_Answer], within_s: float = MOST_S
    ) -> _Answer:
        moment = self._moment
        found: object
        if isinstance(question, Prove):
            found = prove(moment.origin(), question.application, moment.run_times())
        elif isinstance(question, Estimate):
            here = Origin(moment.position, lambda: moment.manager)
            parts = here, moment.run_times(), moment.submissions(), [question.application]
            (eta,) = estimate(*parts, ANSWER_S, moment.directory)
            found = with_smaller(here, question.application, eta)
        else:
            raise InputError("past", "this cluster is past or simulated: it takes no submission")
        assert isinstance(found, form)
        return found

    async def close(self) -> None:
        """Nothing to close."""


class _PastServer(LiveServer):
    """A server that begins with a moment, and stays there."""

    def __init__(self, moment: Moment, directory: Path) -> None:
        self._moment = moment
        manager = moment.manager
        settings = LiveSettings(
            scheduler=manager.scheduler.name,
            types=manager.state.types,
            scheduler_settings=b"{}",
            state_directory=directory,
        )
        super().__init__(settings, lambda _, __: _NoEngine())
        self.url = URL
        self.follower = _FollowerHere(moment)

    def _restored(self) -> tuple[Position, dict[str, Any]]:
        parts = {MANAGER: self._moment.manager, **self._moment.projections.parts()}
        return self._moment.position, parts

    def _clock(self) -> Clock:
        return VirtualClock(self._moment.position.now_ms)


class _Transport(httpx.BaseTransport):
    """Passes requests on to an application in this process; only questions."""

    def __init__(self, runner: asyncio.Runner, app: Any) -> None:
        self._runner = runner
        self._inner = httpx.ASGITransport(app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method != "GET":
            said = refusal(409, "past", "this cluster is past or simulated: it only answers")
            return httpx.Response(409, content=bytes(said.body))
        return self._runner.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        copied = httpx.Request(request.method, request.url, headers=request.headers)
        response = await self._inner.handle_async_request(copied)
        content = await response.aread()
        return httpx.Response(response.status_code, headers=response.headers, content=content)


@contextlib.contextmanager
def client_of(moment: Moment) -> Iterator[Client]:
    """A client that asks the cluster as it was at a moment."""
    with (
        tempfile.TemporaryDirectory(prefix="fairshare-past-") as folder,
        asyncio.Runner() as runner,
    ):

        async def opened() -> LiveServer:
            return _PastServer(moment, Path(folder))

        server = runner.run(opened())
        try:
            yield Client(URL, transport=_Transport(runner, build_app(server)))
        finally:
            runner.run(server.close())


def reasons_then(directory: Path, application: ApplicationId, at_ms: int) -> Reasons:
    """Why an application of a state directory waited at an instant. Raises InputError."""
    try:
        with History.open(directory) as history:
            moment = history.moment(Cut(at_ms=at_ms))
    except Failure:  # whose message names the directory
        raise InputError(
            "unknown-moment", "the server's journal does not reach back to that moment"
        ) from None
    except JournalError as error:
        raise InputError("no-answer", str(error)) from None
    with client_of(moment) as client:
        answer = client.connection.get(path_of(routes.LIST_REASONS, str(application)))
        return msgspec.convert(answer, ready(Reasons))

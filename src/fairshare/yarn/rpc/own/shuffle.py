"""MapReduce's shuffle on this machine: reduces fetch the outputs of maps by HTTP, and sign their
requests with the secret of their job, which its master gives when it starts containers.

The web server, with its limits on connections, headers and times, is the one of the server's own
pages. Source: Hadoop 3.4.1, mapred.ShuffleHandler, mapred.ShuffleChannelHandler,
SecureShuffleUtils; `tests/hadoop/shuffle.py` recorded its answers.
"""

import asyncio
import base64
import hmac
import logging
import os
import re
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import parse_qs

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fairshare.core.model.events import ApplicationEnded, ContainerCompleted
from fairshare.core.model.identifiers import (
    ApplicationId,
    application_name,
    application_of,
    parse_application,
)
from fairshare.core.record import Record
from fairshare.server.access.proxies import Proxies
from fairshare.server.server import LiveServer
from fairshare.server.state_directory import remove_file, write_file
from fairshare.server.web.connections import ABANDON, PIECE_BYTES
from fairshare.server.web.limits import CROWDED
from fairshare.server.web.listener import web_server
from fairshare.wording import cause, counted
from fairshare.yarn.rpc.own.engine import SHUFFLE, ContextEngine, metadata
from fairshare.yarn.rpc.own.map_outputs import MapOutputs, MissingOutput, Part
from fairshare.yarn.rpc.wire.tokens import BadCredentials, read_token

FOLDER = "hadoop-jobs"
"""The secrets in the state directory, a file for each application."""

MOST_SECRET_BYTES = 1_024
MOST_MAPS = 1_000
"""The maps in one request; a reduce asks for 20 at once."""
MOST_CONNECTIONS = 1_000
RETRY_AFTER_MS = 1_000
KEPT_S = 5
"""How long a connection is kept for the next request, as the web server does (Hadoop:
mapreduce.shuffle.connection-keep-alive.timeout)."""

_READ_BYTES = 8 * PIECE_BYTES
_VERSION = {"name": "mapreduce", "version": "1.0.0"}
_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
_JOB, _APPLICATION = "job_", "application_"

_log = logging.getLogger("fairshare.yarn.rpc")


class Refused(Exception):
    """A request that is answered with a status and a message."""

    def __init__(self, status: int, message: str = "", **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers


class JobSecrets:
    """The secrets of jobs by application, also on disk: they outlive the server, as containers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._secrets: dict[str, bytes] = {}

    def load(self) -> list[str]:
        """Read the files of the server before; returns the applications."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for path in self._folder.iterdir():
            if path.name.startswith(_APPLICATION):
                self._secrets[path.name] = path.read_bytes()
            else:  # a draft
                path.unlink(missing_ok=True)
        return list(self._secrets)

    def keep(self, application: str, service_data: bytes) -> None:
        """Keep the secret of a job's token; raises BadCredentials for data that is none."""
        try:
            secret = read_token(service_data).password
        except BadCredentials as error:
            words = f"the data for {SHUFFLE} is not the token of a job: {error}"
            raise BadCredentials(words) from error
        if not 0 < len(secret) <= MOST_SECRET_BYTES:
            raise BadCredentials(
                f"the token of a job has a secret of {len(secret)} bytes: 1 to"
                f" {MOST_SECRET_BYTES} are possible"
            )
        if self._secrets.get(application) != secret:
            write_file(self._folder / application, secret)
            self._secrets[application] = secret

    def of_job(self, job: str) -> bytes | None:
        """The secret of a job `job_EPOCH_NUMBER`."""
        return self._secrets.get(_application_of(job))

    def forget(self, application: str) -> None:
        """The application is over."""
        if self._secrets.pop(application, None) is not None:
            remove_file(self._folder / application)


class Shuffle:
    """The service of one server. It is also the application that the web server runs."""

    def __init__(self, server: LiveServer, engine: ContextEngine, listener: socket.socket) -> None:
        self._server = server
        self._engine = engine
        self._listener = listener
        self._port: int = listener.getsockname()[1]
        self.metadata = metadata(self._port)
        self._complained: set[ApplicationId] = set()
        self.secrets = JobSecrets(server.directory.path / FOLDER)

    async def start(self) -> None:
        """Serve reduces; what earlier servers left of applications that are over is deleted."""
        for application in {*self.secrets.load(), *self._engine.shared_names()}:
            number = parse_application(application)
            name = number and application_name(self._server.epoch_ms, number)
            if number is None or name != application or self._is_over(number):
                self._forget(application)
        observers = self._server.observers
        observers.events(lambda _, event: self._look(event.application), ApplicationEnded)
        observers.events(self._completed, ContainerCompleted)
        settings = self._server.settings
        # All reduces have the address of this machine.
        most = min(settings.limits.connections, MOST_CONNECTIONS)
        limits = msgspec.structs.replace(
            settings.limits, connections=most, connections_per_address=most
        )
        settings = msgspec.structs.replace(settings, limits=limits, certificate=None, key=None)
        web = web_server(settings, self, Proxies(()))
        self._web, self._serving = web, asyncio.create_task(web.serve(sockets=[self._listener]))

    async def stop(self) -> None:
        """Close the port."""
        self._web.should_exit = self._web.force_exit = True
        await self._serving

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        self._look(application_of(event.container))

    def _look(self, application: ApplicationId) -> None:
        """Forget an application that is over, and whose containers are, too."""
        if self._is_over(application):
            self._complained.discard(application)
            self._forget(application_name(self._server.epoch_ms, application))

    def _is_over(self, number: ApplicationId) -> bool:
        application = self._server.service.state.applications.get(number)
        return application is None or (application.over and not application.containers)

    def _forget(self, application: str) -> None:
        self.secrets.forget(application)
        self._engine.discard_shared(application)

    # How.

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            await self._answer(scope, receive, send)
        except Refused as refused:
            headers = {**_VERSION, **refused.headers, "Connection": "close"}
            kind = "text/plain; charset=UTF-8"
            response = Response(str(refused), refused.status, headers, media_type=kind)
            await response(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope.get(CROWDED):
            raise Refused(429, **{"Retry-After": str(RETRY_AFTER_MS)})
        if scope["method"] != "GET":
            raise Refused(405)
        headers = {name.decode("latin-1"): value for name, value in reversed(scope["headers"])}
        if any(headers.get(name) != value.encode() for name, value in _VERSION.items()):
            raise Refused(400, "Incompatible shuffle request version")
        parameters = parse_qs(
            scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace"
        )
        job, reduce, maps = _read(parameters)
        reply = self._reply(job, scope, headers.get("urlhash"))
        name = _application_of(job)
        application = self._server.service.state.applications[parse_application(name) or 0]
        outputs = MapOutputs(
            self._engine.shared_directory(name), f"usercache/{application.user}/appcache/{name}"
        )
        try:
            parts = await run_in_threadpool(
                lambda: [outputs.part(map_name, reduce) for map_name in maps]
            )
        except MissingOutput as missing:
            self._complain(application.id, str(missing))
            raise Refused(500, str(missing)) from missing
        kept = [each.lower() for each in parameters.get("keepAlive", ())] == ["true"]
        connection = {"Connection": "Keep-Alive", "Keep-Alive": f"timeout={KEPT_S}"}
        answer = {
            "ReplyHash": reply,
            **_VERSION,
            **(connection if kept else {"Connection": "close"}),
            "Content-Length": str(sum(len(part.header) + part.length for part in parts)),
        }
        fields = [(key.encode(), value.encode()) for key, value in answer.items()]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        try:
            for part in parts:
                await self._send(outputs, part, send)
        except (MissingOutput, OSError) as problem:
            # The answer has begun: the reduce keeps the parts before this one.
            self._complain(application.id, cause(problem))
            scope[ABANDON]()
            return
        await send({"type": "http.response.body"})

    def _reply(self, job: str, scope: Scope, signature: bytes | None) -> str:
        """The signature of the answer; raises Refused for a request with a wrong one."""
        secret = self.secrets.of_job(job)
        if secret is None:
            raise Refused(401, f"Can't find job token for job {job} !!")
        if signature is None:
            raise Refused(401, "fetcher cannot be authenticated")
        target = scope["raw_path"] + b"?" + scope["query_string"]
        if not hmac.compare_digest(_signature(secret, b"%d%s" % (self._port, target)), signature):
            raise Refused(401, "Verification of the hashReply failed")
        return _signature(secret, signature).decode()

    async def _send(self, outputs: MapOutputs, part: Part, send: Send) -> None:
        """Send a part with its header; raises MissingOutput if it is not there any more."""
        await send({"type": "http.response.body", "body": part.header, "more_body": True})
        at, end = part.start, part.start + part.length
        while at < end:
            content = await run_in_threadpool(_read_file, outputs, part.map_name, at, end)
            if not content:
                raise MissingOutput(f"the output of {part.map_name} ends before byte {end}")
            for begin in range(0, len(content), PIECE_BYTES):
                piece = content[begin : begin + PIECE_BYTES]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            at += len(content)

    def _complain(self, application: ApplicationId, message: str) -> None:
        """Log why a part cannot be had: once for each application, as a tenant can ask again."""
        if application not in self._complained:
            self._complained.add(application)
            name = application_name(self._server.epoch_ms, application)
            _log.warning("a reduce of %s asked for what is not there: %s", name, message)


def _read_file(outputs: MapOutputs, map_name: str, begin: int, end: int) -> bytes:
    with outputs.file(map_name) as descriptor:
        return os.pread(descriptor, min(end - begin, _READ_BYTES), begin)


def _read(parameters: Mapping[str, Sequence[str]]) -> tuple[str, int, list[str]]:
    """Job, reduce and maps of a request; raises Refused."""
    jobs, reduces = parameters.get("job", ()), parameters.get("reduce", ())
    maps = [name for names in parameters.get("map", ()) for name in names.split(",")]
    if not jobs or not reduces or not maps:
        raise Refused(400, "Required param job, map and reduce")
    if len(jobs) != 1 or len(reduces) != 1:
        raise Refused(400, "Too many job/reduce parameters")
    if not _NUMBER.fullmatch(reduces[0]) or not -(2**31) <= int(reduces[0]) < 2**31:
        raise Refused(400, "Bad reduce parameter")
    if len(maps) > MOST_MAPS:
        raise Refused(400, f"{counted(len(maps), 'map')} in one request; {MOST_MAPS} are possible")
    return jobs[0], int(reduces[0]), maps


def _signature(secret: bytes, message: bytes) -> bytes:
    return base64.b64encode(hmac.digest(secret, message, "sha1"))


def _application_of(job: str) -> str:
    """
    >>> _application_of("job_1700000000000_0001")
    'application_1700000000000_0001'
    """
    return _APPLICATION + job.removeprefix(_JOB) if job.startswith(_JOB) else ""

"""The aggregation of logs on this machine's nodes: when an application of Hadoop's clients is over,
the logs of its containers are copied to where `yarn logs` looks for them.

Root does nothing there by itself: directories and files are made with the rights of the
containers' account, and no other account's directory is entered. Source: Hadoop 3.4.1,
LogAggregationTFileController, LogAggregationFileController, AppLogAggregatorImpl.
"""

import asyncio
import contextlib
import logging
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from starlette.concurrency import run_in_threadpool

from fairshare.core.model.applications import Application
from fairshare.core.model.events import (
    ApplicationEnded,
    ApplicationsForgotten,
    ContainerCompleted,
    ContainerLaunched,
)
from fairshare.core.model.identifiers import (
    ApplicationId,
    application_name,
    application_of,
    container_name,
)
from fairshare.core.record import Record
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.rights import Rights, acting_as
from fairshare.runtime.observers import Observers
from fairshare.server.log_aggregation import FAILED, RUNNING, SUCCEEDED
from fairshare.server.server import LiveServer
from fairshare.settings.aggregated_logs import RemoteLogs
from fairshare.wording import cause, failed_call
from fairshare.yarn.rest.node_logs import Logs
from fairshare.yarn.rpc.own.engine import ContextEngine
from fairshare.yarn.rpc.own.log_file import LogFile, LogPart

PATIENCE_S: Final = 60.0
"""After this time logs are copied although a container's are not complete."""

_PAUSE_S = 0.1
_PIECE_BYTES = 1024 * 1024
_BUCKETS = 10_000
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOR_ALL = 0o1777
_OWN_DIRECTORY, _OWN_FILE = 0o770, 0o640

_log = logging.getLogger("fairshare.yarn.rpc")


class _Work(NamedTuple):
    """What is copied into one file: the containers that an application had on a node."""

    application: str
    bucket: str
    user: str
    node: str
    acls: Mapping[str, str]
    containers: dict[str, ContainerDirectory]


class OwnLogAggregation:
    """Copies logs of one server, one application after the other. `address_of` is the identifier
    of a node, `host:port`, by which the reports of attempts call it: `yarn logs -am` looks for a
    file of that name."""

    def __init__(
        self,
        server: LiveServer,
        engine: ContextEngine,
        remote: RemoteLogs,
        address_of: Callable[[str], str],
    ) -> None:
        self._server = server
        self._engine = engine
        self._remote = remote
        self._address_of = address_of
        self._waiting: asyncio.Queue[ApplicationId] = asyncio.Queue()
        self._seen: set[ApplicationId] = set()
        server.log_aggregation.enabled = True

    def start(self) -> None:
        """Follow the records. Applications that ended before are looked at again."""
        for application in self._server.service.state.applications.values():
            self._follow(application)
        self._subscribe(self._server.observers)
        self._server.background.start("log-aggregation", self._work)

    def _subscribe(self, observers: Observers) -> None:
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._completed, ContainerCompleted)
        observers.events(lambda _, event: self._look(event.application), ApplicationEnded)
        observers.events(self._forgotten, ApplicationsForgotten)

    def _launched(self, record: Record, event: ContainerLaunched) -> None:
        application = self._server.service.state.applications.get(application_of(event.container))
        if application is not None:
            self._follow(application)

    def _completed(self, record: Record, event: ContainerCompleted) -> None:
        self._look(application_of(event.container))

    def _forgotten(self, record: Record, event: ApplicationsForgotten) -> None:
        self._seen.difference_update(event.applications)

    def _follow(self, application: Application) -> None:
        driver = application.submission.driver
        if driver is None or not driver.is_launch_context:
            return
        containers = self._server.projections.history.application(application.id).containers
        for node in {record.node for record in containers.values()}:
            self._server.log_aggregation.runs(application.id, node)
        self._look(application.id)

    def _look(self, number: ApplicationId) -> None:
        """Have the logs of an application copied that is over, and whose containers are, too."""
        application = self._server.service.state.applications.get(number)
        if application is None or not application.over or application.containers:
            return
        driver = application.submission.driver
        if driver is not None and driver.is_launch_context and number not in self._seen:
            self._seen.add(number)
            self._waiting.put_nowait(number)

    async def _work(self) -> None:
        while True:
            application = await self._waiting.get()
            await self._aggregate(application)

    async def _aggregate(self, application: ApplicationId) -> None:
        logs = self._server.log_aggregation
        logs.ended(application, self._server.service.now_ms())
        for node, work in self._files_of(application).items():
            logs.reported(application, node, RUNNING)
            end = asyncio.get_running_loop().time() + PATIENCE_S
            while not await run_in_threadpool(_are_ended, work):
                if asyncio.get_running_loop().time() > end:
                    break
                await asyncio.sleep(_PAUSE_S)
            try:
                await run_in_threadpool(copy, self._remote, work)
            except (OSError, ValueError) as error:
                words = failed_call(error) if isinstance(error, OSError) else cause(error)
                _log.warning("the logs of %s are not aggregated: %s", work.application, words)
                logs.reported(application, node, FAILED)
            else:
                logs.reported(application, node, SUCCEEDED)

    def _files_of(self, number: ApplicationId) -> dict[str, _Work]:
        """By node."""
        state = self._server.service.state
        application = state.applications.get(number)
        if application is None:
            return {}
        name = application_name(state.epoch_ms, number)
        details = application.submission.details
        lists = (("VIEW_APP", details.view_acl), ("MODIFY_APP", details.modify_acl))
        acls = {access: acl for access, acl in lists if acl is not None}
        work_of_nodes: dict[str, _Work] = {}
        history = self._server.projections.history.application(number)
        for container, record in history.containers.items():
            if record.node not in work_of_nodes:
                bucket, node = f"{number % _BUCKETS:04d}", self._address_of(record.node)
                work_of_nodes[record.node] = _Work(name, bucket, application.user, node, acls, {})
            files = self._engine.files(*self._server.container_names(container))
            work_of_nodes[record.node].containers[container_name(state.epoch_ms, container)] = files
        return work_of_nodes


def _are_ended(work: _Work) -> bool:
    return all(files.ended() for files in work.containers.values())


def copy(remote: RemoteLogs, work: _Work) -> None:
    """Write one file, unless it is there. Raises OSError or ValueError; then there is none."""
    if "/" in work.user or work.user in ("", ".", ".."):
        raise ValueError(f"{work.user!r} cannot name a directory")
    launched = [files for files in work.containers.values() if files.launch.exists()]
    rights = launched[0].rights() if launched else None
    _make_root(remote.directory)
    name, draft = work.node.replace(":", "_"), f"{work.node.replace(':', '_')}.tmp"
    with acting_as(rights):
        steps = (work.user, f"bucket-{remote.suffix}", work.bucket, work.application)
        directory = _enter(remote.directory, steps, rights)
    try:
        with acting_as(rights):
            descriptor = _create(directory, name, draft)
        if descriptor is None:
            return
        try:
            with os.fdopen(descriptor, "wb") as file:
                content = LogFile(file.write, work.user, work.acls)
                for container, files in work.containers.items():
                    content.add(container, _parts(files))
                content.close()
            with acting_as(rights):
                os.rename(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
        except BaseException:
            with acting_as(rights), contextlib.suppress(OSError):
                os.unlink(draft, dir_fd=directory)
            raise
    finally:
        os.close(directory)


def _make_root(directory: Path) -> None:
    """Make the directory of all users, as Hadoop does, where it is missing. Raises ValueError where
    it, or one that it is in, is where any account could make it, as in /tmp, and another one has.
    """
    for path in reversed((directory, *directory.parents)):
        try:
            taken = path.lstat().st_uid not in (0, os.geteuid())
        except FileNotFoundError:
            path.mkdir()
            if path == directory:
                path.chmod(_FOR_ALL)
            continue
        if taken and path.parent.stat().st_mode & stat.S_IWOTH:
            raise ValueError(
                f"{path} is of another account, which could change all in it: remove it, or name a"
                " directory elsewhere (yarn.nodemanager.remote-app-log-dir)"
            )


def _enter(root: Path, steps: tuple[str, ...], rights: Rights | None) -> int:
    """A descriptor of a directory below the one of all users; makes it with the present rights.
    Each step must be a directory of the account itself, not a link."""
    uid = os.geteuid() if rights is None else rights.uid
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for step in steps:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(step, _OWN_DIRECTORY, dir_fd=descriptor)
            inner = os.open(step, _DIRECTORY, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = inner
        if os.fstat(descriptor).st_uid != uid:
            os.close(descriptor)
            raise ValueError(f"{step} in {root} is of another account")
    return descriptor


def _create(directory: int, name: str, draft: str) -> int | None:
    """A descriptor of a new file; None if it was written before."""
    with contextlib.suppress(FileNotFoundError):
        os.stat(name, dir_fd=directory, follow_symlinks=False)
        return None
    with contextlib.suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(draft, flags, _OWN_FILE, dir_fd=directory)


def _parts(files: ContainerDirectory) -> Iterator[LogPart]:
    logs = Logs(files)
    for log in logs.all():
        yield LogPart(log.name, log.size, _pieces(logs, log.name, log.size))


def _pieces(logs: Logs, name: str, size: int) -> Iterator[bytes]:
    at = 0
    while at < size:
        log = logs.read(name, at, min(_PIECE_BYTES, size - at))
        if log is None or not log.content:
            raise ValueError(f"the log {name} became shorter while it was read")
        yield log.content
        at += len(log.content)

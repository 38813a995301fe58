"""The aggregation of logs on this machine's nodes: when an application of Hadoop's clients is over,
the logs of its containers are copied to where `yarn logs` looks for them, into a file that it
reads: a TFile without compression, whose records are the containers of one node.

Root does nothing there by itself: directories and files are made with the rights of the
containers' account, and no other account's directory is entered. Source: Hadoop 3.4.1,
LogAggregationTFileController, LogAggregationFileController, AppLogAggregatorImpl;
AggregatedLogFormat, and io.file.tfile: TFile, BCFile, Chunk, Utils.
"""

import asyncio
import contextlib
import logging
import os
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from fairshare.server.log_aggregation import FAILED, RUNNING, SUCCEEDED
from fairshare.server.server import LiveServer
from fairshare.settings.nodes import RemoteLogs
from fairshare.wording import cause, failed_call
from fairshare.yarn.rest.own_node import Logs
from fairshare.yarn.rpc.own.engine import ContextEngine

_MAGIC: Final = bytes.fromhex("d111d36891b5d7b639df414092bae150")
_VERSION: Final = struct.pack(">hh", 1, 0)
_BLOCK_BYTES: Final = 256 * 1024
_CHUNK_BYTES: Final = 1024 * 1024


class LogPart(NamedTuple):
    """One log of a container; `pieces` have `size` bytes together."""

    name: str
    size: int
    pieces: Iterable[bytes]


class LogFile:
    """Such a file, whose bytes `write` gets in their order.

    `acls` are users and groups by the name of the access: VIEW_APP, MODIFY_APP. After the last
    container, `close` makes it complete.
    """

    def __init__(
        self, write: Callable[[bytes], object], user: str, acls: Mapping[str, str]
    ) -> None:
        self._write = write
        self._at = 0
        self._put(_MAGIC)
        self._block_at = self._at
        self._records = self._records_of_block = 0
        self._first_key = self._last_key = b""
        self._blocks: list[bytes] = []
        self._ends: list[bytes] = []  # the last key, and the number of records, of each block
        self._add("VERSION", struct.pack(">i", 1))
        self._add("APPLICATION_ACL", b"".join(_utf(word) for pair in acls.items() for word in pair))
        self._add("APPLICATION_OWNER", _utf(user))

    def add(self, container: str, parts: Iterable[LogPart]) -> None:
        """Add the logs of a container."""
        self._put_key(container)
        held = b""
        for piece in _content(parts):
            held += piece
            if len(held) >= _CHUNK_BYTES:
                self._put(_number(-len(held)) + held)
                held = b""
        self._put(_sized(held))
        self._end_record()

    def close(self) -> None:
        """Write what is behind the records."""
        if self._records_of_block:
            self._end_block()
        contents = {
            "TFile.meta": _VERSION + _number(self._records) + _text(""),
            "TFile.index": _sized(_sized(self._first_key)) + b"".join(map(_sized, self._ends)),
            "BCFile.index": _text("none") + _number(len(self._blocks)) + b"".join(self._blocks),
        }
        regions = {}
        for name, content in contents.items():
            regions[name] = _region(self._at, len(content))
            self._put(content)
        end = self._at
        self._put(_number(len(regions)))
        for name, region in sorted(regions.items()):
            self._put(_text(f"data:{name}") + _text("none") + region)
        self._put(struct.pack(">q", end) + _VERSION + _MAGIC)

    def _put(self, content: bytes) -> None:
        self._write(content)
        self._at += len(content)

    def _add(self, name: str, value: bytes) -> None:
        self._put_key(name)
        self._put(_sized(value))
        self._end_record()

    def _put_key(self, name: str) -> None:
        self._last_key = _utf(name)
        self._first_key = self._first_key or self._last_key
        self._put(_sized(self._last_key))

    def _end_record(self) -> None:
        self._records += 1
        self._records_of_block += 1
        if self._at - self._block_at >= _BLOCK_BYTES:
            self._end_block()

    def _end_block(self) -> None:
        self._blocks.append(_region(self._block_at, self._at - self._block_at))
        self._ends.append(_sized(self._last_key) + _number(self._records_of_block))
        self._block_at, self._records_of_block = self._at, 0


def _content(parts: Iterable[LogPart]) -> Iterator[bytes]:
    for part in parts:
        yield _utf(part.name) + _utf(str(part.size))
        yield from part.pieces


def _utf(text: str) -> bytes:
    """As DataOutputStream.writeUTF, for texts without NUL and of the basic plane."""
    content = text.encode(errors="replace")
    return struct.pack(">H", len(content)) + content


def _text(text: str) -> bytes:
    return _sized(text.encode())


def _sized(content: bytes) -> bytes:
    return _number(len(content)) + content


def _region(at: int, size: int) -> bytes:
    return _number(at) + 2 * _number(size)


_SHORT: Final = ((2, 20, 52), (3, 16, 88), (4, 8, 112))
"""The forms of 2 to 4 bytes: the first byte, without its offset, is less than a bound."""


def _number(value: int) -> bytes:
    """Utils.writeVLong: one byte from -32 to 127, else 2 to 9.

    >>> [_number(one).hex() for one in (127, 128, -33, 5_000, 6_000, 2**27 - 1, 2**27)]
    ['7f', 'cc80', 'cbdf', 'df88', 'a81770', '97ffffff', '8308000000']
    """
    if -32 <= value < 128:
        return value.to_bytes(1, signed=True)
    for size, bound, offset in _SHORT:
        first, rest = value >> 8 * (size - 1), value & (1 << 8 * (size - 1)) - 1
        if -bound <= first < bound:
            return (first - offset).to_bytes(1, signed=True) + rest.to_bytes(size - 1)
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return (size - 129).to_bytes(1, signed=True) + value.to_bytes(size, signed=True)


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
        observers = self._server.observers
        observers.events(self._launched, ContainerLaunched)
        observers.events(self._completed, ContainerCompleted)
        observers.events(lambda _, event: self._look(event.application), ApplicationEnded)
        observers.events(self._forgotten, ApplicationsForgotten)
        self._server.background.start("log-aggregation", self._work)

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

"""The paths of a NodeManager, `/ws/v1/node`, for the nodes of this machine: their address is the
server's, where monitors ask for them; and the logs of containers there, for which clients ask a
NodeManager: `yarn logs`, the links of Spark's and Flink's pages, browsers (Hadoop: NMWebServices,
ContainerLogsPage).

Several nodes of one machine have one address, and answer as one. Nodes that register by themselves
have a web server of their own.

The logs are what a container printed, and the files in its `LOG_DIRS`. These belong to its user,
and are listed and opened with that user's rights.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from fairshare import __version__
from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import application_name, application_of, container_name
from fairshare.engines import log_files
from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.protocol import ContainerFiles
from fairshare.engines.rights import acting_as
from fairshare.yarn.rest.answering import HEADERS, Answer, ServletRoute, YarnRoute
from fairshare.yarn.rest.application_documents import logs_url
from fairshare.yarn.rest.callers import Caller, checked_caller, may_view
from fairshare.yarn.rest.errors import Refused, bad_request, not_found, unauthorized
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.nodes import HADOOP_VERSION
from fairshare.yarn.rest.pages import DOCUMENT
from fairshare.yarn.rest.parameters import LONG, lenient_integer, read_container_id
from fairshare.yarn.rest.rendering import java_date
from fairshare.yarn.rpc.own.launcher import LOGS
from fairshare.yarn.views.documents import Document

BASE = "/ws/v1/node"


class OwnNodeInfo(Document, kw_only=True):
    """The nodes of this machine as one NodeManager."""

    healthReport: str = ""
    totalVmemAllocatedContainersMB: int
    totalPmemAllocatedContainersMB: int
    totalVCoresAllocatedContainers: int
    vmemCheckEnabled: bool = False
    pmemCheckEnabled: bool
    lastNodeUpdateTime: int
    resourceTypes: str
    nodeHealthy: bool = True
    nodeManagerVersion: str = HADOOP_VERSION
    nodeManagerBuildVersion: str = f"{HADOOP_VERSION} as served by fairshare {__version__}"
    nodeManagerVersionBuiltOn: str = ""
    hadoopVersion: str = HADOOP_VERSION
    hadoopBuildVersion: str = f"{HADOOP_VERSION} as served by fairshare {__version__}"
    hadoopVersionBuiltOn: str = ""
    id: str
    nodeHostName: str
    nmStartupTime: int


class NodeApp(Document):
    """An application with containers here, which only callers see that may view it."""

    id: str
    state: str
    user: str
    containerids: list[str]


class NodeApps(Document):
    """Some of them."""

    app: list[NodeApp] | UnsetType


class NodeContainer(Document, kw_only=True):
    """A container that runs here."""

    id: str
    state: str = "RUNNING"
    exitCode: int = -1000
    diagnostics: str = ""
    user: str
    totalMemoryNeededMB: int
    totalVCoresNeeded: float
    executionType: str = "GUARANTEED"
    containerLogsLink: str
    nodeId: str


class NodeContainers(Document):
    """Some of them."""

    container: list[NodeContainer] | UnsetType


def _gateway(request: Request) -> Gateway:
    gateway = gateway_of(request)
    if gateway.server.engine.nodes_register:
        raise not_found("the nodes of this cluster have web servers of their own")
    return gateway


async def show_info(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node and /ws/v1/node/info."""
    gateway = _gateway(request)
    state = gateway.scheduler.state
    nodes = list(state.nodes.values())
    configuration = gateway.server.settings.configuration
    kinds = [
        f"{name} (unit={unit})" if unit else name
        for name, unit in zip(state.types.names, state.types.units, strict=True)
    ]
    memory_mb = sum(node.total[0] for node in nodes)
    ratio = 2.1  # yarn.nodemanager.vmem-pmem-ratio; virtual memory is not limited here
    return Answer(
        OwnNodeInfo(
            totalVmemAllocatedContainersMB=int(memory_mb * ratio),
            totalPmemAllocatedContainersMB=memory_mb,
            totalVCoresAllocatedContainers=sum(node.total[1] for node in nodes),
            pmemCheckEnabled=configuration is None or configuration.node_manager.memory_check,
            lastNodeUpdateTime=gateway.now_ms(),
            resourceTypes=", ".join(kinds),
            id=gateway.node_address(nodes[0].name) if nodes else gateway.address,
            nodeHostName=nodes[0].host if nodes else gateway.address.rpartition(":")[0],
            nmStartupTime=gateway.started_ms,
        ),
        "nodeInfo",
    )


def _here(gateway: Gateway) -> dict[Application, list[int]]:
    here: dict[Application, list[int]] = {}
    state = gateway.scheduler.state
    for node in state.nodes.values():
        for container in node.containers:
            application = state.applications.get(application_of(container))
            if application is not None:
                here.setdefault(application, []).append(container)
    return here


async def list_applications(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node/apps."""
    gateway = _gateway(request)
    epoch_ms = gateway.scheduler.state.epoch_ms
    applications = [
        NodeApp(
            application_name(epoch_ms, application.id),
            "FINISHING_CONTAINERS_WAIT" if application.over else "RUNNING",
            application.user,
            [
                container_name(epoch_ms, container)
                for container in containers
                if may_view(gateway, caller, application)
            ],
        )
        for application, containers in _here(gateway).items()
    ]
    return Answer(NodeApps(applications or UNSET), "apps")


async def list_containers(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node/containers."""
    gateway = _gateway(request)
    state = gateway.scheduler.state
    listed = []
    for application, containers in _here(gateway).items():
        if not may_view(gateway, caller, application):
            continue
        for container in containers:
            granted = application.containers.get(container)
            if granted is None:
                continue
            name = container_name(state.epoch_ms, container)
            listed.append(
                NodeContainer(
                    id=name,
                    user=application.user,
                    totalMemoryNeededMB=granted.resource[0],
                    totalVCoresNeeded=float(granted.resource[1]),
                    containerLogsLink=logs_url(gateway, granted.node, name, application.user),
                    nodeId=gateway.node_address(granted.node),
                )
            )
    return Answer(NodeContainers(listed or UNSET), "containers")


MOST_BYTES = 1_000_000
"""The bytes of a log that one answer has; our own interface gives all of it."""
MOST_FILES = 100
"""The files in `LOG_DIRS` that are listed."""

_UNKNOWN = (
    "Unknown container. Container either has not started or has already completed or doesn't"
    " belong to this node at all."
)
_NO_LOG = "java.lang.Exception: Cannot find this log on the local disk."


class LogInfo(Document):
    """One log of a container."""

    fileName: str
    fileSize: str
    lastModifiedTime: str


class LogsInfo(Document):
    """The logs of a container."""

    containerLogInfo: list[LogInfo]
    logAggregationType: str
    containerId: str
    nodeId: str


class LogsInfos(Document):
    """Those of one container, in the list that YARN writes."""

    containerLogsInfo: list[LogsInfo]


class Log(NamedTuple):
    """A log as it is now: its size, when it was written last, and bytes of it."""

    name: str
    size: int
    modified_s: float
    content: bytes = b""

    @property
    def modified(self) -> str:
        """As Java writes it."""
        return java_date(int(self.modified_s * 1_000))


class Logs:
    """The logs of a container, on the disk of this machine. Its methods wait for that disk."""

    def __init__(self, files: ContainerFiles) -> None:
        self._files = files

    def all(self) -> list[Log]:
        """All logs, without content."""
        names = ["stdout", "stderr"]
        with suppress(OSError, ValueError), self._folder() as folder, os.scandir(folder) as entries:
            further = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
            names += sorted(further)[:MOST_FILES]
        return [log for name in names if (log := self.read(name, 0, 0)) is not None]

    def read(self, name: str, start: int, count: int) -> Log | None:
        """A log with `count` bytes from `start` on, a negative one from the end; None: it is not
        there, or no regular file."""
        if name in ("stdout", "stderr"):
            path: Path = getattr(self._files, name)
            size = log_files.read_part(path, 0, 0)[1]
            content = log_files.read_part(path, _from(start, size), count)[0]
            return Log(name, size, _modified_s(path), content)
        if "/" in name or name in ("", ".", ".."):
            return None
        with suppress(OSError, ValueError), self._folder() as folder:
            descriptor = os.open(
                name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder
            )
            try:
                status = os.fstat(descriptor)
                if stat.S_ISREG(status.st_mode):
                    place = _from(start, status.st_size)
                    content = os.pread(descriptor, count, place) if count else b""
                    return Log(name, status.st_size, status.st_mtime, content)
            finally:
                os.close(descriptor)
        return None

    @contextmanager
    def _folder(self) -> Iterator[int]:
        """The container's `LOG_DIRS`, opened and used with the rights of its account."""
        if not isinstance(self._files, ContainerDirectory):
            raise FileNotFoundError
        with acting_as(self._files.rights()):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            folder = os.open(self._files.work / LOGS, flags)
            try:
                yield folder
            finally:
                os.close(folder)


def _from(start: int, size: int) -> int:
    return max(0, size + start) if start < 0 else min(start, size)


def _modified_s(path: Path) -> float:
    with suppress(OSError):
        return path.lstat().st_mtime
    return 0.0


class _Container(NamedTuple):
    """A container of a node of this machine."""

    name: str
    application: Application
    node: str
    logs: Logs | None


def _find(gateway: Gateway, text: str) -> _Container | None:
    """The container of a name; None for one that no application here has had. Raises Refused."""
    epoch_ms, container = read_container_id(text)
    state, node = gateway.scheduler.state, gateway.node_of(container)
    application = state.applications.get(application_of(container))
    if application is None or node is None or epoch_ms != state.epoch_ms:
        return None
    files = gateway.files(container)
    name = container_name(epoch_ms, container)
    return _Container(name, application, node, None if files is None else Logs(files))


async def list_logs(request: Request, caller: Caller) -> Answer:
    """GET /ws/v1/node/containers/CONTAINER/logs."""
    gateway, text = gateway_of(request), request.path_params["container"]
    try:
        container = _find(gateway, text)
    except Refused:
        raise bad_request(f"invalid container id, {text}") from None
    if container is None or container.logs is None:
        kind = "org.apache.hadoop.yarn.webapp.NotFoundException"
        words = f"{kind}: java.lang.Exception: {_UNKNOWN}"
        raise Refused(503, "javax.ws.rs.WebApplicationException", words)
    if not may_view(gateway, caller, container.application):
        raise unauthorized(f"{caller.user} may not look into this application")
    logs, node = await run_in_threadpool(container.logs.all), gateway.node_address(container.node)
    listed = [LogInfo(log.name, str(log.size), log.modified) for log in logs]
    infos = LogsInfos([LogsInfo(listed, "LOCAL", container.name, node)])
    return Answer(infos, "containerLogsInfoes", dialect="mapped")


async def show_log(request: Request) -> Response:
    """GET /ws/v1/node/containers/CONTAINER/logs/FILE: the first `size` bytes of a log; with a
    negative `size` the last ones. It is a text, whatever the caller accepts."""
    try:
        container = _find(gateway_of(request), request.path_params["container"])
        size = lenient_integer(request.query_params.get("size"), "size", MOST_BYTES, bits=LONG)
    except Refused as refused:
        return PlainTextResponse(str(refused), refused.status)
    if container is None or container.logs is None:
        return PlainTextResponse(f"java.lang.Exception: {_UNKNOWN}", 404)
    await checked_caller(request, container.application)
    name, start, count = request.path_params["file"], min(size, 0), min(abs(size), MOST_BYTES)
    log = await run_in_threadpool(container.logs.read, name, start, count)
    if log is None:
        return PlainTextResponse(_NO_LOG, 404)
    node = gateway_of(request).node_address(container.node)
    title, end = f"Container: {container.name} on {node}", f"End of LogType:{log.name}"
    head = (
        f"{title}\nLogAggregationType: LOCAL\n{'=' * len(title)}\nLogType:{log.name}\n"
        f"LogLastModifiedTime:{log.modified}\nLogLength:{log.size}\nLogContents:\n"
    )
    tail = (
        f"{end}.This log file belongs to a running container ({container.name}) and so may not be"
        f" complete.\n{'*' * (len(end) + 50)}\n\n\n"
    )
    whole = request.query_params.get("format") == "octet-stream"
    kind = "application/octet-stream; charset=utf-8" if whole else "text/plain;charset=utf-8"
    headers = {**HEADERS, "Content-Type": kind}
    return Response(head.encode() + log.content + tail.encode(), headers=headers)


async def show_page(request: Request) -> Response:
    """GET /node/containerlogs/CONTAINER/USER[/FILE]: the ends of the logs of a container, or the
    bytes of one from `start` to `end`; or its node's page with them."""
    gateway = gateway_of(request)
    try:
        container = _find(gateway, request.path_params["container"])
        start, end = (
            lenient_integer(request.query_params.get(name), name, default, bits=LONG)
            for name, default in (("start", -MOST_BYTES), ("end", 0))
        )
    except Refused:
        raise HTTPException(404) from None
    if container is None:
        raise HTTPException(404)
    await checked_caller(request, container.application)
    if container.logs is None:
        user = container.application.user
        return RedirectResponse(logs_url(gateway, container.node, container.name, user), 302)
    wanted = request.path_params.get("file")
    parts = []
    for name in ("stdout", "stderr") if wanted is None else (wanted,):
        count = MOST_BYTES if end <= 0 else max(0, min(MOST_BYTES, end - max(0, start)))
        log = await run_in_threadpool(container.logs.read, name, start, count)
        if log is None:
            raise HTTPException(404, "there is no such log of this container")
        text = escape(log.content.decode(errors="replace"))
        parts.append(f"<h2>{escape(name)}</h2><pre>{text}</pre>")
    if wanted is None:
        for log in await run_in_threadpool(container.logs.all):
            link = f"{request.url.path.rstrip('/')}/{log.name}/?start=-4096"
            parts.append(
                f'<p><a href="{escape(link)}">{escape(log.name)}</a>: {log.size:,} bytes</p>'
            )
    return HTMLResponse(DOCUMENT.format(title=escape(container.name), body="".join(parts)))


_PATH = "/node/containerlogs/{container}/{user}"

ROUTES: Final[list[Any]] = [
    YarnRoute(BASE, get=show_info),
    YarnRoute(f"{BASE}/", get=show_info),
    YarnRoute(f"{BASE}/info", get=show_info),
    YarnRoute(f"{BASE}/apps", get=list_applications),
    YarnRoute(f"{BASE}/containers", get=list_containers),
    YarnRoute(f"{BASE}/containers/{{container}}/logs", get=list_logs),
    ServletRoute(f"{BASE}/containers/{{container}}/logs/{{file}}", show_log),
    ServletRoute(f"{BASE}/containerlogs/{{container}}/{{file}}", show_log),
    ServletRoute(_PATH, show_page),
    ServletRoute(f"{_PATH}/{{file}}", show_page),
    ServletRoute(f"{_PATH}/{{file}}/", show_page),
]

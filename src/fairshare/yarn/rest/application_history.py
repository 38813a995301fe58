"""`/ws/v1/applicationhistory`: applications, also those that are over, with all their attempts and
containers, as a timeline server shows them (Hadoop 3.4.1: AHSWebServices, webapp.dao.AppInfo).

Clients find it where `yarn.timeline-service.webapp.address` is this server's web address. JSON has
no name around it here, and maps are objects, as Hadoop's Jackson writes them.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.routing import BaseRoute

from fairshare.core.model.applications import Application
from fairshare.core.model.identifiers import ContainerId, application_of, attempt_name, attempt_of
from fairshare.server.slices import sliced
from fairshare.yarn.rest.answering import JSON, Answer, YarnRoute, accepted_form
from fairshare.yarn.rest.application_documents import AppInfo, application_info
from fairshare.yarn.rest.applications import (
    NO_CONTAINER,
    AttemptDetail,
    attempt_detail,
    chosen,
    container_info,
    find_attempt,
)
from fairshare.yarn.rest.callers import Caller, may_view
from fairshare.yarn.rest.errors import not_found
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import find_application, read_container_id, read_filter
from fairshare.yarn.views.documents import Document, Entries

BASE: Final = "/ws/v1/applicationhistory"
_GPU: Final = "yarn.io/gpu"
_ABSENT: Final = "N/A"


class HistoryAppInfo(Document):
    """One application. Amounts that are not known are -1."""

    appId: str
    currentAppAttemptId: str | UnsetType
    user: str
    name: str
    queue: str
    type: str
    host: str
    rpcPort: int
    appState: str
    runningContainers: int
    progress: float
    diagnosticsInfo: str
    originalTrackingUrl: str
    trackingUrl: str | UnsetType
    finalAppStatus: str
    submittedTime: int
    startedTime: int
    launchTime: int
    finishedTime: int
    elapsedTime: int
    applicationTags: str | UnsetType
    priority: int
    allocatedCpuVcores: int
    allocatedMemoryMB: int
    allocatedGpus: int
    reservedCpuVcores: int
    reservedMemoryMB: int
    reservedGpus: int
    unmanagedApplication: bool
    appNodeLabelExpression: str | UnsetType
    amNodeLabelExpression: str | UnsetType
    aggregateResourceAllocation: str
    aggregatePreemptedResourceAllocation: str


class HistoryAppInfos(Document):
    """Some applications."""

    app: list[HistoryAppInfo]


class HistoryAttemptInfos(Document):
    """All attempts of an application, the first one first."""

    appAttempt: list[AttemptDetail]


class HistoryContainerInfo(Document):
    """One container, which runs or has ended."""

    containerId: str
    allocatedMB: int
    allocatedVCores: int
    assignedNodeId: str
    priority: int
    startedTime: int
    finishedTime: int
    elapsedTime: int
    diagnosticsInfo: str
    logUrl: str
    containerExitStatus: int
    containerState: str
    nodeHttpAddress: str
    nodeId: str
    allocatedResources: Mapping[str, int] | Entries


class HistoryContainerInfos(Document):
    """The containers of an attempt, in the order of their allocation."""

    container: list[HistoryContainerInfo]


async def list_applications(request: Request, caller: Caller) -> Answer:
    """GET /apps: with the conditions of the ResourceManager's list."""
    gateway = gateway_of(request)
    applications = gateway.scheduler.state.applications

    def infos() -> Iterator[HistoryAppInfo]:
        for number, full in tuple(chosen(gateway, caller, read_filter(request))):
            if application := applications.get(number):
                yield _application(gateway, application, full=full)

    return Answer(HistoryAppInfos([info async for info in sliced(infos())]), "apps", "bare")


async def show_application(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID."""
    gateway = gateway_of(request)
    application = find_application(gateway, request.path_params["application"])
    full = may_view(gateway, caller, application)
    return Answer(_application(gateway, application, full=full), "app", "bare")


def _application(gateway: Gateway, application: Application, *, full: bool) -> HistoryAppInfo:
    state = gateway.scheduler.state
    info = application_info(gateway, application, full=full, without=("resourcerequests",))
    attempt = gateway.attempt_history.of(application.id).attempt
    detail = attempt_detail(gateway, application, attempt) if attempt and full else None
    gpus = state.types.names.index(_GPU) if _GPU in state.types.names else None
    return HistoryAppInfo(
        appId=info.id,
        currentAppAttemptId=(
            attempt_name(state.epoch_ms, application.id, attempt.number) if attempt else UNSET
        ),
        user=info.user,
        name=info.name,
        queue=info.queue,
        type=info.applicationType,
        host=detail.host if detail else _ABSENT,
        rpcPort=detail.rpcPort if detail else -1,
        appState=info.state,
        runningContainers=info.runningContainers,
        progress=info.progress,
        diagnosticsInfo=info.diagnostics,
        originalTrackingUrl=detail.originalTrackingUrl if detail else _ABSENT,
        trackingUrl=info.trackingUrl,
        finalAppStatus=info.finalStatus,
        submittedTime=application.submitted_ms,
        startedTime=info.startedTime,
        launchTime=info.launchTime,
        finishedTime=info.finishedTime,
        elapsedTime=info.elapsedTime,
        applicationTags=info.applicationTags or UNSET,
        priority=info.priority,
        allocatedCpuVcores=info.allocatedVCores,
        allocatedMemoryMB=info.allocatedMB,
        allocatedGpus=-1 if gpus is None or not full else application.used[gpus],
        reservedCpuVcores=info.reservedVCores,
        reservedMemoryMB=info.reservedMB,
        reservedGpus=-1,
        unmanagedApplication=info.unmanagedApplication,
        appNodeLabelExpression=info.appNodeLabelExpression,
        amNodeLabelExpression=info.amNodeLabelExpression,
        aggregateResourceAllocation=_use(info),
        aggregatePreemptedResourceAllocation=(
            f"{info.preemptedMemorySeconds} MB-seconds, {info.preemptedVcoreSeconds} vcore-seconds"
        ),
    )


def _use(info: AppInfo) -> str:
    further = [
        f"{amount} {name}-seconds"
        for name, amount in info.resourceSecondsMap.pairs
        if name not in ("memory-mb", "vcores")
    ]
    amounts = (f"{info.memorySeconds} MB-seconds", f"{info.vcoreSeconds} vcore-seconds")
    return ", ".join((*amounts, *further))


async def list_attempts(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts."""
    gateway = gateway_of(request)
    application = find_application(gateway, request.path_params["application"])
    attempts = gateway.attempt_history.of(application.id).attempts
    full = may_view(gateway, caller, application)
    shown = [attempt_detail(gateway, application, one) for one in attempts] if full else []
    return Answer(HistoryAttemptInfos(shown), "appAttempts", "bare")


async def show_attempt(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts/ATTEMPT."""
    gateway = gateway_of(request)
    application, attempt = find_attempt(gateway, request, caller)
    return Answer(attempt_detail(gateway, application, attempt), "appAttempt", "bare")


async def list_containers(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts/ATTEMPT/containers: also those that have ended."""
    gateway = gateway_of(request)
    application, attempt = find_attempt(gateway, request, caller, of_application=True)
    history = gateway.server.projections.history
    found = [
        _container(gateway, application, container, as_json=accepted_form(request) == JSON)
        for container in history.application(application.id).containers
        if attempt_of(container) == attempt.number
    ]
    shown = [info for info in found if info is not None]
    return Answer(HistoryContainerInfos(shown), "containers", "bare")


async def show_container(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts/ATTEMPT/containers/CONTAINER."""
    gateway = gateway_of(request)
    text = request.path_params["container"]
    epoch_ms, container = read_container_id(text)
    application, _ = find_attempt(gateway, request, caller, of_application=True)
    if application_of(container) != application.id:
        raise not_found("appAttemptId and containerId don't match")
    as_json = accepted_form(request) == JSON
    info = _container(gateway, application, container, as_json=as_json)
    if info is None or epoch_ms != gateway.scheduler.state.epoch_ms:
        raise not_found(f"Container with id '{text}' doesn't exist in RM.", NO_CONTAINER)
    return Answer(info, "container", "bare")


def _container(
    gateway: Gateway, application: Application, container: ContainerId, *, as_json: bool
) -> HistoryContainerInfo | None:
    """The document of a live or an ended container; None: there is no such one."""
    grant = application.containers.get(container)
    record = None if grant else gateway.server.projections.history.container(container)
    known = grant or record
    if known is None:
        return None
    info = msgspec.structs.asdict(container_info(gateway, application, known))
    del info["exposedPorts"]
    if as_json:
        amounts = info["allocatedResources"].pairs
        info["allocatedResources"] = {name: int(amount) for name, amount in amounts}
    return HistoryContainerInfo(**info, diagnosticsInfo=record.diagnostics if record else "")


def routes() -> list[BaseRoute]:
    """All paths below BASE."""
    attempts = "/apps/{application}/appattempts"
    containers = attempts + "/{attempt}/containers"
    handlers = {
        "/apps": list_applications,
        "/apps/{application}": show_application,
        attempts: list_attempts,
        attempts + "/{attempt}": show_attempt,
        containers: list_containers,
        containers + "/{container}": show_container,
    }
    return [
        route
        for path, handler in handlers.items()
        for route in (YarnRoute(path, get=handler), YarnRoute(path, get=handler).with_slash())
    ]

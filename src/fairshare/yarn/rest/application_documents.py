"""One application in YARN's terms: its state, its timeouts, and its document (Hadoop: AppInfo).

The words for states are those of YarnApplicationState and YarnApplicationAttemptState. The fields
of the document are in YARN's order; those from `startedTime` on are 0, empty or absent for callers
without permission to view it.
"""

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta, timezone
from typing import Final

from msgspec import UNSET, UnsetType

from fairshare.core.model.applications import Application
from fairshare.core.model.asks import Ask
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import application_name, container_name
from fairshare.core.model.resources import Resource, ResourceTypes, add, scale, total
from fairshare.runtime.projections.attempt_history import ApplicationAttempts, Attempt
from fairshare.wording import without_output
from fairshare.yarn.rest.diagnostics import application_diagnostics
from fairshare.yarn.rest.gateway import Gateway
from fairshare.yarn.views.documents import (
    Document,
    Entries,
    ResourceInfo,
    ResourceUsages,
    entries,
    resource_info,
)

FINAL_STATUSES: Final = ("UNDEFINED", "SUCCEEDED", "FAILED", "KILLED", "ENDED")
_ENDS: Final = {
    ApplicationState.FINISHED: "FINISHED",
    ApplicationState.FAILED: "FAILED",
    ApplicationState.KILLED: "KILLED",
    ApplicationState.REJECTED: "FAILED",
}


def public_state(application: Application, history: ApplicationAttempts) -> str:
    """One of `APPLICATION_STATES`: once its master has reported its outcome, it is FINISHED."""
    if application.over and not history.unregistered:
        return _ENDS[application.state]
    if application.over or application.attempt.unregistered is not None:
        return "FINISHED"
    if application.attempt.number == 0:
        return "SUBMITTED"
    waits = bool(application.submission.tasks) and not application.attempt.runnable
    return "RUNNING" if application.attempt.registered and not waits else "ACCEPTED"


def internal_state(application: Application, history: ApplicationAttempts) -> str:
    """As `public_state`, but FINISHING while a master that has reported its outcome still runs."""
    if application.attempt.unregistered is not None and not application.over:
        return "FINISHING"
    return public_state(application, history)


def final_status(application: Application, history: ApplicationAttempts) -> str:
    """The outcome that the master reported; else that of the application; UNDEFINED while it
    lives."""
    last = history.attempt
    if last is not None and last.final_status:
        return last.final_status
    if application.attempt.unregistered is not None:
        return application.attempt.unregistered.final_status
    if not application.over:
        return "UNDEFINED"
    status = _ENDS[application.state]
    return "SUCCEEDED" if status == "FINISHED" else status


def finished_ms(application: Application, history: ApplicationAttempts) -> int:
    """When it ended, or when its master reported its outcome; 0 while it lives."""
    last = history.attempt
    if application.attempt.unregistered is not None and last is not None:
        return last.finished_ms
    return application.finished_ms or 0


def attempt_state(application: Application, attempt: Attempt) -> str:
    """The state of one attempt: SCHEDULED until it has a container for its master."""
    if attempt.end:
        return attempt.end
    if attempt.final_status:
        return "FINISHING"
    if attempt.registered:
        return "RUNNING"
    if attempt.launched_ms:
        return "LAUNCHED"
    if attempt.master is not None:
        return "ALLOCATED"
    return "SCHEDULED" if application.managed else "LAUNCHED"


LIFETIME: Final = "LIFETIME"
UNLIMITED: Final = "UNLIMITED"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""
_INSTANT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,3}))?(Z|[+-]\d\d:?\d\d)"
)


class Timeout(Document):
    """One timeout. -1: there is none; 0: it is over."""

    type: str
    expiryTime: str
    remainingTimeInSeconds: int


class Timeouts(Document):
    """All timeouts of an application."""

    timeout: list[Timeout]


def timeouts_of(application: Application, now_ms: int) -> Timeouts:
    """The timeouts of an application."""
    return Timeouts([timeout_of(application, now_ms)])


def timeout_of(application: Application, now_ms: int) -> Timeout:
    """Its lifetime. The remaining time of a finished application is 0."""
    expires_ms = application.expires_ms
    if expires_ms is None:
        return Timeout(LIFETIME, UNLIMITED, -1)
    remaining_ms = 0 if application.over else max(0, expires_ms - now_ms)
    return Timeout(LIFETIME, instant_text(expires_ms), remaining_ms // 1_000)


def instant_text(instant_ms: int) -> str:
    """Milliseconds since 1970 as YARN writes them, in UTC.

    >>> instant_text(1927893846789)
    '2031-02-03T14:04:06.789+0000'
    """
    instant_ms = min(instant_ms, _LAST_MS)  # a lifetime may end beyond Python's calendar
    instant = datetime.fromtimestamp(instant_ms // 1_000, UTC)
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant_ms % 1_000:03d}+0000"


def read_instant(text: str) -> int:
    """Milliseconds since 1970; raises ValueError. Zones: `+0530`, `+05:30` and `Z`.

    >>> read_instant("2031-02-03T14:04:06.789+0000")
    1927893846789
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not an instant such as 2031-02-03T04:05:06.789+0000")
    year, month, day, hour, minute, second = (int(match[n]) for n in range(1, 7))
    zone = UTC if match[8] == "Z" else _zone(match[8])
    moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    return int(moment.timestamp()) * 1_000 + int((match[7] or "0").ljust(3, "0"))


def _zone(text: str) -> timezone:
    hours, minutes = int(text[1:3]), int(text[-2:])
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(offset if text[0] == "+" else -offset)


class ExecutionType(Document):
    """Whether a container is opportunistic; here never."""

    executionType: str = "GUARANTEED"
    enforceExecutionType: bool = False


class ResourceRequestInfo(Document):
    """One entry of the table of asks."""

    priority: int
    allocationRequestId: int
    resourceName: str
    capability: ResourceInfo
    numContainers: int
    relaxLocality: bool
    nodeLabelExpression: str | UnsetType
    executionTypeRequest: ExecutionType


NO_ENTRIES = Entries()


class AppInfo(Document):
    """One application."""

    id: str
    user: str
    name: str
    queue: str
    state: str
    finalStatus: str
    progress: float
    trackingUI: str
    trackingUrl: str | UnsetType
    diagnostics: str
    clusterId: int
    applicationType: str
    applicationTags: str
    priority: int
    startedTime: int = 0
    launchTime: int = 0
    finishedTime: int = 0
    elapsedTime: int = 0
    amContainerLogs: str | UnsetType = UNSET
    amHostHttpAddress: str | UnsetType = UNSET
    amRPCAddress: str | UnsetType = UNSET
    masterNodeId: str = ""
    allocatedMB: int = 0
    allocatedVCores: int = 0
    reservedMB: int = 0
    reservedVCores: int = 0
    runningContainers: int = 0
    memorySeconds: int = 0
    vcoreSeconds: int = 0
    queueUsagePercentage: float = 0.0
    clusterUsagePercentage: float = 0.0
    resourceSecondsMap: Entries = NO_ENTRIES
    preemptedResourceMB: int = 0
    preemptedResourceVCores: int = 0
    numNonAMContainerPreempted: int = 0
    numAMContainerPreempted: int = 0
    preemptedMemorySeconds: int = 0
    preemptedVcoreSeconds: int = 0
    preemptedResourceSecondsMap: Entries = NO_ENTRIES
    resourceRequests: list[ResourceRequestInfo] | UnsetType = UNSET
    logAggregationStatus: str | UnsetType = UNSET
    unmanagedApplication: bool = False
    appNodeLabelExpression: str | UnsetType = UNSET
    amNodeLabelExpression: str | UnsetType = UNSET
    rmClusterId: str | UnsetType = UNSET
    resourceInfo: ResourceUsages | UnsetType = UNSET
    timeouts: Timeouts | UnsetType = UNSET


OWN_ASK = -1
"""The allocation request id that Hadoop gives to its own request: the master's container."""


def application_info(
    gateway: Gateway, application: Application, *, full: bool, without: Collection[str] = ()
) -> AppInfo:
    """The document of one application; `full`: for a caller who may view it.

    `without` names fields that are left out, in lower case.
    """
    state, yarn = gateway.scheduler.state, gateway.yarn
    history = gateway.attempt_history.of(application.id)
    details = application.submission.details
    word = public_state(application, history)
    now_ms = gateway.now_ms()
    diagnostics = application_diagnostics(gateway, application, history, now_ms)
    info = AppInfo(
        id=application_name(state.epoch_ms, application.id),
        user=application.user,
        name=application.submission.name,
        queue=yarn.shown_queue(application),
        state=word,
        finalStatus=final_status(application, history),
        progress=_progress(application, history),
        trackingUI=_tracking(word, application)[0],
        trackingUrl=_tracking_url(gateway, application, history, word),
        diagnostics=diagnostics if full else without_output(diagnostics),
        clusterId=state.epoch_ms,
        applicationType=details.type,
        applicationTags=",".join(application.submission.tags),
        priority=yarn.shown_priority(application),
    )
    info.unmanagedApplication = application.unmanaged
    info.appNodeLabelExpression = _or_unset(details.application_label)
    if "amnodelabelexpression" not in without:
        info.amNodeLabelExpression = _master_label(application, history)
    if "timeouts" not in without:
        info.timeouts = timeouts_of(application, now_ms)
    _add_use_over_time(info, gateway, application, history, now_ms)
    if full:
        _add_times(info, application, history, now_ms)
        _add_master(info, gateway, history, application)
        _add_present_use(info, gateway, application, history)
        info.logAggregationStatus = gateway.log_aggregation.status(application.id)
        info.rmClusterId = gateway.settings.cluster_id or UNSET
        if "resourcerequests" not in without:
            info.resourceRequests = _requests(application, state.types) or UNSET
        if "resourceinfo" not in without:
            info.resourceInfo = yarn.application_usages(
                state, application, reserved=history.reserved
            )
    return info


def _add_times(
    info: AppInfo, application: Application, history: ApplicationAttempts, now_ms: int
) -> None:
    finished = finished_ms(application, history)
    info.startedTime = application.submitted_ms
    info.launchTime = history.launched_ms
    info.finishedTime = finished
    info.elapsedTime = max(0, (finished or now_ms) - application.submitted_ms)


def _add_master(
    info: AppInfo, gateway: Gateway, history: ApplicationAttempts, application: Application
) -> None:
    """The address of the last master; empty until it has a container."""
    info.amRPCAddress = _rpc_address(history)
    last = history.attempt
    if last is None or last.master is None:
        return
    name = container_name(gateway.scheduler.state.epoch_ms, last.master)
    info.amContainerLogs = logs_url(gateway, last.node, name, application.user)
    info.amHostHttpAddress = gateway.node_web_address(last.node)
    info.masterNodeId = gateway.node_address(last.node)


def _add_present_use(
    info: AppInfo, gateway: Gateway, application: Application, history: ApplicationAttempts
) -> None:
    state = gateway.scheduler.state
    used, reserved, live = _allocated(application, history, state.none)
    info.allocatedMB, info.allocatedVCores = used[:2]
    info.reservedMB, info.reservedVCores = reserved[:2]
    info.runningContainers = live
    parts = gateway.yarn.usage_percentages(state, application)
    info.queueUsagePercentage, info.clusterUsagePercentage = parts


def _add_use_over_time(
    info: AppInfo,
    gateway: Gateway,
    application: Application,
    history: ApplicationAttempts,
    now_ms: int,
) -> None:
    types = gateway.scheduler.state.types
    use_s = _seconds(history.use_ms, application, now_ms)
    lost_s = tuple(amount // 1_000 for amount in history.preempted_ms)
    info.memorySeconds, info.vcoreSeconds = use_s[:2]
    shown = shown_seconds(application, history, len(types.names))
    info.resourceSecondsMap = Entries(entries(types, use_s).pairs[:shown])
    info.preemptedResourceMB, info.preemptedResourceVCores = history.preempted[:2]
    info.numNonAMContainerPreempted = history.preempted_others
    info.numAMContainerPreempted = history.preempted_masters
    info.preemptedMemorySeconds, info.preemptedVcoreSeconds = lost_s[:2]
    if any(history.preempted):
        info.preemptedResourceSecondsMap = entries(types, lost_s)


def shown_seconds(application: Application, history: ApplicationAttempts, types: int) -> int:
    """The number of types in the map of use over time: further ones appear with the first
    container.

    0: it has not been in a queue.
    """
    if history.attempt is None or not (application.attempt.active or history.launched_ms):
        return 0
    return types if any(attempt.master for attempt in history.attempts) else 2


def _or_unset(text: str | None) -> str | UnsetType:
    return UNSET if text is None else text


def _master_label(application: Application, history: ApplicationAttempts) -> str | UnsetType:
    """Absent where the queue was created for it: then Hadoop could not look up its label."""
    if application.unmanaged:
        return UNSET
    label = application.submission.details.master_label
    if label is None and history.new_queue:
        return UNSET
    return label or ""


def _progress(application: Application, history: ApplicationAttempts) -> float:
    """0 to 100; of an application of tasks the part of its tasks that have succeeded."""
    groups = application.tasks.groups
    if groups and history.end is None:
        count = sum(group.spec.count for group in groups)
        return 100.0 * sum(group.succeeded for group in groups) / max(count, 1)
    return history.progress * 100.0


def _tracking(word: str, application: Application) -> tuple[str, bool]:
    """The target of the link, and whether there is one."""
    if word == "RUNNING":
        return "ApplicationMaster", True
    if word == "FINISHED" or (application.over and application.attempt.number > 0):
        return "History", True
    return "UNASSIGNED", False


def _tracking_url(
    gateway: Gateway, application: Application, history: ApplicationAttempts, word: str
) -> str | UnsetType:
    if not _tracking(word, application)[1]:
        return UNSET
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    if word in ("RUNNING", "FINISHED"):
        if application.unmanaged:
            last = history.attempt
            return (last.tracking_url if last is not None else "") or "http://N/A"
        return proxied_page(gateway, application)
    return f"http://{gateway.address}/cluster/app/{name}"


def proxied_page(gateway: Gateway, application: Application) -> str:
    """The address of a master's page, as this server shows it."""
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    return f"http://{gateway.address}/proxy/{name}/"


def logs_url(gateway: Gateway, node: str, container: str, user: str) -> str:
    """The address of a container's logs."""
    return f"http://{gateway.node_web_address(node)}/node/containerlogs/{container}/{user}"


def _rpc_address(history: ApplicationAttempts) -> str | UnsetType:
    last = history.attempt
    if last is None or not last.host:
        return UNSET
    if last.end in ("KILLED", "FAILED"):
        return UNSET
    return f"{last.host}:{last.rpc_port}"


def _allocated(
    application: Application, history: ApplicationAttempts, none: Resource
) -> tuple[Resource, Resource, int]:
    """Its allocated and reserved resources, and its containers; -1 once it has left the queue."""
    if application.attempt.active:
        reserved = total((r.resource for r in application.attempt.reservations.values()), len(none))
        return application.used, reserved, len(application.containers)
    if history.attempt is not None:
        gone = tuple(-1 for _ in none)
        return gone, gone, -1
    return none, none, 0


def _seconds(use_ms: Resource, application: Application, now_ms: int) -> Resource:
    """Amounts times seconds, over all containers, those that live until now."""
    for container in application.containers.values():
        use_ms = add(use_ms, scale(container.resource, max(0, now_ms - container.allocated_ms)))
    return tuple(amount // 1_000 for amount in use_ms)


def _requests(application: Application, types: ResourceTypes) -> list[ResourceRequestInfo]:
    found = []
    for (priority, request), key in application.attempt.asks.keys.items():
        places: list[tuple[str, Ask]] = list(key.places.items())
        if key.anywhere is not None:
            places.append(("*", key.anywhere))
        own = application.managed and application.attempt.master is None
        found += [
            ResourceRequestInfo(
                priority=priority,
                allocationRequestId=OWN_ASK if own else request,
                resourceName=place,
                capability=resource_info(types, ask.resource),
                numContainers=ask.count,
                relaxLocality=ask.relax,
                nodeLabelExpression=getattr(ask, "label", ""),
                executionTypeRequest=ExecutionType(),
            )
            for place, ask in places
            if ask.count > 0
        ]
    return found

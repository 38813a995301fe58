"""One application in YARN's terms: its state, its timeouts, and its document (Hadoop: AppInfo).

The words for states are those of YarnApplicationState and YarnApplicationAttemptState. The fields
of the document are in YARN's order; those from `startedTime` on are 0, empty or absent for callers
without permission to view it.
"""

import re
from collections.abc import Collection, Hashable
from copy import copy
from datetime import UTC, datetime, timedelta, timezone
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from fairshare.core.model.applications import Application
from fairshare.core.model.asks import Ask
from fairshare.core.model.ended import EndedApplication
from fairshare.core.model.events import ApplicationState
from fairshare.core.model.identifiers import ApplicationId, application_name, container_name
from fairshare.core.model.resources import Resource, ResourceTypes, scale, subtract, total
from fairshare.runtime.projections.attempt_history import ApplicationAttempts, Attempt
from fairshare.server.rows import ApplicationDocuments
from fairshare.wording import without_output
from fairshare.yarn.rest.diagnostics import application_diagnostics, is_waiting
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
    if history.final_status:
        return history.final_status
    if not application.over:
        unregistered = application.attempt.unregistered
        return "UNDEFINED" if unregistered is None else unregistered.final_status
    status = _ENDS[application.state]
    return "SUCCEEDED" if status == "FINISHED" else status


def finished_ms(application: Application, history: ApplicationAttempts) -> int:
    """When it ended, or when its master reported its outcome; 0 while it lives."""
    if application.brief.unregistered and history.attempted:
        return history.last_ms
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
    zone, written = UTC, match[8]
    if written != "Z":
        offset = timedelta(hours=int(written[1:3]), minutes=int(written[-2:]))
        zone = timezone(offset if written[0] == "+" else -offset)
    moment = datetime(year, month, day, hour, minute, second, tzinfo=zone)
    return int(moment.timestamp()) * 1_000 + int((match[7] or "0").ljust(3, "0"))


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

_FOR_VIEWERS = (
    *("startedTime", "launchTime", "finishedTime", "elapsedTime", "amContainerLogs"),
    *("amHostHttpAddress", "amRPCAddress", "masterNodeId", "allocatedMB", "allocatedVCores"),
    *("reservedMB", "reservedVCores", "runningContainers", "queueUsagePercentage"),
    *("clusterUsagePercentage", "resourceRequests", "logAggregationStatus", "rmClusterId"),
    "resourceInfo",
)
"""The fields that other callers get empty."""

_EMPTY = {
    field.name: field.default
    for field in msgspec.structs.fields(AppInfo)
    if field.name in _FOR_VIEWERS
}
_OPTIONAL = ("amNodeLabelExpression", "timeouts", "resourceRequests", "resourceInfo")


class Lasting(NamedTuple):
    """What only records about an application change of its document; `info` is never changed.

    Its use until an instant is `rate * now_ms + before`, in milliseconds times amounts, of which
    the map of all types has `shown`. It `waits` for its master's container, or `expires`.
    """

    info: AppInfo
    types: ResourceTypes
    rate: Resource
    before: Resource
    shown: int
    waits: bool
    expires: bool

    def add_use(self, info: AppInfo, now_ms: int) -> None:
        """Set the use over time until an instant."""
        use_s = tuple(
            (rate * now_ms + before) // 1_000
            for rate, before in zip(self.rate, self.before, strict=True)
        )
        info.memorySeconds, info.vcoreSeconds = use_s[:2]
        info.resourceSecondsMap = Entries(entries(self.types, use_s).pairs[: self.shown])


def application_info(
    gateway: Gateway, application: Application, *, full: bool, without: Collection[str] = ()
) -> AppInfo:
    """The document of one application; `full`: for a caller who may view it.

    `without` names fields that are left out, in lower case.
    """
    instant = Instant(gateway)
    moment = instant.moment(application, lasting_document(gateway, application, without))
    return moment.document(instant.now_ms, full=full, without=without)


class ApplicationInfos(ApplicationDocuments[Lasting]):
    """The documents of a server's applications."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway.server.service, gateway.changes)
        self._gateway = gateway
        self._unrecorded = 0

    def make(self, item: Application) -> Lasting:
        """One application."""
        return lasting_document(self._gateway, item)

    def outdated(self) -> list[ApplicationId] | None:
        """Those that records, or reports of masters and nodes, speak of."""
        changes, outdated = self._gateway.server.unrecorded_changes, super().outdated()
        if outdated is not None:
            outdated += changes.since(self._unrecorded)
        self._unrecorded = changes.version
        return outdated


def lasting_document(
    gateway: Gateway, application: Application, without: Collection[str] = ()
) -> Lasting:
    """The document of one application without what depends on the instant, and without the requests
    if these are named in `without`: they cost most."""
    state, yarn = gateway.scheduler.state, gateway.yarn
    types = state.types
    history = gateway.attempt_history.opened(application.id)
    brief = application.brief
    word = public_state(application, history)
    waits = is_waiting(application, history)
    used, reserved, live = _allocated(application, history, state.none)
    lost_s = tuple(amount // 1_000 for amount in history.preempted_ms)
    finished = finished_ms(application, history)
    info = AppInfo(
        id=application_name(state.epoch_ms, application.id),
        user=application.user,
        name=brief.name,
        queue=yarn.shown_queue(application),
        state=word,
        finalStatus=final_status(application, history),
        progress=_progress(application, history),
        trackingUI=_tracking(word, application)[0],
        trackingUrl=_tracking_url(gateway, application, history, word),
        diagnostics="" if waits else application_diagnostics(gateway, application, history, 0),
        clusterId=state.epoch_ms,
        applicationType=brief.type,
        applicationTags=",".join(brief.tags),
        priority=yarn.shown_priority(application),
        startedTime=application.submitted_ms,
        launchTime=history.launched_ms,
        finishedTime=finished,
        elapsedTime=max(0, finished - application.submitted_ms),
        amRPCAddress=_rpc_address(history),
        allocatedMB=used[0],
        allocatedVCores=used[1],
        reservedMB=reserved[0],
        reservedVCores=reserved[1],
        runningContainers=live,
        preemptedResourceMB=history.preempted[0],
        preemptedResourceVCores=history.preempted[1],
        numNonAMContainerPreempted=history.preempted_others,
        numAMContainerPreempted=history.preempted_masters,
        preemptedMemorySeconds=lost_s[0],
        preemptedVcoreSeconds=lost_s[1],
        preemptedResourceSecondsMap=(
            entries(types, lost_s) if any(history.preempted) else NO_ENTRIES
        ),
        resourceRequests=(
            UNSET if "resourcerequests" in without else _requests(application, types) or UNSET
        ),
        logAggregationStatus=gateway.log_aggregation.status(application.id),
        unmanagedApplication=application.unmanaged,
        appNodeLabelExpression=(
            UNSET if brief.application_label is None else brief.application_label
        ),
        amNodeLabelExpression=_master_label(application, history),
        rmClusterId=gateway.settings.cluster_id or UNSET,
        resourceInfo=yarn.application_usages(state, application, reserved=history.reserved),
        timeouts=timeouts_of(application, 0),
    )
    last = history.attempt
    if last is not None and last.master is not None:
        name = container_name(state.epoch_ms, last.master)
        info.amContainerLogs = logs_url(gateway, last.node, name, application.user)
        info.amHostHttpAddress = gateway.node_web_address(last.node)
        info.masterNodeId = gateway.node_address(last.node)
    containers, size = application.containers.values(), len(types.names)
    begun = total(
        (scale(container.resource, container.allocated_ms) for container in containers), size
    )
    lasting = Lasting(
        info,
        types,
        rate=total((container.resource for container in containers), size),
        before=subtract(history.use_ms, begun),
        shown=_shown_seconds(application, history, size),
        waits=waits,
        expires=application.expires_ms is not None and not application.over,
    )
    lasting.add_use(info, 0)
    return lasting


class Moment(NamedTuple):
    """All that the document of one application at one instant consists of, none of which changes
    any more; None: as in the lasting part."""

    lasting: Lasting
    words: str | None
    usage: tuple[float, float] | None
    timeouts: Timeouts | None

    def document(self, now_ms: int, *, full: bool, without: Collection[str]) -> AppInfo:
        """The document, as in `application_info`."""
        info = copy(self.lasting.info)
        if self.words is not None:
            info.diagnostics = self.words
        elif not full:
            info.diagnostics = without_output(info.diagnostics)
        if not info.finishedTime:
            info.elapsedTime = max(0, now_ms - info.startedTime)
        if self.usage is not None:
            self.lasting.add_use(info, now_ms)
            info.queueUsagePercentage, info.clusterUsagePercentage = self.usage
        if self.timeouts is not None:
            info.timeouts = self.timeouts
        if not full:
            for name, empty in _EMPTY.items():
                setattr(info, name, empty)
        for name in _OPTIONAL if without else ():
            if name.lower() in without:
                setattr(info, name, UNSET)
        return info


class Instant:
    """What is read of the state for documents of one instant: values that several applications
    share are computed once."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self.now_ms = gateway.now_ms()
        self._words: dict[Hashable, str] = {}
        self._usage: dict[tuple[str, Resource], tuple[float, float]] = {}

    def moment(self, application: Application, lasting: Lasting) -> Moment:
        """One application now."""
        return Moment(
            lasting,
            self._waits_for(application) if lasting.waits else None,
            self._usage_of(application) if application.containers else None,
            timeouts_of(application, self.now_ms) if lasting.expires else None,
        )

    def _waits_for(self, application: Application) -> str:
        key = self._gateway.yarn.waiting_key(self._gateway.scheduler.state, application)
        words = self._words.get(key)
        if words is None:
            history = self._gateway.attempt_history.of(application.id)
            words = application_diagnostics(self._gateway, application, history, self.now_ms)
            self._words[key] = words
        return words

    def _usage_of(self, application: Application) -> tuple[float, float]:
        key = (application.queue, application.used)
        usage = self._usage.get(key)
        if usage is None:
            state = self._gateway.scheduler.state
            usage = self._gateway.yarn.usage_percentages(state, application)
            self._usage[key] = usage
        return usage


def _shown_seconds(application: Application, history: ApplicationAttempts, types: int) -> int:
    """The number of types in the map of use over time: further ones appear with the first
    container.

    0: it has not been in a queue.
    """
    if history.attempt is None or not (application.active or history.launched_ms):
        return 0
    return types if any(attempt.master for attempt in history.attempts) else 2


def _master_label(application: Application, history: ApplicationAttempts) -> str | UnsetType:
    """Absent where the queue was created for it: then Hadoop could not look up its label."""
    if application.unmanaged:
        return UNSET
    label = application.brief.master_label
    if label is None and history.new_queue:
        return UNSET
    return label or ""


def _progress(application: Application, history: ApplicationAttempts) -> float:
    """0 to 100; of an application of tasks the part of its tasks that have succeeded."""
    if history.end is not None:
        return history.progress * 100.0
    groups = application.tasks.groups
    if groups:
        count = sum(group.spec.count for group in groups)
        return 100.0 * sum(group.succeeded for group in groups) / max(count, 1)
    return history.progress * 100.0


def _tracking(word: str, application: Application) -> tuple[str, bool]:
    """The target of the link, and whether there is one."""
    if word == "RUNNING":
        return "ApplicationMaster", True
    if word == "FINISHED" or (application.over and application.brief.attempt > 0):
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
    if application.active:
        reserved = total((r.resource for r in application.attempt.reservations.values()), len(none))
        return application.used, reserved, len(application.containers)
    if history.attempt is not None:
        gone = tuple(-1 for _ in none)
        return gone, gone, -1
    return none, none, 0


def _requests(application: Application, types: ResourceTypes) -> list[ResourceRequestInfo]:
    requests: list[ResourceRequestInfo] = []
    if isinstance(application, EndedApplication):  # which asks for nothing
        return requests
    for (priority, request), key in application.attempt.asks.keys.items():
        places: list[tuple[str, Ask]] = list(key.places.items())
        if key.anywhere is not None:
            places.append(("*", key.anywhere))
        own = application.managed and application.attempt.master is None
        requests += [
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
    return requests

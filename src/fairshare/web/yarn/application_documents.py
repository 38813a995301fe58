"""Owns the document of one application: its fields in YARN's order (spec/rest.md 1.8.6).

What only those may see who may view the application is zero or absent for others. Nothing here
decides; percentages are computed as Hadoop computes them, in 32 bits.
"""

from collections.abc import Collection

from msgspec import UNSET, UnsetType

from fairshare.live.biographies import Biography
from fairshare.model.applications import Application
from fairshare.model.asks import Ask
from fairshare.model.events import ApplicationState
from fairshare.model.identifiers import application_name, container_name
from fairshare.model.resources import Resource, ResourceTypes, add, scale, total
from fairshare.web.yarn.diagnostics import application_diagnostics
from fairshare.web.yarn.gateway import Gateway
from fairshare.web.yarn.names import attempt_name as attempt_name
from fairshare.web.yarn.partitions import ResourceUsages, application_usages
from fairshare.web.yarn.rendering import Document, Entries
from fairshare.web.yarn.resources import ResourceInfo, entries, resource_info
from fairshare.web.yarn.states import final_status, finished_ms, public_state
from fairshare.web.yarn.timeouts import Timeouts, timeouts_of
from fairshare.web.yarn.usage import usage_percentages

OWN_ASK = -1
"""The allocation request id that Hadoop gives to what it asks itself: the master's container."""


class ExecutionType(Document):
    """Whether a container may be put aside for others; here never."""

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
    startedTime: int
    launchTime: int
    finishedTime: int
    elapsedTime: int
    amContainerLogs: str | UnsetType
    amHostHttpAddress: str | UnsetType
    amRPCAddress: str | UnsetType
    masterNodeId: str
    allocatedMB: int
    allocatedVCores: int
    reservedMB: int
    reservedVCores: int
    runningContainers: int
    memorySeconds: int
    vcoreSeconds: int
    queueUsagePercentage: float
    clusterUsagePercentage: float
    resourceSecondsMap: Entries
    preemptedResourceMB: int
    preemptedResourceVCores: int
    numNonAMContainerPreempted: int
    numAMContainerPreempted: int
    preemptedMemorySeconds: int
    preemptedVcoreSeconds: int
    preemptedResourceSecondsMap: Entries
    resourceRequests: list[ResourceRequestInfo] | UnsetType
    logAggregationStatus: str | UnsetType
    unmanagedApplication: bool
    appNodeLabelExpression: str | UnsetType
    amNodeLabelExpression: str | UnsetType
    rmClusterId: str | UnsetType
    resourceInfo: ResourceUsages | UnsetType
    timeouts: Timeouts | UnsetType


def application_info(
    gateway: Gateway, application: Application, *, full: bool, without: Collection[str] = ()
) -> AppInfo:
    """The document of one application; `full`: for somebody who may view it.

    `without` names fields that are left out, in lower case.
    """
    state = gateway.scheduler.state
    biography = gateway.biographies.of(application.id)
    details = application.submission.details
    word = public_state(application, biography)
    started, launched = application.submitted_ms, biography.launched_ms
    finished = finished_ms(application, biography)
    now_ms = gateway.now_ms()
    node, logs = _master(gateway, application, biography)
    used, reserved, live = _allocated(application, biography, state.none)
    queue_part, cluster_part = usage_percentages(gateway, application) if full else (0.0, 0.0)
    use_s = _seconds(biography.use_ms, application, now_ms)
    lost_s = tuple(amount // 1_000 for amount in biography.preempted_ms)
    touched = biography.attempt is not None and (live >= 0 or biography.launched_ms > 0)
    seconds = entries(state.types, use_s)
    if biography.attempt is not None and not any(a.master for a in biography.attempts):
        seconds = Entries(seconds.pairs[:2])  # the further types come with the first container
    return AppInfo(
        id=application_name(state.epoch_ms, application.id),
        user=application.user,
        name=application.submission.name,
        queue=shown_queue(gateway, application),
        state=word,
        finalStatus=final_status(application, biography),
        progress=_progress(application, biography),
        trackingUI=_tracking(word, application)[0],
        trackingUrl=_tracking_url(gateway, application, biography, word),
        diagnostics=application_diagnostics(gateway, application, biography, now_ms),
        clusterId=state.epoch_ms,
        applicationType=details.type,
        applicationTags=",".join(application.submission.tags),
        priority=_priority(gateway, application),
        startedTime=started if full else 0,
        launchTime=launched if full else 0,
        finishedTime=finished if full else 0,
        elapsedTime=max(0, (finished or now_ms) - started) if full else 0,
        amContainerLogs=logs if full and logs else UNSET,
        amHostHttpAddress=gateway.node_web_address(node) if full and node else UNSET,
        amRPCAddress=_rpc_address(biography) if full else UNSET,
        masterNodeId=gateway.node_address(node) if full and node else "",
        allocatedMB=used[0] if full else 0,
        allocatedVCores=used[1] if full else 0,
        reservedMB=reserved[0] if full else 0,
        reservedVCores=reserved[1] if full else 0,
        runningContainers=live if full else 0,
        memorySeconds=use_s[0],
        vcoreSeconds=use_s[1],
        queueUsagePercentage=queue_part,
        clusterUsagePercentage=cluster_part,
        resourceSecondsMap=seconds if touched else Entries(),
        preemptedResourceMB=biography.preempted[0],
        preemptedResourceVCores=biography.preempted[1],
        numNonAMContainerPreempted=biography.preempted_others,
        numAMContainerPreempted=biography.preempted_masters,
        preemptedMemorySeconds=lost_s[0],
        preemptedVcoreSeconds=lost_s[1],
        preemptedResourceSecondsMap=(
            entries(state.types, lost_s) if any(biography.preempted) else Entries()
        ),
        resourceRequests=(
            (_requests(application, state.types) or UNSET)
            if full and "resourcerequests" not in without
            else UNSET
        ),
        logAggregationStatus="DISABLED" if full else UNSET,
        unmanagedApplication=not application.managed and not application.submission.tasks,
        appNodeLabelExpression=_or_unset(details.application_label),
        amNodeLabelExpression=(
            UNSET
            if "amnodelabelexpression" in without
            else _master_label(application, biography)
        ),
        rmClusterId=gateway.settings.cluster_id if gateway.settings.cluster_id and full else UNSET,
        resourceInfo=(
            UNSET if "resourceinfo" in without or not full else application_usages(gateway, application)
        ),
        timeouts=UNSET if "timeouts" in without else timeouts_of(application, now_ms),
    )


def _priority(gateway: Gateway, application: Application) -> int:
    """Of a refused application the Capacity Scheduler shows the priority that was wished for."""
    refused = application.state is ApplicationState.REJECTED
    if refused and gateway.scheduler.name == "capacity":
        return application.submission.priority or 0
    return application.priority


def _or_unset(text: str | None) -> str | UnsetType:
    return UNSET if text is None else text


def _master_label(application: Application, biography: Biography) -> str | UnsetType:
    """Absent where the queue was only made for it: then Hadoop could not look its label up."""
    if not application.managed and not application.submission.tasks:
        return UNSET
    label = application.submission.details.master_label
    if label is None and biography.new_queue:
        return UNSET
    return label or ""


def shown_queue(gateway: Gateway, application: Application) -> str:
    """The queue's name; the FIFO scheduler has one queue, and shows what was asked for."""
    if gateway.scheduler.name == "fifo":
        return application.submission.queue
    return application.queue


def _progress(application: Application, biography: Biography) -> float:
    """0 to 100; of an application of tasks the part of its tasks that have succeeded."""
    groups = application.tasks.groups
    if groups and biography.end is None:
        count = sum(group.spec.count for group in groups)
        return 100.0 * sum(group.succeeded for group in groups) / max(count, 1)
    return biography.progress * 100.0


def _tracking(word: str, application: Application) -> tuple[str, bool]:
    """What the link leads to, and whether there is one."""
    if word == "RUNNING":
        return "ApplicationMaster", True
    if word == "FINISHED" or (application.over and application.attempt > 0):
        return "History", True
    return "UNASSIGNED", False


def _tracking_url(
    gateway: Gateway, application: Application, biography: Biography, word: str
) -> str | UnsetType:
    if not _tracking(word, application)[1]:
        return UNSET
    name = application_name(gateway.scheduler.state.epoch_ms, application.id)
    if word in ("RUNNING", "FINISHED"):
        if not application.managed and not application.submission.tasks:
            last = biography.attempt
            return (last.tracking_url if last is not None else "") or "http://N/A"
        return f"http://{gateway.address}/proxy/{name}/"
    return f"http://{gateway.address}/cluster/app/{name}"


def _master(
    gateway: Gateway, application: Application, biography: Biography
) -> tuple[str, str]:
    """The node of the last master, and where its logs are; empty before it has a container."""
    last = biography.attempt
    if last is None or last.master is None:
        return "", ""
    name = container_name(gateway.scheduler.state.epoch_ms, last.master)
    return last.node, logs_url(gateway, last.node, name, application.user)


def logs_url(gateway: Gateway, node: str, container: str, user: str) -> str:
    """Where the logs of a container are shown."""
    return f"http://{gateway.node_web_address(node)}/node/containerlogs/{container}/{user}"


def _rpc_address(biography: Biography) -> str | UnsetType:
    last = biography.attempt
    if last is None or not last.host:
        return UNSET
    if last.end in ("KILLED", "FAILED"):
        return UNSET
    return f"{last.host}:{last.rpc_port}"


def _allocated(
    application: Application, biography: Biography, none: Resource
) -> tuple[Resource, Resource, int]:
    """What it has, what is reserved for it, and its containers; -1 once it has left the queue."""
    if application.active:
        reserved = total((r.resource for r in application.reservations.values()), len(none))
        return application.used, reserved, len(application.containers)
    if biography.attempt is not None:
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
    for (priority, request), key in application.asks.keys.items():
        places: list[tuple[str, Ask]] = list(key.places.items())
        if key.anywhere is not None:
            places.append(("*", key.anywhere))
        own = application.managed and application.master is None
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

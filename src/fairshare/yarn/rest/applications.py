"""The paths that show applications, their attempts and their live containers.

Another one signals a container (Hadoop: RMWebServices.getApps, getAppAttempts and
signalToContainer).
"""

from collections import Counter
from collections.abc import Collection, Iterator

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.api.yarn import APPLICATION_STATES
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerAllocated
from fairshare.core.model.identifiers import (
    ApplicationId,
    application_name,
    application_of,
    attempt_name,
    container_name,
)
from fairshare.errors import EngineError, InputError
from fairshare.runtime.projections.attempt_history import Attempt
from fairshare.runtime.projections.container_history import ContainerRecord
from fairshare.yarn.rest.answering import Answer, YarnRoute, listed
from fairshare.yarn.rest.application_documents import (
    AppInfo,
    ApplicationInfos,
    Instant,
    application_info,
    attempt_state,
    logs_url,
    proxied_page,
    public_state,
)
from fairshare.yarn.rest.callers import Caller, may_view, sees_everything
from fairshare.yarn.rest.changes import NoSuchContainer, NotPermitted, signal
from fairshare.yarn.rest.diagnostics import attempt_diagnostics
from fairshare.yarn.rest.errors import PlainRefusal, Refused, bad_request, not_found, wrong_form
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import (
    Filter,
    find_application,
    known_applications,
    read_application_id,
    read_attempt_id,
    read_container_id,
    read_filter,
    read_states,
    read_without,
    select,
    words,
)
from fairshare.yarn.rest.submission import submit
from fairshare.yarn.views.documents import Document, Entries, entries


class AppInfos(Document):
    """Some applications."""

    app: list[AppInfo] | UnsetType


class StatItem(Document):
    """The number of applications of a type in a state."""

    state: str
    type: str
    count: int


class AppStatInfo(Document):
    """The numbers of applications."""

    statItem: list[StatItem]


async def list_applications(request: Request, caller: Caller) -> Answer:
    """GET /apps."""
    gateway = gateway_of(request)
    conditions = read_filter(request)
    shown: dict[ApplicationId, bool] = {}

    def numbers() -> Collection[ApplicationId]:
        nonlocal shown
        shown = dict(chosen(gateway, caller, conditions))
        return shown

    documents: ApplicationInfos = request.app.state.application_infos
    rows = await documents.of_one_instant(numbers)
    instant, known = Instant(gateway), gateway.scheduler.state.applications
    moments = [(instant.moment(known[number], row), shown[number]) for number, row in rows.items()]
    infos = (
        moment.document(instant.now_ms, full=full, without=conditions.without)
        for moment, full in moments
    )
    return await listed(request, "apps", AppInfos, infos)


def chosen(
    gateway: Gateway, caller: Caller, wanted: Filter
) -> Iterator[tuple[ApplicationId, bool]]:
    """The requested applications, and whether the caller may view all of each; raises Refused (400)
    for the name of a queue that the scheduler refuses."""
    queue: str | None = ""  # any
    if wanted.queue:
        try:
            queue = gateway.yarn.queue_of_filter(gateway.scheduler.state, wanted.queue)
        except InputError as error:
            raise bad_request(str(error)) from None
    if queue is None:  # it has no applications
        return
    known = known_applications(gateway)
    everything, yarn = sees_everything(gateway, caller), gateway.yarn
    for application in select(wanted, known, gateway.attempt_history, queue):
        if wanted.queue and not queue and not yarn.matches_filter(application, wanted.queue):
            continue
        full = everything or may_view(gateway, caller, application)
        if full or not gateway.settings.filter_by_user:
            yield application.id, full


async def show_application(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID."""
    gateway = gateway_of(request)
    application = find_application(gateway, request.path_params["application"])
    without = read_without(request)
    full = may_view(gateway, caller, application)
    return Answer(application_info(gateway, application, full=full, without=without), "app")


async def show_statistics(request: Request, caller: Caller) -> Answer:
    """GET /appstatistics."""
    gateway = gateway_of(request)
    states = read_states(words(request, "states"))
    types = {word.lower() for word in words(request, "applicationTypes")}
    if len(types) > 1:
        raise bad_request(
            f"# of applicationTypes = {len(types)}, we temporarily support at most one"
            " applicationType"
        )
    kind = next(iter(types)) if types else "*"
    counts = Counter(
        public_state(application, gateway.attempt_history.of(application.id))
        for application in known_applications(gateway)
        if kind == "*" or kind == application.brief.type.lower()
    )
    items = [
        StatItem(state, kind, counts[state])
        for state in APPLICATION_STATES
        if not states or state in states
    ]
    return Answer(AppStatInfo(items), "appStatInfo")


_EXCEPTIONS = "org.apache.hadoop.yarn.exceptions."
NO_CONTAINER = _EXCEPTIONS + "ContainerNotFoundException"


class AttemptInfo(Document):
    """One attempt in the list of an application's attempts."""

    id: int
    startTime: int
    finishedTime: int
    containerId: str
    nodeHttpAddress: str
    nodeId: str
    logsLink: str
    blacklistedNodes: str
    nodesBlacklistedBySystem: str | UnsetType
    appAttemptId: str
    exportPorts: str
    appAttemptState: str


class AttemptInfos(Document):
    """All attempts of an application, the first one first."""

    appAttempt: list[AttemptInfo] | UnsetType


class AttemptDetail(Document):
    """One attempt by itself."""

    appAttemptId: str
    host: str
    rpcPort: int
    trackingUrl: str
    originalTrackingUrl: str
    diagnosticsInfo: str
    appAttemptState: str
    amContainerId: str | UnsetType
    startedTime: int
    finishedTime: int


class ContainerInfo(Document):
    """One container."""

    containerId: str
    allocatedMB: int
    allocatedVCores: int
    assignedNodeId: str
    priority: int
    startedTime: int
    finishedTime: int
    elapsedTime: int
    logUrl: str
    containerExitStatus: int
    containerState: str
    nodeHttpAddress: str
    nodeId: str
    allocatedResources: Entries
    exposedPorts: str = ""


class ContainerInfos(Document):
    """The live containers of an application."""

    container: list[ContainerInfo]


async def list_attempts(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts."""
    gateway = gateway_of(request)
    application = find_application(gateway, request.path_params["application"])
    full = may_view(gateway, caller, application)
    attempts = gateway.attempt_history.of(application.id).attempts
    found = [_attempt_info(gateway, application, attempt, full=full) for attempt in attempts]
    return Answer(AttemptInfos(found or UNSET), "appAttempts")


def _attempt_info(
    gateway: Gateway, application: Application, attempt: Attempt, *, full: bool
) -> AttemptInfo:
    epoch_ms = gateway.scheduler.state.epoch_ms
    held = full and attempt.master is not None
    container = container_name(epoch_ms, attempt.master or 0) if held else ""
    blacklist = ", ".join(application.attempt.blacklist) if full and not attempt.end else ""
    return AttemptInfo(
        id=attempt.number,
        startTime=attempt.started_ms,
        finishedTime=attempt.finished_ms,
        containerId=container,
        nodeHttpAddress=gateway.node_web_address(attempt.node) if held else "",
        nodeId=gateway.node_address(attempt.node) if held else "",
        logsLink=logs_url(gateway, attempt.node, container, application.user) if held else "",
        blacklistedNodes=blacklist,
        nodesBlacklistedBySystem="" if held else UNSET,
        appAttemptId=attempt_name(epoch_ms, application.id, attempt.number),
        exportPorts="null" if held else "",
        appAttemptState=attempt_state(application, attempt),
    )


async def show_attempt(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts/ATTEMPT."""
    gateway = gateway_of(request)
    application, attempt = find_attempt(gateway, request, caller)
    return Answer(attempt_detail(gateway, application, attempt), "appAttempt", "mapped")


def attempt_detail(gateway: Gateway, application: Application, attempt: Attempt) -> AttemptDetail:
    """The document of one attempt."""
    state = gateway.scheduler.state
    name = application_name(state.epoch_ms, application.id)
    page = f"http://{gateway.address}/cluster/app/{name}"
    lost = attempt.end in ("KILLED", "FAILED")
    reached = attempt.registered and bool(attempt.host) and not lost
    original = page if lost else attempt.tracking_url or "N/A"
    proxied = "http://N/A" if application.unmanaged else proxied_page(gateway, application)
    return AttemptDetail(
        appAttemptId=attempt_name(state.epoch_ms, application.id, attempt.number),
        host=attempt.host if reached else "N/A",
        rpcPort=attempt.rpc_port if reached else -1,
        trackingUrl=page if lost else proxied,
        originalTrackingUrl=original,
        diagnosticsInfo=attempt_diagnostics(gateway, application, attempt, gateway.now_ms()),
        appAttemptState=attempt_state(application, attempt),
        amContainerId=(
            UNSET if attempt.master is None else container_name(state.epoch_ms, attempt.master)
        ),
        startedTime=attempt.started_ms,
        finishedTime=attempt.finished_ms,
    )


async def list_containers(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts/ATTEMPT/containers: the live ones of the present attempt."""
    gateway = gateway_of(request)
    application, _ = find_attempt(gateway, request, caller, of_application=True)
    found = [container_info(gateway, application, c) for c in application.containers.values()]
    return Answer(ContainerInfos(found), "containers", "mapped")


async def show_container(request: Request, caller: Caller) -> Answer:
    """GET /apps/ID/appattempts/ATTEMPT/containers/CONTAINER."""
    gateway = gateway_of(request)
    text = request.path_params["container"]
    read_application_id(request.path_params["application"])
    read_attempt_id(request.path_params["attempt"])
    epoch_ms, container = read_container_id(text)
    application, _ = find_attempt(gateway, request, caller, of_application=True)
    if application_of(container) != application.id:
        raise not_found("appAttemptId and containerId don't match")
    grant = application.containers.get(container)
    if grant is None or epoch_ms != gateway.scheduler.state.epoch_ms:
        raise not_found(
            f"Container with id '{text}' doesn't exist in RM.",
            NO_CONTAINER,
        )
    return Answer(container_info(gateway, application, grant), "container", "mapped")


def find_attempt(
    gateway: Gateway, request: Request, caller: Caller, *, of_application: bool = False
) -> tuple[Application, Attempt]:
    """The application and attempt that the path names; raises Refused (400, 404, 503).

    `of_application`: the request concerns the application as a whole.
    """
    name, text = request.path_params["application"], request.path_params["attempt"]
    epoch_ms, number = read_application_id(name)
    of_epoch_ms, of_number, attempt_number = read_attempt_id(text)
    if (epoch_ms, number) != (of_epoch_ms, of_number):
        raise not_found("appId and appAttemptId don't match")
    state = gateway.scheduler.state
    application = state.applications.get(number) if epoch_ms == state.epoch_ms else None
    if application is None:
        raise not_found(
            f"Application with id '{name}' doesn't exist in RM. Please check that the job"
            " submission was successful.",
            _EXCEPTIONS + "ApplicationNotFoundException",
        )
    if not may_view(gateway, caller, application):
        # Clients of 3.4.1 get this, though 403 would be the right status.
        what = "application" if of_application else "attempt"
        raise wrong_form(
            f"{_EXCEPTIONS}YarnException: User {caller.user} does not have privilege to see this"
            f" {what} {name if of_application else text}",
            503,
        )
    for attempt in gateway.attempt_history.of(number).attempts:
        if attempt.number == attempt_number:
            return application, attempt
    raise not_found(
        f"ApplicationAttempt with id '{text}' doesn't exist in RM.",
        _EXCEPTIONS + "ApplicationAttemptNotFoundException",
    )


def container_info(
    gateway: Gateway, application: Application, container: ContainerAllocated | ContainerRecord
) -> ContainerInfo:
    """The document of a container: a grant is of a live one, a record of one that has ended."""
    state = gateway.scheduler.state
    name = container_name(state.epoch_ms, container.container)
    node = gateway.node_address(container.node)
    if isinstance(container, ContainerAllocated):
        priority, exit_status, finished_ms = container.priority, 0, 0
        end_ms, container_state = gateway.now_ms(), "RUNNING"
    else:
        exit_code = container.exit_code
        priority, exit_status = 0, -1_000 if exit_code is None else exit_code
        end_ms = finished_ms = container.finished_ms or 0
        container_state = "COMPLETE"
    return ContainerInfo(
        containerId=name,
        allocatedMB=container.resource[0],
        allocatedVCores=container.resource[1],
        assignedNodeId=node,
        priority=priority,
        startedTime=container.allocated_ms,
        finishedTime=finished_ms,
        elapsedTime=max(0, end_ms - container.allocated_ms),
        logUrl=logs_url(gateway, container.node, name, application.user),
        containerExitStatus=exit_status,
        containerState=container_state,
        nodeHttpAddress=f"http://{gateway.node_web_address(container.node)}",
        nodeId=node,
        allocatedResources=entries(state.types, container.resource),
    )


_PATH = "/apps/{application}/appattempts"


DUMP = "OUTPUT_THREAD_DUMP"
COMMANDS = (DUMP, "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN")


async def signal_container(request: Request, caller: Caller) -> Answer:
    """POST /containers/ID/signal/COMMAND."""
    gateway = gateway_of(request)
    text, command = request.path_params["container"], request.path_params["command"].upper()
    if command not in COMMANDS:
        raise PlainRefusal(
            400,
            f"Invalid command: {request.path_params['command']}, valid commands are:"
            f" [{', '.join(COMMANDS)}]",
        )
    if not text.startswith("container_"):
        raise PlainRefusal(500, f"Invalid ContainerId prefix: {text}")
    try:
        _, container = read_container_id(text)
    except Refused:
        raise PlainRefusal(500, f"Invalid ContainerId: {text}") from None
    try:
        signal(gateway, caller, container, command)
    except NoSuchContainer:
        raise PlainRefusal(500, f"Trying to signal an absent container {text}") from None
    except NotPermitted:
        raise PlainRefusal(500, f"User {caller.user} cannot signal container {text}") from None
    except EngineError as error:
        raise PlainRefusal(400, str(error)) from None
    return Answer()


ROUTES = [
    YarnRoute("/apps", get=list_applications, post=submit),
    YarnRoute("/apps/{application}", get=show_application),
    YarnRoute("/appstatistics", get=show_statistics),
    YarnRoute(_PATH, get=list_attempts),
    YarnRoute(_PATH + "/{attempt}", get=show_attempt),
    YarnRoute(_PATH + "/{attempt}/containers", get=list_containers),
    YarnRoute(_PATH + "/{attempt}/containers/{container}", get=show_container),
    YarnRoute("/containers/{container}/signal/{command}", post=signal_container),
]

"""The paths of activities: the result of a node update, and the grants to an application.

As in Hadoop, only the Capacity Scheduler has activities (Hadoop: RMWebServices.getActivities). They
contain the grants and the queues on the path to them, not the skipped ones: `fairshare why` reports
those.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import UNSET, UnsetType
from starlette.requests import Request

from fairshare.core.model.identifiers import application_name
from fairshare.core.model.queues import parents_of
from fairshare.core.model.resources import resource_text
from fairshare.runtime.projections.activities import ANY_NODE, Activity, Update
from fairshare.yarn.rest.answering import Answer, YarnRoute
from fairshare.yarn.rest.callers import Caller, may_view
from fairshare.yarn.rest.errors import Refused, bad_request, forbidden
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.parameters import LONG, java_number, read_application_id, words
from fairshare.yarn.views.documents import Document

NOT_CAPACITY = "Not Capacity Scheduler"
_TOO_SMALL = "Initial check: node resource is insufficient for minimum allocation"
_GONE = "fail to get application activities after finished"
_NO_NAME = "Container-Id-Not-Assigned"
DEFAULT_TIME_S = 3.0
LONGEST_TIME_S = 1e9


class Activities(Document):
    """The result of one node update."""

    nodeId: str | UnsetType = UNSET
    timestamp: int | UnsetType = UNSET
    dateTime: str | UnsetType = UNSET
    diagnostic: str | UnsetType = UNSET
    allocations: "list[NodeAllocation] | UnsetType" = UNSET


class NodeAllocation(Document):
    """One path from root to a container."""

    partition: str
    finalAllocationState: str
    root: "ActivityNode"


class ActivityNode(Document):
    """A queue, an application, a request, or a node on that path."""

    name: str | UnsetType = UNSET
    appPriority: int | UnsetType = UNSET
    requestPriority: int | UnsetType = UNSET
    allocationRequestId: int | UnsetType = UNSET
    allocationState: str | UnsetType = UNSET
    diagnostic: str | UnsetType = UNSET
    nodeId: str | UnsetType = UNSET
    count: int | UnsetType = UNSET
    nodeIds: list[str] | UnsetType = UNSET
    children: "list[ActivityNode] | UnsetType" = UNSET


class AppAllocation(Document):
    """The grants to an application at one instant."""

    nodeId: str | UnsetType
    timestamp: int
    dateTime: str
    queueName: str
    appPriority: int
    allocationState: str
    children: list[ActivityNode]


class AppActivities(Document):
    """The grants to an application."""

    applicationId: str
    diagnostic: str | UnsetType = UNSET
    timestamp: int | UnsetType = UNSET
    dateTime: str | UnsetType = UNSET
    allocations: list[AppAllocation] | UnsetType = UNSET


class BulkActivities(Document):
    """The results of several node updates."""

    activities: list[Activities]


def _moment(instant_ms: int) -> str:
    return f"{datetime.fromtimestamp(instant_ms // 1_000, UTC):%a %b %d %H:%M:%S UTC %Y}"


async def show_activities(request: Request, caller: Caller) -> Answer:
    """GET /scheduler/activities: requests a record of the next update, and returns the last one."""
    gateway = gateway_of(request)
    asked_node = request.query_params.get("nodeId", "")
    node_id: str | UnsetType = asked_node or UNSET
    if not gateway.yarn.has_activities:
        return _activities_answer(Activities(nodeId=node_id, diagnostic=NOT_CAPACITY))
    group = request.query_params.get("groupBy", "")
    if group and group.upper() != "DIAGNOSTIC":
        words_ = f"Got invalid groupBy: {group}, valid groupBy types: [DIAGNOSTIC]"
        return _activities_answer(Activities(nodeId=node_id, diagnostic=words_))
    node = ANY_NODE
    if asked_node:
        activities = [
            name
            for name in gateway.scheduler.state.nodes
            if asked_node in (name, gateway.node_address(name))
        ]
        if not activities:
            return _activities_answer(
                Activities(nodeId=node_id, diagnostic="Cannot find node manager with given node id")
            )
        node = activities[0]
    now_ms = gateway.now_ms()
    update = gateway.activities.of_node(node, now_ms)
    gateway.activities.watch_node(node, now_ms)
    if update is None:
        waits = "waiting for display" if asked_node else "waiting for next allocation"
        return _activities_answer(Activities(nodeId=node_id, diagnostic=waits))
    return _activities_answer(_activities(gateway, update))


def _activities_answer(document: Activities) -> Answer:
    return Answer(document, "activities")


def _activities(gateway: Gateway, update: Update) -> Activities:
    allocations = [_allocation(gateway, one) for one in update.activities]
    if not allocations:
        root = ActivityNode("root", allocationState="REJECTED", diagnostic=_TOO_SMALL)
        allocations = [NodeAllocation("", "SKIPPED", root)]
    return Activities(
        nodeId=gateway.node_address(update.node),
        timestamp=update.instant_ms,
        dateTime=_moment(update.instant_ms),
        allocations=allocations,
    )


def _allocation(gateway: Gateway, activity: Activity) -> NodeAllocation:
    state = gateway.scheduler.state
    node = gateway.node_address(activity.node)
    text = (
        f"Container: [ContainerId: null, AllocationRequestId: {activity.request}, Version: 0,"
        f" NodeId: {node}, NodeHttpAddress: {gateway.node_web_address(activity.node)},"
        f" Resource: {resource_text(activity.resource, state.types)},"
        f" Priority: {activity.priority}, Token: null, ExecutionType: GUARANTEED, ]"
    )
    word = "RESERVED" if activity.reserved else "ALLOCATED"
    container = ActivityNode(text, allocationState=word, nodeId=node)
    tree = ActivityNode(
        f"request_{activity.priority}_{activity.request}",
        requestPriority=activity.priority,
        allocationRequestId=activity.request,
        allocationState=word,
        children=[container],
    )
    tree = ActivityNode(
        application_name(state.epoch_ms, activity.application),
        appPriority=activity.application_priority,
        allocationState=word,
        children=[tree],
    )
    for queue in (activity.queue, *parents_of(activity.queue)):
        tree = ActivityNode(queue, allocationState="ACCEPTED", children=[tree])
    fulfilled = activity.from_reservation and not activity.reserved
    return NodeAllocation("", "ALLOCATED_FROM_RESERVED" if fulfilled else word, tree)


async def show_bulk_activities(request: Request, caller: Caller) -> Answer:
    """GET /scheduler/bulk-activities: the recorded ones of all nodes; it does not wait."""
    gateway = gateway_of(request)
    if not gateway.yarn.has_activities:
        raise bad_request("Bulk activities are supported by the Capacity Scheduler alone")
    now_ms = gateway.now_ms()
    activities = []
    for name in gateway.scheduler.state.nodes:
        update = gateway.activities.of_node(name, now_ms)
        gateway.activities.watch_node(name, now_ms)
        if update is not None:
            activities.append(_activities(gateway, update))
    return Answer(BulkActivities(activities), "bulkActivities")


async def show_app_activities(request: Request, caller: Caller) -> Answer:
    """GET /scheduler/app-activities/ID: records for a while, and returns what was recorded."""
    gateway = gateway_of(request)
    text = request.path_params["application"]
    now_ms = gateway.now_ms()

    def without_activities(diagnostic: str) -> Answer:
        document = AppActivities(text, diagnostic, now_ms, _moment(now_ms))
        return Answer(document, "appActivities")

    if not gateway.yarn.has_activities:
        return without_activities(NOT_CAPACITY)
    time_s = _max_time(request.query_params.get("maxTime", ""))
    wrong = _wrong_parameters(request)
    if wrong:
        return without_activities(wrong)
    try:
        _, number = read_application_id(text)
    except Refused:
        return without_activities("Cannot find application with given appId")
    application = gateway.scheduler.state.applications.get(number)
    if application is None or application.over:
        return without_activities(_GONE)
    if caller.proven and not may_view(gateway, caller, application):
        raise forbidden(f"User {caller.user} may not see the activities of {text}")
    actions = [word.upper() for word in words(request, "actions")] or ["REFRESH", "GET"]
    if "REFRESH" in actions:
        gateway.activities.watch_application(number, now_ms + int(time_s * 1_000))
        if "GET" not in actions:
            return without_activities("Successfully received action: refresh")
    activities = _wanted(request, gateway.activities.of_application(number, now_ms))
    if not activities:
        return without_activities("waiting for display")
    grouped = bool(request.query_params.get("groupBy"))
    summary = request.query_params.get("summarize", "").lower() == "true"
    allocations = [
        _app_allocation(gateway, one, grouped=grouped, summary=summary)
        for one in (activities[:1] if summary else activities)
    ]
    return Answer(AppActivities(text, allocations=allocations), "appActivities")


def _max_time(text: str) -> float:
    if not text:
        return DEFAULT_TIME_S
    try:
        return min(max(0.0, float(text)), LONGEST_TIME_S)  # as in Java, other text is 0
    except ValueError:
        message = f'For input string: "{text}.0"'
        raise Refused(400, "java.lang.NumberFormatException", message) from None


def _wrong_parameters(request: Request) -> str:
    """The problem of the parameters, in Hadoop's words; empty if they are valid."""
    for word in words(request, "actions"):
        if word.upper() not in ("REFRESH", "GET"):
            return f"Got invalid action: {word}, valid actions: [REFRESH, GET]"
    group = request.query_params.get("groupBy", "")
    if group and group.upper() != "DIAGNOSTIC":
        return f"Got invalid groupBy: {group}, valid groupBy types: [DIAGNOSTIC]"
    limit = request.query_params.get("limit", "")
    if limit:
        try:
            if java_number(limit) <= 0:
                return "limit must be greater than 0!"
        except ValueError:
            return "limit must be integer!"
    for name, message in (
        ("requestPriorities", "request priorities must be integers!"),
        ("allocationRequestIds", "allocation request Ids must be integers!"),
    ):
        try:
            [java_number(word, LONG) for word in words(request, name)]
        except ValueError:
            return message
    return ""


def _wanted(request: Request, found: Sequence[Activity]) -> list[Activity]:
    priorities = {int(word) for word in words(request, "requestPriorities")}
    requests = {int(word) for word in words(request, "allocationRequestIds")}
    chosen = [
        activity
        for activity in found
        if (not priorities or activity.priority in priorities)
        and (not requests or activity.request in requests)
    ]
    limit = request.query_params.get("limit", "")
    return chosen[: java_number(limit)] if limit else chosen


def _app_allocation(
    gateway: Gateway, one: Activity, *, grouped: bool, summary: bool
) -> AppAllocation:
    node = gateway.node_address(one.node)
    word = "RESERVED" if one.reserved else "ALLOCATED"
    if grouped:
        child = ActivityNode(allocationState=word, count=1, nodeIds=[node])
    else:
        child = ActivityNode(_NO_NAME, allocationState=word, nodeId=node)
    request = ActivityNode(
        requestPriority=one.priority,
        allocationRequestId=one.request,
        allocationState=word,
        children=[child],
    )
    return AppAllocation(
        nodeId=UNSET if summary else node,
        timestamp=one.instant_ms,
        dateTime=_moment(one.instant_ms),
        queueName=one.queue.rpartition(".")[2],
        appPriority=one.application_priority,
        allocationState=word,
        children=[request],
    )


ROUTES = [
    YarnRoute("/scheduler/activities", get=show_activities),
    YarnRoute("/scheduler/bulk-activities", get=show_bulk_activities),
    YarnRoute("/scheduler/app-activities/{application}", get=show_app_activities),
]

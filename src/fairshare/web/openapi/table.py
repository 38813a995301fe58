"""Owns the table of operations: a row for each method and path of `/api/v1`.

A test compares it with the routes. A new route needs a new row here.
"""

from typing import Any, Final

from fairshare.config.problems import Problem
from fairshare.insight.shares import Share
from fairshare.live.configuration import ConfigurationView
from fairshare.live.moments import Point
from fairshare.live.mutation import Outcome
from fairshare.live.views import (
    ClusterView,
    ContainerView,
    GroupView,
    NodeView,
    Progress,
    TaskView,
)
from fairshare.schedulers.reasons import Reason
from fairshare.schedulers.views import ApplicationView, QueueView
from fairshare.web import bodies, draft_bodies
from fairshare.web.openapi.forms import Amounts, extended, form, shown
from fairshare.web.openapi.operation import NUMBER, SECONDS, TEXT, Operation, Parameter
from fairshare.web.openapi.pages import PAGE_OPERATIONS

APPLICATION = extended(ApplicationView, "Application", id=str, kind=str, progress=Progress)
CONTAINERS: Any = list[shown(ContainerView)]  # type: ignore[misc]
DETAILS = extended(
    ApplicationView,
    "ApplicationDetails",
    id=str,
    kind=str,
    progress=Progress,
    groups=list[GroupView],
    containers=CONTAINERS,
)
CLUSTER = extended(
    ClusterView,
    "Cluster",
    name=str,
    version=str,
    scheduler=str,
    engine=str,
    state_directory=str,
    epoch_ms=int,
    started_ms=int,
    now_ms=int,
    disk_problem=str,
)
QUEUE = extended(QueueView, "Queue", share=shown(Share))
REASON = extended(
    Reason,
    "Reason",
    ahead=list[str],
    also=list[str],
    group=str | None,
    sentence=str,
    remedy=str,
)
LABEL = form("Label", "A partition.", name=str, exclusive=bool, nodes=list[str])
LABELS = form("Labels", "All partitions.", labels=list[LABEL])  # type: ignore[valid-type]
NODES = form(
    "Nodes",
    "Nodes in the order of joining, and the names of those that were taken out.",
    nodes=list[shown(NodeView)],  # type: ignore[misc]
    decommissioned=list[str],
)
NODE = extended(NodeView, "NodeDetails", joined_ms=int | None, running=list[dict[str, Any]])
SAFE_MODE = form("SafeMode", "Whether nothing is admitted and granted.", safe_mode=bool)
SUBMITTED = form("Submitted", "An application that was accepted.", id=str, state=str)
STOPPING = form("ContainerStopping", "A container that is being ended.", id=str, stopping=bool)
VERSION = form(
    "ConfigurationVersion",
    "Settings that were in force, by the record that loaded them.",
    version=int,
    loaded_ms=int,
    in_force=bool,
)
VERSION_DETAILS = form(
    "ConfigurationVersionDetails",
    "Settings that were in force.",
    version=int,
    loaded_ms=int,
    in_force=bool,
    scheduler=str,
    settings=dict[str, Any],
)
REFRESHED = form(
    "Refreshed",
    "What a refresh has taken over, and what needs a restart.",
    file=str | None,
    loaded_ms=int,
    version=int,
    needs_restart=list[str],
    problems=list[Problem],
)
PROPERTIES = form(
    "Properties", "Properties in force.", version=int, properties=list[tuple[str, str]]
)
POINT = extended(Point, "Point", used_share=float)
SINCE_CHANGE = Parameter("since", "The version that is known.", NUMBER)
AT = Parameter("at", "An instant of the past in milliseconds.", NUMBER)


def _listed(name: str, field: str, of: Any) -> Any:
    return form(name, "A list.", **{field: list[of]})


def _order(tag: str, body: Any, answer: Any, status: int = 200) -> Operation:
    return Operation(tag, answer, body, status=status)


OPERATIONS: Final[dict[tuple[str, str], Operation]] = {
    ("GET", "/cluster"): Operation("cluster", CLUSTER, parameters=(AT,)),
    ("GET", "/changes"): Operation(
        "cluster",
        form("Version", "The version of what there is to see.", version=int),
        parameters=(
            SINCE_CHANGE,
            Parameter("timeout", "Seconds to wait at most, 300 at most.", SECONDS),
        ),
    ),
    ("GET", "/events"): Operation(
        "cluster",
        "text/event-stream",
        parameters=(
            Parameter("since", "The last record that is known.", NUMBER),
            Parameter("kinds", "`record`, `changed`, or both with a comma between."),
            Parameter("Last-Event-ID", "As `since`, which stands before it.", TEXT, "header"),
        ),
    ),
    ("POST", "/shutdown"): _order(
        "administration",
        bodies.ShutdownBody,
        form(
            "Stopping",
            "The server ends; so many applications and containers end with it, or run on.",
            stopping=bool,
            stop_containers=bool,
            applications=int,
            containers=int,
        ),
        202,
    ),
    ("GET", "/queues"): Operation(
        "queues",
        form(
            "Queues",
            "Queues, root first; `at_ms` is None for now.",
            at_ms=int | None,
            total=Amounts,
            queues=list[QUEUE],  # type: ignore[valid-type]
        ),
        parameters=(AT,),
    ),
    ("GET", "/history"): Operation(
        "queues",
        form(
            "History",
            "The lines of a queue.",
            queue=str,
            began_ms=int,
            now_ms=int,
            points=list[POINT],  # type: ignore[valid-type]
        ),
        parameters=(
            Parameter("queue", "Its whole name; without it root."),
            Parameter("since", "Milliseconds.", NUMBER),
            Parameter("until", "Milliseconds.", NUMBER),
            Parameter("points", "How many at most.", NUMBER),
        ),
    ),
    ("GET", "/nodes"): Operation("nodes", NODES),
    ("GET", "/nodes/{node}"): Operation("nodes", NODE),
    ("GET", "/labels"): Operation("nodes", LABELS),
    ("POST", "/admin/labels/add"): _order("nodes", bodies.AddLabelsBody, LABELS),
    ("POST", "/admin/labels/remove"): _order("nodes", bodies.RemoveLabelsBody, LABELS),
    ("POST", "/admin/labels/assign"): _order("nodes", bodies.LabelNodesBody, LABELS),
    ("POST", "/admin/nodes/drain"): _order("nodes", bodies.NodesBody, NODES),
    ("POST", "/admin/nodes/undrain"): _order("nodes", bodies.NodesBody, NODES),
    ("POST", "/admin/nodes/decommission"): _order("nodes", bodies.DecommissionBody, NODES),
    ("GET", "/admin/safe-mode"): Operation("administration", SAFE_MODE),
    ("POST", "/admin/safe-mode"): _order("administration", bodies.SafeModeBody, SAFE_MODE),
    ("GET", "/session"): Operation(
        "administration",
        form(
            "Session",
            "Who calls.",
            user=str,
            proven=bool,
            administrator=bool,
            administers=list[str],
        ),
    ),
    ("GET", "/applications"): Operation(
        "applications",
        _listed("Applications", "applications", APPLICATION),
        parameters=(
            Parameter("state", "Several with commas between."),
            Parameter("user", "Only his."),
            Parameter("queue", "Only those of this queue."),
            Parameter("limit", "How many at most.", {"type": "integer", "minimum": 1}),
        ),
    ),
    ("POST", "/applications"): _order("applications", bodies.SubmissionBody, SUBMITTED, 201),
    ("GET", "/applications/{application}"): Operation("applications", DETAILS),
    ("GET", "/applications/{application}/tasks"): Operation(
        "applications",
        _listed("Tasks", "tasks", TaskView),
        parameters=(
            Parameter("offset", "How many are left out before.", NUMBER),
            Parameter("limit", "How many at most.", {"type": "integer", "minimum": 1}),
        ),
    ),
    ("GET", "/applications/{application}/containers"): Operation(
        "applications", form("Containers", "A list.", containers=CONTAINERS)
    ),
    ("GET", "/applications/{application}/timeline"): Operation(
        "applications",
        dict[str, Any],
        parameters=(Parameter("limit", "How many containers at most.", NUMBER),),
    ),
    ("GET", "/applications/{application}/efficiency"): Operation("applications", dict[str, Any]),
    ("GET", "/applications/{application}/reasons"): Operation(
        "applications",
        form("Reasons", "Why it waits.", id=str, state=str, reasons=list[REASON]),  # type: ignore[valid-type]
    ),
    ("POST", "/applications/{application}/kill"): _order(
        "applications", bodies.KillBody, APPLICATION
    ),
    ("POST", "/applications/{application}/move"): _order(
        "applications", bodies.MoveBody, APPLICATION
    ),
    ("POST", "/applications/{application}/priority"): _order(
        "applications", bodies.PriorityBody, APPLICATION
    ),
    ("POST", "/applications/{application}/register"): _order(
        "drivers", bodies.NothingBody, APPLICATION
    ),
    ("POST", "/applications/{application}/requests"): _order(
        "drivers", bodies.RequestsBody, APPLICATION
    ),
    ("POST", "/applications/{application}/tasks"): _order("drivers", bodies.TasksBody, APPLICATION),
    ("POST", "/applications/{application}/release"): _order(
        "drivers", bodies.ReleaseBody, APPLICATION
    ),
    ("POST", "/applications/{application}/finish"): _order(
        "drivers", bodies.FinishBody, APPLICATION
    ),
    ("POST", "/containers/{container}/launch"): _order(
        "drivers", bodies.LaunchBody, form("Launched", "A container.", id=str)
    ),
    ("GET", "/containers/{container}/logs/{stream}"): Operation(
        "containers",
        "text/plain",
        parameters=(
            Parameter("offset", "The first byte.", NUMBER),
            Parameter("limit", "How many bytes at most.", NUMBER),
            Parameter("Range", "`bytes=FIRST-LAST`, without the two above.", TEXT, "header"),
        ),
        others={206: "The bytes of the range."},
    ),
    ("GET", "/containers/{container}/result"): Operation("containers", "application/octet-stream"),
    ("POST", "/containers/{container}/stop"): _order("containers", bodies.ActorBody, STOPPING, 202),
    ("GET", "/configuration"): Operation("configuration", ConfigurationView),
    ("GET", "/configuration/properties"): Operation("configuration", PROPERTIES),
    ("GET", "/configuration/versions"): Operation(
        "configuration", _listed("ConfigurationVersions", "versions", VERSION)
    ),
    ("GET", "/configuration/versions/{version}"): Operation("configuration", VERSION_DETAILS),
    ("GET", "/configuration/document"): Operation("configuration", dict[str, Any]),
    ("GET", "/configuration/texts"): Operation("configuration", dict[str, Any]),
    ("GET", "/configuration/texts/{version}"): Operation("configuration", dict[str, Any]),
    ("GET", "/configuration/site"): Operation("configuration", dict[str, Any]),
    ("POST", "/configuration/draft"): _order(
        "configuration", draft_bodies.DraftBody, dict[str, Any]
    ),
    ("POST", "/admin/configuration/document"): _order(
        "configuration", draft_bodies.ApplyBody, dict[str, Any]
    ),
    ("POST", "/admin/configuration"): _order("configuration", bodies.ChangeBody, dict[str, Any]),
    ("POST", "/admin/configuration/format"): _order("configuration", bodies.ActorBody, Outcome),
    ("POST", "/admin/configuration/roll-back"): _order(
        "configuration",
        bodies.RollBackBody,
        form("RolledBack", "What is in force.", version=int, restored=int),
    ),
    ("POST", "/admin/refresh-queues"): _order("configuration", bodies.ActorBody, REFRESHED),
    ("GET", "/openapi.json"): Operation("cluster", dict[str, Any]),
    **PAGE_OPERATIONS,
}

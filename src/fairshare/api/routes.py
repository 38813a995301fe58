"""The calls of `/api/v1` that clients make: where each is, what is sent, what is answered.

The server serves these routes (`server/web`), and the methods of the client are calls of them.
Those that no client calls are where they are served.
"""

from typing import Any, Final, Generic, TypeVar

import msgspec

from fairshare.api.accounting import PastApplications, PastContainers, Report
from fairshare.api.applications import (
    Application,
    ApplicationRow,
    Applications,
    Containers,
    ContainerStopping,
    Eta,
    HoldBody,
    KillBody,
    Launched,
    MoveBody,
    PriorityBody,
    Proved,
    Reasons,
    ResubmitBody,
    Submitted,
    Tasks,
    UpdateBody,
    Uploaded,
)
from fairshare.api.bookings import Booking, BookingBody, Bookings
from fairshare.api.cluster import (
    Cluster,
    OwnToken,
    SafeMode,
    SafeModeBody,
    ShutdownBody,
    SignInBody,
    SignInCode,
    SignInWays,
    Stopping,
    TokenBody,
    Version,
)
from fairshare.api.configuration import (
    Change,
    ChangeBody,
    CheckedChange,
    Configuration,
    Properties,
    Refreshed,
)
from fairshare.api.cron import CronBody, CronJob, CronJobs, CronOrderBody
from fairshare.api.ledger import Ledger
from fairshare.api.nodes import (
    AddLabelsBody,
    DecommissionBody,
    LabelNodesBody,
    Labels,
    Nodes,
    NodesBody,
    RemoveLabelsBody,
)
from fairshare.api.queues import Owed, Queues
from fairshare.api.values import ActorBody, NothingBody
from fairshare.api.work import FinishBody, Launch, ReleaseBody, RequestsBody, Submission, TasksBody

BASE: Final = "/api/v1"
"""What all paths begin with."""

Answer = TypeVar("Answer")


class Route(msgspec.Struct, Generic[Answer], frozen=True):
    """One call. `answer` is the type of the JSON, or a tuple of the types that it may have, or a
    media type in place of JSON; `body` is the type of what is posted, `status` that of a success.
    """

    method: str
    path: str
    answer: Any
    body: type[msgspec.Struct] | None = None
    status: int = 200


def _get(path: str, answer: type[Answer]) -> Route[Answer]:
    return Route("GET", path, answer)


def _post(
    path: str, body: type[msgspec.Struct], answer: type[Answer], status: int = 200
) -> Route[Answer]:
    return Route("POST", path, answer, body, status)


SHOW_CLUSTER = _get("/cluster", Cluster)
WAIT_FOR_CHANGE = _get("/changes", Version)
SHUT_DOWN = _post("/shutdown", ShutdownBody, Stopping, 202)
DRAIN_NODES = _post("/admin/nodes/drain", NodesBody, Nodes)
DECOMMISSION_NODES = _post("/admin/nodes/decommission", DecommissionBody, Nodes)
UNDRAIN_NODES = _post("/admin/nodes/undrain", NodesBody, Nodes)
SHOW_SAFE_MODE = _get("/admin/safe-mode", SafeMode)
SET_SAFE_MODE = _post("/admin/safe-mode", SafeModeBody, SafeMode)

SHOW_SIGN_IN = _get("/sign-in", SignInWays)
SIGN_IN = _post("/sign-in", SignInBody, OwnToken, 201)
MAKE_TOKEN = _post("/session/token", TokenBody, OwnToken, 201)
MAKE_CODE = _post("/session/code", ActorBody, SignInCode, 201)

SHOW_PROPERTIES = _get("/configuration/properties", Properties)
CHANGE_PROPERTIES: Route[Change | CheckedChange] = Route(
    "POST", "/admin/configuration", (Change, CheckedChange), ChangeBody
)
FORMAT_PROPERTIES = _post("/admin/configuration/format", ActorBody, Change)
SHOW_CONFIGURATION = _get("/configuration", Configuration)
REFRESH_QUEUES = _post("/admin/refresh-queues", ActorBody, Refreshed)

LIST_QUEUES = _get("/queues", Queues)
EXPLAIN_QUEUE = _get("/queues/{queue}/owed", Owed)

LIST_BOOKINGS = _get("/bookings", Bookings)
MAKE_BOOKING = _post("/bookings", BookingBody, Booking, 201)
CANCEL_BOOKING = _post("/bookings/{booking}/cancel", ActorBody, Booking)

LIST_APPLICATIONS = _get("/applications", Applications)
SUBMIT_APPLICATION = _post("/applications", Submission, Submitted, 201)
SHOW_APPLICATION = _get("/applications/{application}", Application)
LIST_TASKS = _get("/applications/{application}/tasks", Tasks)
LIST_CONTAINERS = _get("/applications/{application}/containers", Containers)
KILL_APPLICATION = _post("/applications/{application}/kill", KillBody, ApplicationRow)
MOVE_APPLICATION = _post("/applications/{application}/move", MoveBody, ApplicationRow)
CHANGE_PRIORITY = _post("/applications/{application}/priority", PriorityBody, ApplicationRow)
UPDATE_APPLICATION = _post("/applications/{application}/update", UpdateBody, ApplicationRow)
LIST_REASONS = _get("/applications/{application}/reasons", Reasons)
PROVE_REMEDIES = _get("/applications/{application}/proof", Proved)
ESTIMATE_APPLICATION = _get("/applications/{application}/eta", Eta)
ESTIMATE_SUBMISSION = _post("/estimates", Submission, Eta)
RESUBMIT_APPLICATION = _post("/applications/{application}/resubmit", ResubmitBody, Submitted, 201)

UPLOAD_PAYLOAD: Route[Uploaded] = Route("PUT", "/payloads/{digest}", Uploaded, status=201)

HOLD_APPLICATION = _post("/applications/{application}/hold", HoldBody, ApplicationRow)
REQUEUE_APPLICATION = _post("/applications/{application}/requeue", ActorBody, ApplicationRow)

READ_LOG: Route[bytes] = Route("GET", "/containers/{container}/logs/{stream}", "text/plain")
READ_RESULT: Route[bytes] = Route(
    "GET", "/containers/{container}/result", "application/octet-stream"
)
STOP_CONTAINER = _post("/containers/{container}/stop", ActorBody, ContainerStopping, 202)

LIST_HISTORY = _get("/accounting/applications", PastApplications)
LIST_PAST_CONTAINERS = _get("/accounting/containers", PastContainers)
SHOW_REPORT = _get("/accounting/report", Report)
SHOW_LEDGER = _get("/ledger", Ledger)

LIST_CRON_JOBS = _get("/cron", CronJobs)
ADD_CRON_JOB = _post("/cron", CronBody, CronJob, 201)
SHOW_CRON_JOB = _get("/cron/{owner}/{job}", CronJob)
PAUSE_CRON_JOB = _post("/cron/{owner}/{job}/pause", CronOrderBody, CronJob)
RESUME_CRON_JOB = _post("/cron/{owner}/{job}/resume", CronOrderBody, CronJob)
DELETE_CRON_JOB = _post("/cron/{owner}/{job}/delete", CronOrderBody, CronJob)

LIST_NODES = _get("/nodes", Nodes)
LIST_LABELS = _get("/labels", Labels)
ADD_LABELS = _post("/admin/labels/add", AddLabelsBody, Labels)
REMOVE_LABELS = _post("/admin/labels/remove", RemoveLabelsBody, Labels)
LABEL_NODES = _post("/admin/labels/assign", LabelNodesBody, Labels)

REGISTER_MASTER = _post("/applications/{application}/register", NothingBody, ApplicationRow)
REQUEST_CONTAINERS = _post("/applications/{application}/requests", RequestsBody, ApplicationRow)
ADD_TASKS = _post("/applications/{application}/tasks", TasksBody, ApplicationRow)
RELEASE_CONTAINERS = _post("/applications/{application}/release", ReleaseBody, ApplicationRow)
FINISH_APPLICATION = _post("/applications/{application}/finish", FinishBody, ApplicationRow)
LAUNCH_CONTAINER = _post("/containers/{container}/launch", Launch, Launched)

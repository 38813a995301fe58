"""The Python client of a fairshare server.

    from fairshare.client import Client

    with Client() as client:                       # FAIRSHARE_URL, or the server of this machine
        squares = client.map(lambda number: number * number, range(10))

`Client` is for who submits and watches, `Driver` for a program that is its application's own
master. `AsyncClient` (in `async_client`) and `Executor` (in `executor`) are imported by those who
want them, from `fairshare` itself. The errors that they raise are in `fairshare.client.errors`.
"""

from fairshare.api.showing import Rows
from fairshare.api.work import (
    ContainerRequest,
    Dependency,
    DriverCommand,
    EndSignal,
    Master,
    Submission,
    TaskArray,
    TaskGroup,
)
from fairshare.client.answers import (
    Application,
    Cluster,
    Configuration,
    Container,
    GroupProgress,
    Node,
    Progress,
    Queue,
    Task,
)
from fairshare.client.client import Client
from fairshare.client.driver import Driver
from fairshare.client.errors import (
    AnswerNotUnderstood,
    ApplicationFailed,
    NotPicklable,
    Refused,
    ServerUnreachable,
    WaitTimedOut,
)

__all__ = [
    "AnswerNotUnderstood",
    "Application",
    "ApplicationFailed",
    "Client",
    "Cluster",
    "Configuration",
    "Container",
    "ContainerRequest",
    "Dependency",
    "Driver",
    "DriverCommand",
    "EndSignal",
    "GroupProgress",
    "Master",
    "Node",
    "NotPicklable",
    "Progress",
    "Queue",
    "Refused",
    "Rows",
    "ServerUnreachable",
    "Submission",
    "Task",
    "TaskArray",
    "TaskGroup",
    "WaitTimedOut",
]

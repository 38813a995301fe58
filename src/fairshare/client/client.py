"""Owns what a user of a cluster can do and see from Python. Knows no terminal.

Each method is one call of the REST interface, except `watch`, `wait`, `map` and `failure_log`,
which are made of others. All raise ServerUnreachable, Refused or AnswerNotUnderstood.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec

from fairshare.client import callables, logs, waiting
from fairshare.client.answers import (
    Application,
    Cluster,
    Configuration,
    Container,
    Label,
    Labels,
    Node,
    Properties,
    Queue,
    Reason,
    Refreshed,
    SafeMode,
    Task,
    listed,
    understood,
)
from fairshare.client.connection import Connection, segment
from fairshare.client.discovery import (
    APPLICATION_VARIABLE,
    URL_VARIABLE,
    USER_VARIABLE,
    checked_token,
    checked_url,
    find_token,
    find_url,
    own_user,
    published_url,
)
from fairshare.client.errors import ApplicationFailed, Refused
from fairshare.client.submissions import DEFAULT_RESOURCES, Submission, TaskGroup
from fairshare.errors import FairshareError

Item = TypeVar("Item")
Result = TypeVar("Result")

LOG_LINES = 10
"""How much of a failed container's log is worth showing at once."""


class Client:
    """A fairshare server. Without `url` it is found by FAIRSHARE_URL or in the state directory.

    >>> with Client() as client:                                         # doctest: +SKIP
    ...     group = TaskGroup(name="hello", count=3, arguments=("echo", "hello"),
    ...                       resources={"memory-mb": 256, "vcores": 1})
    ...     application = client.submit(Submission(queue="research", tasks=(group,)))
    ...     client.wait(application)
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        found = checked_url(url, "the given URL") if url else find_url()
        token = checked_token(token, "the given token") if token else find_token()
        self._proven = token is not None
        # Where a standby has taken over is looked up for an address that the state directory gave,
        # and in containers, whose server has told them its own; never for one that somebody chose.
        chosen = url or (os.environ.get(URL_VARIABLE) and not os.environ.get(APPLICATION_VARIABLE))
        elsewhere = (lambda: None) if chosen else published_url
        self.connection = Connection(found, token, transport, elsewhere)
        # While waiting: the least time between two questions, and how long a server may be away.
        self.pace_s = waiting.PACE_S
        self.patience_s = waiting.PATIENCE_S

    def _user(self) -> str | None:
        """Whose name is sent. Who has a token says with it who he is, and names only another."""
        return os.environ.get(USER_VARIABLE) if self._proven else own_user()

    def _actor(self) -> dict[str, str]:
        """Who wants it, for a server that asks whether he may."""
        user = self._user()
        return {} if user is None else {"user": user}

    @property
    def url(self) -> str:
        """Where the server is."""
        return self.connection.url

    def cluster(self) -> Cluster:
        """The cluster as a whole."""
        return understood(self.connection.get("/cluster"), Cluster)

    def configuration(self) -> Configuration:
        """The configuration in force, and whether the files say something else."""
        return understood(self.connection.get("/configuration"), Configuration)

    def refresh_queues(self) -> Refreshed:
        """Let the server read its configuration again. Raises Refused with all problems."""
        return understood(self.connection.post("/admin/refresh-queues", self._actor()), Refreshed)

    def labels(self) -> list[Label]:
        """The cluster's partitions (node labels), and the nodes of each."""
        return understood(self.connection.get("/labels"), Labels).labels

    def add_labels(self, labels: Mapping[str, bool]) -> list[Label]:
        """Make partitions, by name: whether each is exclusive."""
        return self._change_labels("add", {"labels": dict(labels)})

    def remove_labels(self, labels: Sequence[str]) -> list[Label]:
        """Remove partitions that no queue names."""
        return self._change_labels("remove", {"labels": list(labels)})

    def label_nodes(self, nodes: Mapping[str, str], *, known: bool = False) -> list[Label]:
        """Put nodes into partitions; "" is the default one."""
        return self._change_labels("assign", {"nodes": dict(nodes), "known": known})

    def _change_labels(self, verb: str, body: dict[str, Any]) -> list[Label]:
        found = self.connection.post(f"/admin/labels/{verb}", {**body, **self._actor()})
        return understood(found, Labels).labels

    def order_nodes(self, verb: str, nodes: Sequence[str], **more: int) -> tuple[Node, ...]:
        """`drain`, `undrain` or `decommission` (with `timeout_ms`) nodes; all nodes as they are."""
        body = {"nodes": list(nodes), **more, **self._actor()}
        found = self.connection.post(f"/admin/nodes/{verb}", body)
        return listed(found, "nodes", Node)

    def safe_mode(self) -> bool:
        """Whether nothing is admitted and granted."""
        return understood(self.connection.get("/admin/safe-mode"), SafeMode).safe_mode

    def set_safe_mode(self, on: bool) -> bool:
        """Admit and grant nothing any more, or again."""
        found = self.connection.post("/admin/safe-mode", {"on": on, **self._actor()})
        return understood(found, SafeMode).safe_mode

    def properties(self) -> Properties:
        """The scheduler's properties. Raises Refused where only a file can change them."""
        return understood(self.connection.get("/configuration/properties"), Properties)

    def change_configuration(self, update: Mapping[str, Any], *, check: bool = False) -> Properties:
        """Change properties by a document as Hadoop's `scheduler-conf` takes it; with `check` only
        see what would come of it. Raises Refused with all that is wrong: nothing has changed then.
        """
        body = {"update": update, "check": check, **self._actor()}
        return understood(self.connection.post("/admin/configuration", body), Properties)

    def format_configuration(self) -> Properties:
        """Forget all changes: the file holds again."""
        answer = self.connection.post("/admin/configuration/format", self._actor())
        return understood(answer, Properties)

    def queues(self) -> tuple[Queue, ...]:
        """All queues, the root first."""
        return listed(self.connection.get("/queues"), "queues", Queue)

    def nodes(self) -> tuple[Node, ...]:
        """All nodes."""
        return listed(self.connection.get("/nodes"), "nodes", Node)

    def applications(
        self,
        *,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        limit: int | None = None,
    ) -> tuple[Application, ...]:
        """The applications of that state, user and queue, the newest first."""
        answer = self.connection.get(
            "/applications", state=state, user=user, queue=queue, limit=limit
        )
        return listed(answer, "applications", Application)

    def application(self, application: str | int) -> Application:
        """One application with its groups, its live containers and its diagnostics."""
        return understood(self.connection.get(_path(application)), Application)

    def reasons(self, application: str | int) -> tuple[Reason, ...]:
        """Why an application waits, the weightiest reason first; none if it waits for nothing."""
        return listed(self.connection.get(_path(application, "reasons")), "reasons", Reason)

    def tasks(self, application: str | int) -> tuple[Task, ...]:
        """Every task of an application."""
        return listed(self.connection.get(_path(application, "tasks")), "tasks", Task)

    def containers(self, application: str | int) -> tuple[Container, ...]:
        """Every container of an application, alive or over."""
        answer = self.connection.get(_path(application, "containers"))
        return listed(answer, "containers", Container)

    def changes(self, since: int = 0, timeout_s: int = 0) -> int:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""
        answer = self.connection.get("/changes", wait_s=timeout_s, since=since, timeout=timeout_s)
        return understood(understood(answer, dict[str, Any]).get("version"), int)

    def submit(self, submission: Submission) -> str:
        """Hand an application in; its id. Raises Refused when the cluster does not take it.

        It belongs to `submission.user`, else to FAIRSHARE_USER, else to who has the token, else to
        who runs this program.
        """
        if submission.user is None:
            submission = msgspec.structs.replace(submission, user=self._user())
        answer = understood(self.connection.post("/applications", submission), dict[str, Any])
        return understood(answer.get("id"), str)

    def kill(self, application: str | int, diagnostics: str | None = None) -> None:
        """End an application; `diagnostics` tells its user why."""
        body = {} if diagnostics is None else {"diagnostics": diagnostics}
        self.connection.post(_path(application, "kill"), {**body, **self._actor()})

    def move(self, application: str | int, queue: str) -> None:
        """Put an application into another queue; its containers go on."""
        self.connection.post(_path(application, "move"), {"queue": queue, **self._actor()})

    def set_priority(self, application: str | int, priority: int) -> None:
        """Change an application's priority."""
        body = {"priority": priority, **self._actor()}
        self.connection.post(_path(application, "priority"), body)

    def stop_container(self, container: str) -> None:
        """End one container as if it had failed: its task runs again."""
        self.connection.post(f"/containers/{segment(container)}/stop", self._actor())

    def shutdown(self, *, stop_containers: bool | None = None) -> None:
        """End the server. Containers that live on are found again by the next server of its state.

        With None they live or end as the server was told when it was started.
        """
        body = {} if stop_containers is None else {"stop_containers": stop_containers}
        self.connection.post("/shutdown", {**body, **self._actor()})

    def log(self, container: str, stream: str = "stdout") -> bytes:
        """All that a container has printed so far."""
        return b"".join(logs.read_all(self.connection, container, stream))

    def follow_log(self, container: str, stream: str = "stdout") -> Iterator[bytes]:
        """What a container has printed and will print, until it is over."""
        return logs.follow(self.connection, container, stream)

    def result(self, container: str) -> Any:
        """What the Python callable returned that a container ran; raises NotPicklable."""
        response = self.connection.get_response(f"/containers/{segment(container)}/result")
        return callables.unpickled(response.content, container)

    def watch(
        self, application: str | int, timeout_s: float | None = None
    ) -> Iterator[Application]:
        """The application as it stands, after each change, and at last when it is over."""
        return waiting.watch(
            self,
            application,
            timeout_s=timeout_s,
            pace_s=self.pace_s,
            patience_s=self.patience_s,
        )

    def wait(self, application: str | int, timeout_s: float | None = None) -> Application:
        """The application when it is over, however it ended; raises WaitTimedOut."""
        last: Application | None = None
        for current in self.watch(application, timeout_s):
            last = current
        assert last is not None  # a watch yields at least once, or raises
        return last

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        name: str | None = None,
        queue: str | None = None,
        user: str | None = None,
        resources: Mapping[str, int] | None = None,
        environment: Mapping[str, str] | None = None,
        max_attempts: int = 4,
        time_limit_ms: int | None = None,
        timeout_s: float | None = None,
    ) -> list[Result]:
        """`[function(item) for item in items]`, each call in a container of its own.

        The results stand in the order of the items. Raises ApplicationFailed when one call has
        failed `max_attempts` times; WaitTimedOut after `timeout_s`. Whatever ends the waiting
        early, Ctrl-C too, kills the application: nobody would take its results.
        """
        given = list(items)
        if not given:
            return []
        named = name or getattr(function, "__name__", "map")
        group = TaskGroup(
            name="map",
            count=len(given),
            resources=dict(resources or DEFAULT_RESOURCES),
            callable=callables.pickled(callables.call_by_index(function, given)),
            environment=dict(environment or {}),
            max_attempts=max_attempts,
            time_limit_ms=time_limit_ms,
        )
        submission = Submission(user=user, queue=queue, name=named, tasks=(group,))
        application = self.submit(submission)
        try:
            ended = self.wait(application, timeout_s)
        except BaseException:
            with contextlib.suppress(FairshareError):  # what ended the waiting is to be told
                self.kill(application, "Nobody waits for its results any more.")
            raise
        if ended.state != "FINISHED":
            log = self.failure_log(application)
            raise ApplicationFailed(application, ended.state, ended.diagnostics, log)
        return self._results(application, len(given))

    def failure_log(self, application: str | int, lines: int = LOG_LINES) -> str:
        """The end of what the last failed container wrote to stderr, else to stdout; may be ""."""
        failed = [one for one in self.containers(application) if one.failed]
        for container in sorted(failed, key=lambda one: one.finished_ms or 0, reverse=True)[:1]:
            for stream in ("stderr", "stdout"):
                try:
                    text = logs.last_lines(self.connection, container.id, stream, lines)
                except Refused:  # its files are already cleaned away
                    continue
                if text.strip():
                    return text
        return ""

    def close(self) -> None:
        """Let the connection go; applications go on."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _results(self, application: str, count: int) -> list[Any]:
        containers = {task.index: task.container for task in self.tasks(application)}
        return [self.result(containers[index] or "") for index in range(count)]


def _path(application: str | int, call: str = "") -> str:
    """`/applications/<id>` or `/applications/<id>/<call>`."""
    path = f"/applications/{segment(str(application))}"
    return f"{path}/{call}" if call else path

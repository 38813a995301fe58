"""Owns every call of the REST interface as data: its path, what is sent, what its answer becomes.

`Client` and `AsyncClient` send these, one waiting and one in a loop: what they have in common
stands here once. Knows no socket.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import httpx
import msgspec

from fairshare.client import callables
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
    Stopping,
    Task,
    listed,
    understood,
)
from fairshare.client.connection import segment
from fairshare.client.discovery import Server
from fairshare.client.submissions import DEFAULT_RESOURCES, Submission, TaskGroup

Answer = TypeVar("Answer")
Entry = TypeVar("Entry")
Result = TypeVar("Result")

Parameters = Mapping[str, str | int | float | None]


class Call(msgspec.Struct, Generic[Answer], frozen=True):
    """One question. A `body` is posted; without one it is a GET with `parameters`.

    `understand` makes the answer of the decoded JSON, or, with `whole`, of the response as it came.
    `wait_s` is how long the server may take on purpose.
    """

    path: str
    understand: Callable[[Any], Answer]
    body: object = None
    parameters: Parameters = {}
    wait_s: float = 0.0
    whole: bool = False


Conversation = Generator[Call[Any], Any, Result]
"""Several calls, each of which depends on the answers before: it yields a call, is sent the answer,
or is thrown what the call has raised, and returns what came of it all."""


class Calls:
    """The calls to one server, in the name of who makes them."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def _posted(
        self, path: str, body: Mapping[str, Any], understand: Callable[[Any], Answer]
    ) -> Call[Answer]:
        """An order, with who gives it, for a server that asks whether he may."""
        user = self._server.user()
        return Call(path, understand, {**body, **({} if user is None else {"user": user})})

    def cluster(self) -> Call[Cluster]:
        return Call("/cluster", _as(Cluster))

    def configuration(self) -> Call[Configuration]:
        return Call("/configuration", _as(Configuration))

    def refresh_queues(self) -> Call[Refreshed]:
        return self._posted("/admin/refresh-queues", {}, _as(Refreshed))

    def labels(self) -> Call[list[Label]]:
        return Call("/labels", _labels)

    def change_labels(self, verb: str, **body: Any) -> Call[list[Label]]:
        return self._posted(f"/admin/labels/{verb}", body, _labels)

    def order_nodes(
        self, verb: str, nodes: Sequence[str], more: Mapping[str, int]
    ) -> Call[tuple[Node, ...]]:
        body = {"nodes": list(nodes), **more}
        return self._posted(f"/admin/nodes/{verb}", body, _list_of(Node, "nodes"))

    def safe_mode(self) -> Call[bool]:
        return Call("/admin/safe-mode", _safe_mode)

    def set_safe_mode(self, on: bool) -> Call[bool]:
        return self._posted("/admin/safe-mode", {"on": on}, _safe_mode)

    def properties(self) -> Call[Properties]:
        return Call("/configuration/properties", _as(Properties))

    def change_configuration(self, update: Mapping[str, Any], check: bool) -> Call[Properties]:
        body = {"update": update, "check": check}
        return self._posted("/admin/configuration", body, _as(Properties))

    def format_configuration(self) -> Call[Properties]:
        return self._posted("/admin/configuration/format", {}, _as(Properties))

    def queues(self) -> Call[tuple[Queue, ...]]:
        return Call("/queues", _list_of(Queue, "queues"))

    def nodes(self) -> Call[tuple[Node, ...]]:
        return Call("/nodes", _list_of(Node, "nodes"))

    def applications(self, **wanted: str | int | None) -> Call[tuple[Application, ...]]:
        found = _list_of(Application, "applications")
        return Call("/applications", found, parameters=wanted)

    def application(self, application: str | int) -> Call[Application]:
        return Call(_path(application), _as(Application))

    def reasons(self, application: str | int) -> Call[tuple[Reason, ...]]:
        return Call(_path(application, "reasons"), _list_of(Reason, "reasons"))

    def tasks(self, application: str | int) -> Call[tuple[Task, ...]]:
        return Call(_path(application, "tasks"), _list_of(Task, "tasks"))

    def containers(self, application: str | int) -> Call[tuple[Container, ...]]:
        return Call(_path(application, "containers"), _list_of(Container, "containers"))

    def changes(self, since: int, timeout_s: int) -> Call[int]:
        parameters = {"since": since, "timeout": timeout_s}
        return Call("/changes", _field("version", int), parameters=parameters, wait_s=timeout_s)

    def submit(self, submission: Submission) -> Call[str]:
        if submission.user is None:
            submission = msgspec.structs.replace(submission, user=self._server.user())
        return Call("/applications", _field("id", str), submission)

    def kill(self, application: str | int, diagnostics: str | None) -> Call[None]:
        body = {} if diagnostics is None else {"diagnostics": diagnostics}
        return self._posted(_path(application, "kill"), body, _nothing)

    def move(self, application: str | int, queue: str) -> Call[None]:
        return self._posted(_path(application, "move"), {"queue": queue}, _nothing)

    def set_priority(self, application: str | int, priority: int) -> Call[None]:
        return self._posted(_path(application, "priority"), {"priority": priority}, _nothing)

    def stop_container(self, container: str) -> Call[None]:
        return self._posted(f"/containers/{segment(container)}/stop", {}, _nothing)

    def shutdown(self, stop_containers: bool | None) -> Call[Stopping]:
        body = {} if stop_containers is None else {"stop_containers": stop_containers}
        return self._posted("/shutdown", body, _as(Stopping))

    def result(self, container: str) -> Call[Any]:
        def unpickled(response: httpx.Response) -> Any:
            return callables.unpickled(response.content, container)

        return Call(f"/containers/{segment(container)}/result", unpickled, whole=True)

    def results(self, application: str, count: int) -> Conversation[list[Any]]:
        """What the calls of a map returned, in their order."""
        containers = {task.index: task.container for task in (yield self.tasks(application))}
        found = []
        for index in range(count):
            found.append((yield self.result(containers[index] or "")))
        return found


def map_submission(
    function: Callable[[Any], Any],
    items: list[Any],
    *,
    name: str | None,
    user: str | None,
    queue: str | None,
    resources: Mapping[str, int] | None,
    environment: Mapping[str, str] | None,
    max_attempts: int,
    time_limit_ms: int | None,
) -> Submission:
    """The application of which each task calls the function with one of the items."""
    group = TaskGroup(
        name="map",
        count=len(items),
        resources=dict(resources or DEFAULT_RESOURCES),
        callable=callables.pickled(callables.call_by_index(function, items)),
        environment=dict(environment or {}),
        max_attempts=max_attempts,
        time_limit_ms=time_limit_ms,
    )
    named = name or getattr(function, "__name__", "map")
    return Submission(user=user, queue=queue, name=named, tasks=(group,))


def last_failed(containers: Iterable[Container]) -> Container | None:
    """The container that failed last."""
    failed = [one for one in containers if one.failed]
    return max(failed, key=lambda one: one.finished_ms or 0, default=None)


def _path(application: str | int, call: str = "") -> str:
    """`/applications/<id>` or `/applications/<id>/<call>`."""
    path = f"/applications/{segment(str(application))}"
    return f"{path}/{call}" if call else path


def _as(form: type[Entry]) -> Callable[[Any], Entry]:
    return lambda answer: understood(answer, form)


def _list_of(form: type[Entry], name: str) -> Callable[[Any], tuple[Entry, ...]]:
    return lambda answer: listed(answer, name, form)


def _field(name: str, form: type[Entry]) -> Callable[[Any], Entry]:
    return lambda answer: understood(understood(answer, dict[str, Any]).get(name), form)


def _labels(answer: Any) -> list[Label]:
    return understood(answer, Labels).labels


def _safe_mode(answer: Any) -> bool:
    return understood(answer, SafeMode).safe_mode


def _nothing(answer: Any) -> None:
    """Nothing is said but that it is done."""

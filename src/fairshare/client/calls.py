"""Owns every call of the REST interface as data: its path, what is sent, what its answer becomes.

`Client` and `AsyncClient` have their methods from here (`methods` says how), and from `operations`
those of several calls. Knows no socket.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from fairshare.api.applications import (
    Containers,
    HoldBody,
    KillBody,
    MoveBody,
    PriorityBody,
    Reasons,
    ResubmitBody,
    Submitted,
    Tasks,
    Uploaded,
)
from fairshare.api.cluster import SafeModeBody, ShutdownBody, Version
from fairshare.api.configuration import ChangeBody
from fairshare.api.nodes import (
    AddLabelsBody,
    DecommissionBody,
    LabelNodesBody,
    Nodes,
    NodesBody,
    RemoveLabelsBody,
)
from fairshare.api.queues import Queues
from fairshare.api.values import ActorBody
from fairshare.api.work import Submission
from fairshare.client import callables
from fairshare.client.accounting_calls import AccountingCalls
from fairshare.client.answers import (
    Application,
    Applications,
    Cluster,
    Configuration,
    Container,
    Decoded,
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
    whole,
)
from fairshare.client.cron_calls import CronCalls
from fairshare.client.discovery import Server
from fairshare.client.exchange import Reply, segment
from fairshare.client.methods import Call as Call
from fairshare.client.methods import Returned, method
from fairshare.errors import InputError

Answer = TypeVar("Answer")

SLOWEST_UPLOAD: Final = 1 << 20
"""Bytes a second for which an upload has time."""

LABELS: Final = Decoded(Labels, lambda answer: answer.labels)
NODES: Final = Decoded(Nodes, lambda answer: answer.nodes)
SAFE_MODE: Final = Decoded(SafeMode, lambda answer: answer.safe_mode)
VERSION: Final = Decoded(Version, lambda answer: answer.version)


class CallTable(AccountingCalls, CronCalls):
    """Every call of the REST interface, once: the methods that both clients have.

    A method describes its call. The other base of a class decides what becomes of the call: it is
    returned, sent, or sent in a loop (`methods`).
    """

    _server: Server

    def _posted(
        self, path: str, body: ActorBody, understand: Callable[[Any], Answer]
    ) -> Call[Answer]:
        """An order with the user who gives it, for a server that checks permissions."""
        return Call(path, understand, msgspec.structs.replace(body, user=self._server.user()))

    @method
    def cluster(self) -> Call[Cluster]:
        """The cluster as a whole."""
        return Call("/cluster", whole(Cluster))

    @method
    def configuration(self) -> Call[Configuration]:
        """The configuration in force, and whether the files say something else."""
        return Call("/configuration", whole(Configuration))

    @method
    def refresh_queues(self) -> Call[Refreshed]:
        """Let the server read its configuration again. Raises Refused with all problems."""
        return self._posted("/admin/refresh-queues", ActorBody(), whole(Refreshed))

    @method
    def labels(self) -> Call[list[Label]]:
        """The cluster's partitions (node labels), and the nodes of each."""
        return Call("/labels", LABELS)

    @method
    def add_labels(self, labels: Mapping[str, bool]) -> Call[list[Label]]:
        """Make partitions, by name: whether each is exclusive."""
        return self._posted("/admin/labels/add", AddLabelsBody(labels=dict(labels)), LABELS)

    @method
    def remove_labels(self, labels: Sequence[str]) -> Call[list[Label]]:
        """Remove partitions that no queue names."""
        return self._posted("/admin/labels/remove", RemoveLabelsBody(labels=tuple(labels)), LABELS)

    @method
    def label_nodes(self, nodes: Mapping[str, str], *, known: bool = False) -> Call[list[Label]]:
        """Put nodes into partitions; "" is the default one."""
        body = LabelNodesBody(nodes=dict(nodes), known=known)
        return self._posted("/admin/labels/assign", body, LABELS)

    @method
    def order_nodes(
        self, /, verb: str, nodes: Sequence[str], **more: int
    ) -> Call[tuple[Node, ...]]:
        """`drain`, `undrain` or `decommission` (with `timeout_ms`) nodes; all nodes as they are."""
        body = NodesBody(nodes=tuple(nodes))
        if more:
            body = DecommissionBody(nodes=body.nodes, timeout_ms=more["timeout_ms"])
        return self._posted(f"/admin/nodes/{verb}", body, NODES)

    @method
    def safe_mode(self) -> Call[bool]:
        """Whether nothing is admitted and granted."""
        return Call("/admin/safe-mode", SAFE_MODE)

    @method
    def set_safe_mode(self, on: bool) -> Call[bool]:
        """Admit and grant nothing any more, or again."""
        return self._posted("/admin/safe-mode", SafeModeBody(on=on), SAFE_MODE)

    @method
    def properties(self) -> Call[Properties]:
        """The scheduler's properties. Raises Refused where only a file can change them."""
        return Call("/configuration/properties", whole(Properties))

    @method
    def change_configuration(
        self, update: Mapping[str, Any], *, check: bool = False
    ) -> Call[Properties]:
        """Change properties by a document as Hadoop's `scheduler-conf` takes it; with `check` only
        see what would come of it. Raises Refused with all that is wrong: nothing has changed then.
        """
        body = ChangeBody(update=dict(update), check=check)
        return self._posted("/admin/configuration", body, whole(Properties))

    @method
    def format_configuration(self) -> Call[Properties]:
        """Forget all changes: the file holds again."""
        return self._posted("/admin/configuration/format", ActorBody(), whole(Properties))

    @method
    def queues(self) -> Call[tuple[Queue, ...]]:
        """All queues, the root first."""
        return Call("/queues", Decoded(Queues, lambda answer: answer.queues))

    @method
    def nodes(self) -> Call[tuple[Node, ...]]:
        """All nodes."""
        return Call("/nodes", NODES)

    @method
    def applications(
        self,
        *,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
    ) -> Call[tuple[Application, ...]]:
        """The applications of that state, user and queue with that tag, the newest first."""
        parameters = {"state": state, "user": user, "queue": queue, "tag": tag, "limit": limit}
        return Call(
            "/applications",
            Decoded(Applications, lambda answer: answer.applications),
            parameters=parameters,
        )

    @method
    def application(self, application: str | int) -> Call[Application]:
        """One application with its groups, its live containers and its diagnostics."""
        return Call(_path(application), whole(Application))

    @method
    def reasons(self, application: str | int) -> Call[tuple[Reason, ...]]:
        """Why an application waits, the weightiest reason first; none if it waits for nothing."""
        return Call(_path(application, "reasons"), Decoded(Reasons, lambda answer: answer.reasons))

    @method
    def tasks(self, application: str | int) -> Call[tuple[Task, ...]]:
        """Every task of an application."""
        return Call(_path(application, "tasks"), Decoded(Tasks, lambda answer: answer.tasks))

    @method
    def containers(self, application: str | int) -> Call[tuple[Container, ...]]:
        """Every container of an application, alive or over."""
        return Call(
            _path(application, "containers"), Decoded(Containers, lambda answer: answer.containers)
        )

    @method
    def changes(self, since: int = 0, timeout_s: int = 0) -> Call[int]:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""
        parameters = {"since": since, "timeout": timeout_s}
        return Call("/changes", VERSION, parameters=parameters, wait_s=timeout_s)

    @method
    def upload(self, call: bytes) -> Call[str]:
        """Upload a pickled call that is too large for a submission; the digest by which a command
        names it as its `payload`, within ten minutes."""
        import hashlib  # it loads OpenSSL, which only an upload needs

        digest = hashlib.sha256(call).hexdigest()
        wait_s = len(call) / SLOWEST_UPLOAD
        understand = Decoded(Uploaded, lambda answer: answer.digest)
        return Call(f"/payloads/{digest}", understand, content=call, wait_s=wait_s)

    @method
    def submit_whole(self, submission: Submission) -> Call[str]:
        """Submit an application in one request; its id. `submit` also uploads what is too large."""
        if submission.user is None:
            submission = msgspec.structs.replace(submission, user=self._server.user())
        return Call("/applications", Decoded(Submitted, lambda answer: answer.id), submission)

    @method
    def kill(
        self,
        application: str | int,
        diagnostics: str | None = None,
        *,
        task: str | int | None = None,
    ) -> Call[None]:
        """End an application; `diagnostics` tells its user why. With `task`, an index or
        `group/index`, only that task ends, and does not run again."""
        body = KillBody(diagnostics=diagnostics, task=None if task is None else str(task))
        return self._posted(_path(application, "kill"), body, _nothing)

    @method
    def resubmit(self, application: str | int, *, failed: bool = False) -> Call[str]:
        """Submit an ended application again, with `failed` only its tasks that did not succeed;
        the id of the new one."""
        understand = Decoded(Submitted, lambda answer: answer.id)
        return self._posted(_path(application, "resubmit"), ResubmitBody(failed=failed), understand)

    @method
    def hold(self, application: str | int) -> Call[None]:
        """Let an application start nothing more until it is released."""
        return self._posted(_path(application, "hold"), HoldBody(), _nothing)

    @method
    def release(self, application: str | int) -> Call[None]:
        """Let a held application go on."""
        return self._posted(_path(application, "hold"), HoldBody(held=False), _nothing)

    @method
    def requeue(self, application: str | int) -> Call[None]:
        """End all that runs of an application, and let it begin again."""
        return self._posted(_path(application, "requeue"), ActorBody(), _nothing)

    @method
    def move(self, application: str | int, queue: str) -> Call[None]:
        """Put an application into another queue; its containers go on."""
        return self._posted(_path(application, "move"), MoveBody(queue=queue), _nothing)

    @method
    def set_priority(self, application: str | int, priority: int) -> Call[None]:
        """Change an application's priority."""
        body = PriorityBody(priority=priority)
        return self._posted(_path(application, "priority"), body, _nothing)

    @method
    def stop_container(self, container: str) -> Call[None]:
        """End one container as if it had failed: its task runs again."""
        return self._posted(f"/containers/{segment(container)}/stop", ActorBody(), _nothing)

    @method
    def shutdown(self, *, stop_containers: bool | None = None) -> Call[Stopping]:
        """End the server. Containers that live on are found again by the next server of its state.

        With None they live on, unless the server was started with --stop-containers. The answer
        says which, and how much was running.
        """
        body = ShutdownBody(stop_containers=stop_containers)
        return self._posted("/shutdown", body, whole(Stopping))

    @method
    def result(self, container: str) -> Call[Any]:
        """What the Python callable returned that a container ran; raises NotPicklable."""

        def unpickled(reply: Reply) -> Any:
            return callables.unpickled(reply.content, container)

        path = f"/containers/{segment(container)}/result"
        return Call(path, unpickled, whole=True, unpickled=True)


class Calls(CallTable, Returned):
    """The calls to one server as data, for conversations."""

    def __init__(self, server: Server) -> None:
        self._server = server


def last_failed(containers: Iterable[Container]) -> Container | None:
    """The container that failed last."""
    failed = [one for one in containers if one.failed]
    return max(failed, key=lambda one: one.finished_ms or 0, default=None)


def _path(application: str | int, call: str = "") -> str:
    """`/applications/<id>` or `/applications/<id>/<call>`."""
    whole, _, task = str(application).partition("/")
    if whole and task.rpartition("/")[2].isdigit():
        raise InputError(
            "unknown-application",
            f"{application} is task {task} of {whole}, and this is for whole applications:"
            f" write {whole}",
        )
    path = f"/applications/{segment(str(application))}"
    return f"{path}/{call}" if call else path


def _nothing(answer: Any) -> None:
    """Nothing is said but that it is done."""

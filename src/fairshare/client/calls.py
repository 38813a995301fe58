"""Every call of the REST interface as a method: its route, and how its answer is read.

`Client` and `AsyncClient` have their methods from here (`methods` says how), and from `operations`
those of several calls.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec

from fairshare.api import routes
from fairshare.api.accounting import PastApplications, PastContainers, Report
from fairshare.api.applications import ApplicationRow
from fairshare.api.bookings import BookedSpan, Booking, Bookings
from fairshare.api.cron import CronJob, Overlap
from fairshare.api.ledger import Ledger
from fairshare.api.routes import Route
from fairshare.api.showing import Rows
from fairshare.api.values import EMPTY
from fairshare.api.work import Dependency, Submission
from fairshare.client import callables
from fairshare.client.answers import (
    Application,
    Applications,
    Cluster,
    Configuration,
    Container,
    Decoded,
    Eta,
    Label,
    Labels,
    Node,
    Owed,
    OwnToken,
    Properties,
    Proved,
    Queue,
    Reason,
    Refreshed,
    SignInCode,
    SignInWays,
    Stopping,
    Task,
    whole,
)
from fairshare.client.discovery import Server
from fairshare.client.exchange import Reply, path_of
from fairshare.client.methods import Call as Call
from fairshare.client.methods import Returned, method
from fairshare.errors import InputError

Answer = TypeVar("Answer")
Result = TypeVar("Result")

SLOWEST_UPLOAD: Final = 1 << 20
"""Bytes a second for which an upload has time."""

ORDERS: Final = {
    "drain": routes.DRAIN_NODES,
    "undrain": routes.UNDRAIN_NODES,
    "decommission": routes.DECOMMISSION_NODES,
}


class CallTable:
    """Every call of the REST interface, once: the methods that both clients have.

    A method describes its call. The other base of a class decides what is done with the call: it is
    returned, sent, or sent in a loop (`methods`).
    """

    _server: Server

    def _call(self, route: Route[Answer], *names: str | int, **values: Any) -> Call[Answer]:
        """A call of a route: `names` fill its path, `values` its parameters or its body.

        A body also names the user who gives the order, for a server that checks permissions.
        """
        if "{application}" in route.path:
            # A task's name is refused where a whole application's belongs.
            application, _, task = str(names[0]).partition("/")
            if application and task.rpartition("/")[2].isdigit():
                raise InputError(
                    "unknown-application",
                    f"{names[0]} is task {task} of {application}, and this is for whole"
                    f" applications: write {application}",
                )
        path = path_of(route, *names)
        if route.body is None:
            return Call(path, whole(route.answer), parameters=values)
        body = route.body(**{"user": self._server.user(), **values})
        return Call(path, whole(route.answer), body)

    @method
    def cluster(self) -> Call[Cluster]:
        """The cluster as a whole."""
        return self._call(routes.SHOW_CLUSTER)

    @method
    def make_token(self, lifetime_ms: int | None = None) -> Call[OwnToken]:
        """A token for the account that calls on the server's Unix socket."""
        return self._call(routes.MAKE_TOKEN, lifetime_ms=lifetime_ms)

    @method
    def sign_in_ways(self) -> Call[SignInWays]:
        """What a caller can sign in with."""
        return self._call(routes.SHOW_SIGN_IN)

    @method
    def sign_in(
        self, /, user: str, password: str, lifetime_ms: int | None = None
    ) -> Call[OwnToken]:
        """A token for an account of the server's machine and its password, where the server takes
        passwords."""
        return self._call(routes.SIGN_IN, user=user, password=password, lifetime_ms=lifetime_ms)

    @method
    def make_code(self) -> Call[SignInCode]:
        """What opens the pages once for the account that calls on the server's Unix socket."""
        return self._call(routes.MAKE_CODE)

    @method
    def configuration(self) -> Call[Configuration]:
        """The configuration in force, and whether the files say something else."""
        return self._call(routes.SHOW_CONFIGURATION)

    @method
    def refresh_queues(self) -> Call[Refreshed]:
        """Let the server read its configuration again. Raises Refused with all problems."""
        return self._call(routes.REFRESH_QUEUES)

    @method
    def labels(self) -> Call[list[Label]]:
        """The cluster's partitions (node labels), and the nodes of each."""
        return taken(self._call(routes.LIST_LABELS), _labels)

    @method
    def add_labels(self, labels: Mapping[str, bool]) -> Call[list[Label]]:
        """Make partitions, by name: whether each is exclusive."""
        return taken(self._call(routes.ADD_LABELS, labels=dict(labels)), _labels)

    @method
    def remove_labels(self, labels: Sequence[str]) -> Call[list[Label]]:
        """Remove partitions that no queue names."""
        return taken(self._call(routes.REMOVE_LABELS, labels=tuple(labels)), _labels)

    @method
    def label_nodes(self, nodes: Mapping[str, str], *, known: bool = False) -> Call[list[Label]]:
        """Put nodes into partitions; "" is the default one."""
        return taken(self._call(routes.LABEL_NODES, nodes=dict(nodes), known=known), _labels)

    @method
    def order_nodes(self, /, verb: str, nodes: Sequence[str], **more: int) -> Call[Rows[Node]]:
        """`drain`, `undrain` or `decommission` (with `timeout_ms`) nodes; all nodes as they are."""
        return taken(
            self._call(ORDERS[verb], nodes=tuple(nodes), **more),
            lambda answer: Rows(answer.nodes, Node),
        )

    @method
    def safe_mode(self) -> Call[bool]:
        """Whether nothing is admitted and granted."""
        return taken(self._call(routes.SHOW_SAFE_MODE), lambda answer: answer.safe_mode)

    @method
    def set_safe_mode(self, on: bool) -> Call[bool]:
        """Admit and grant nothing any more, or again."""
        return taken(self._call(routes.SET_SAFE_MODE, on=on), lambda answer: answer.safe_mode)

    @method
    def properties(self) -> Call[Properties]:
        """The scheduler's properties. Raises Refused where only a file can change them."""
        return _properties(self._call(routes.SHOW_PROPERTIES))

    @method
    def change_configuration(
        self, update: Mapping[str, object], *, check: bool = False
    ) -> Call[Properties]:
        """Change properties by a document as Hadoop's `scheduler-conf` takes it; with `check` only
        see what would come of it. Raises Refused with all that is wrong: nothing has changed then.
        """
        change = self._call(routes.CHANGE_PROPERTIES, update=dict(update), check=check)
        return _properties(change)

    @method
    def format_configuration(self) -> Call[Properties]:
        """Forget all changes: the file holds again."""
        return _properties(self._call(routes.FORMAT_PROPERTIES))

    @method
    def queues(self) -> Call[Rows[Queue]]:
        """All queues, the root first."""
        return taken(
            self._call(routes.LIST_QUEUES), lambda answer: Rows(answer.queues, Queue, answer.total)
        )

    @method
    def nodes(self) -> Call[Rows[Node]]:
        """All nodes."""
        return taken(self._call(routes.LIST_NODES), lambda answer: Rows(answer.nodes, Node))

    @method
    def applications(
        self,
        *,
        state: str | None = None,
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        limit: int | None = None,
    ) -> Call[Rows[Application]]:
        """The applications of that state, user and queue with that tag, the newest first."""
        call = self._call(
            routes.LIST_APPLICATIONS, state=state, user=user, queue=queue, tag=tag, limit=limit
        )
        understand = Decoded(Applications, lambda answer: Rows(answer.applications, Application))
        return Call(call.path, understand, parameters=call.parameters)

    @method
    def application(self, application: str | int) -> Call[Application]:
        """One application with its groups, its live containers and its diagnostics."""
        return self._call(routes.SHOW_APPLICATION, application)

    @method
    def reasons(self, application: str | int, *, at_ms: int | None = None) -> Call[Rows[Reason]]:
        """Why an application waits, the weightiest reason first; none if it waits for nothing. Or
        why it waited at an instant of the past (ms since 1970) that the journal has."""
        return taken(
            self._call(routes.LIST_REASONS, application, at=at_ms),
            lambda answer: Rows(answer.reasons, Reason),
        )

    @method
    def prove(self, application: str | int, *, within_s: float = 25.0) -> Call[Proved]:
        """What would start an application that waits, each remedy carried out in a simulation from
        the present on; and when it starts if nothing is done. Refused if that takes longer than
        `within_s`."""
        within_ms = round(1_000 * within_s)
        return self._call(routes.PROVE_REMEDIES, application, within_ms=within_ms)

    @method
    def eta(self, application: str | int, *, within_s: float = 25.0) -> Call[Eta]:
        """When an application starts and ends; without an estimate the reason for that. Refused if
        that takes longer than `within_s`."""
        within_ms = round(1_000 * within_s)
        return self._call(routes.ESTIMATE_APPLICATION, application, within_ms=within_ms)

    @method
    def owed(self, queue: str) -> Call[Owed]:
        """What a queue is owed, why, since when, and which queues have more than their share."""
        return self._call(routes.EXPLAIN_QUEUE, queue)

    @method
    def tasks(self, application: str | int) -> Call[Rows[Task]]:
        """Every task of an application."""
        return taken(
            self._call(routes.LIST_TASKS, application), lambda answer: Rows(answer.tasks, Task)
        )

    @method
    def containers(self, application: str | int) -> Call[Rows[Container]]:
        """Every container of an application, alive or over."""
        return taken(
            self._call(routes.LIST_CONTAINERS, application),
            lambda answer: Rows(answer.containers, Container),
        )

    @method
    def changes(self, since: int = 0, timeout_s: int = 0) -> Call[int]:
        """The version of the cluster's state: when it is not `since`, or after the timeout."""
        call = self._call(routes.WAIT_FOR_CHANGE, since=since, timeout=timeout_s)
        return msgspec.structs.replace(taken(call, lambda answer: answer.version), wait_s=timeout_s)

    @method
    def upload(self, call: bytes) -> Call[str]:
        """Upload a pickled call that is too large for a submission; the digest by which a command
        names it as its `payload`, within ten minutes."""
        import hashlib  # it loads OpenSSL, which only an upload needs

        digest = hashlib.sha256(call).hexdigest()
        upload = taken(self._call(routes.UPLOAD_PAYLOAD, digest), lambda answer: answer.digest)
        wait_s = len(call) / SLOWEST_UPLOAD
        return msgspec.structs.replace(upload, content=call, wait_s=wait_s)

    @method
    def submit_whole(self, submission: Submission) -> Call[str]:
        """Submit an application in one request; its id. `submit` also uploads what is too large."""
        route = routes.SUBMIT_APPLICATION
        if submission.user is None:
            submission = msgspec.structs.replace(submission, user=self._server.user())
        return Call(route.path, Decoded(route.answer, lambda answer: answer.id), submission)

    @method
    def estimate(self, submission: Submission) -> Call[Eta]:
        """When an application would start and end if it were submitted now; nothing is."""
        route = routes.ESTIMATE_SUBMISSION
        if submission.user is None:
            submission = msgspec.structs.replace(submission, user=self._server.user())
        return Call(route.path, whole(route.answer), submission)

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
        part = None if task is None else str(task)
        call = self._call(routes.KILL_APPLICATION, application, diagnostics=diagnostics, task=part)
        return _done(call)

    @method
    def resubmit(self, application: str | int, *, failed: bool = False) -> Call[str]:
        """Submit an ended application again, with `failed` only its tasks that did not succeed;
        the id of the new one."""
        call = self._call(routes.RESUBMIT_APPLICATION, application, failed=failed)
        return taken(call, lambda answer: answer.id)

    @method
    def hold(self, application: str | int) -> Call[None]:
        """Let an application start nothing more until it is released."""
        return _done(self._call(routes.HOLD_APPLICATION, application))

    @method
    def release(self, application: str | int) -> Call[None]:
        """Let a held application go on."""
        return _done(self._call(routes.HOLD_APPLICATION, application, held=False))

    @method
    def requeue(self, application: str | int) -> Call[None]:
        """End all that runs of an application, and let it begin again."""
        return _done(self._call(routes.REQUEUE_APPLICATION, application))

    @method
    def move(self, application: str | int, queue: str) -> Call[None]:
        """Put an application into another queue; its containers go on."""
        return _done(self._call(routes.MOVE_APPLICATION, application, queue=queue))

    @method
    def set_priority(self, application: str | int, priority: int) -> Call[None]:
        """Change an application's priority."""
        return _done(self._call(routes.CHANGE_PRIORITY, application, priority=priority))

    @method
    def update(
        self,
        application: str | int,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        priority: int | None = None,
        after: Sequence[Dependency] | None = None,
        begin_ms: int | None = None,
        group: str | None = None,
        time_limit_ms: int | None = None,
        resources: Mapping[str, int] = EMPTY,
        at_once: int | None = None,
    ) -> Call[ApplicationRow]:
        """Change an application that has not ended, and return it as it is then; all changes or
        none. What is None stays, and a limit of 0 is none.

        `time_limit_ms`, `resources` (of what waits; other types stay) and `at_once` are for its
        groups of tasks, or for `group`; `after` and `begin_ms` before its start.
        """
        return self._call(
            routes.UPDATE_APPLICATION,
            application,
            name=name,
            tags=None if tags is None else tuple(tags),
            priority=priority,
            after=None if after is None else tuple(after),
            begin_ms=begin_ms,
            group=group,
            time_limit_ms=time_limit_ms,
            resources=dict(resources),
            at_once=at_once,
        )

    @method
    def stop_container(self, container: str) -> Call[None]:
        """End one container as if it had failed: its task runs again."""
        return _done(self._call(routes.STOP_CONTAINER, container))

    @method
    def shutdown(self, *, stop_containers: bool | None = None) -> Call[Stopping]:
        """End the server. Containers that live on are found again by the next server of its state.

        With None they live on, unless the server was started with --stop-containers. The answer
        says which, and how much was running.
        """
        return self._call(routes.SHUT_DOWN, stop_containers=stop_containers)

    @method
    def result(self, container: str) -> Call[Any]:
        """What the Python callable returned that a container ran; raises NotPicklable."""

        def unpickled(reply: Reply) -> Any:
            return callables.unpickled(reply.content, container)

        path = path_of(routes.READ_RESULT, container)
        return Call(path, unpickled, whole=True, unpickled=True)

    @method
    def history(
        self,
        *,
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        state: str | None = None,
        application: str | int | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int | None = None,
    ) -> Call[PastApplications]:
        """Applications that ended, the last one first; also those that the server has forgotten.

        Instants are in milliseconds since 1970; `since_ms` is included, `until_ms` is not. A queue
        includes all below it.
        """
        return self._call(
            routes.LIST_HISTORY,
            user=user,
            queue=queue,
            tag=tag,
            name=name,
            state=state,
            application=application,
            since=since_ms,
            until=until_ms,
            limit=limit,
        )

    @method
    def past_containers(
        self,
        *,
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        state: str | None = None,
        application: str | int | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
        limit: int | None = None,
    ) -> Call[PastContainers]:
        """Containers that ended, the last one first."""
        return self._call(
            routes.LIST_PAST_CONTAINERS,
            user=user,
            queue=queue,
            tag=tag,
            name=name,
            state=state,
            application=application,
            since=since_ms,
            until=until_ms,
            limit=limit,
        )

    @method
    def report(
        self,
        *,
        by: Sequence[str] = ("user",),
        user: str | None = None,
        queue: str | None = None,
        tag: str | None = None,
        name: str | None = None,
        state: str | None = None,
        application: str | int | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
    ) -> Call[Report]:
        """What ended containers used, summed by user, queue, tag, name, state, node, month or
        day."""
        return self._call(
            routes.SHOW_REPORT,
            by=_listed(by),
            user=user,
            queue=queue,
            tag=tag,
            name=name,
            state=state,
            application=application,
            since=since_ms,
            until=until_ms,
        )

    @method
    def ledger(
        self,
        *,
        by: Sequence[str] = ("queue",),
        queue: str | None = None,
        user: str | None = None,
        since_ms: int | None = None,
        until_ms: int | None = None,
    ) -> Call[Ledger]:
        """What queues were entitled to, got, lent, borrowed and were owed by which cause, in hours
        that begin in a period; by hour, queue, user or label. [default: the last 7 days]"""
        return self._call(
            routes.SHOW_LEDGER,
            by=_listed(by),
            queue=queue,
            user=user,
            since=since_ms,
            until=until_ms,
        )

    @method
    def cron_jobs(self) -> Call[Rows[CronJob]]:
        """The caller's cron jobs; of administrators, and without authentication, all."""
        return taken(self._call(routes.LIST_CRON_JOBS), lambda answer: Rows(answer.jobs, CronJob))

    @method
    def add_cron_job(
        self,
        name: str,
        schedule: str,
        submission: Submission,
        *,
        time_zone: str = "",
        overlap: Overlap = "skip",
        replace: bool = False,
    ) -> Call[CronJob]:
        """Submit an application at the times of a cron line, such as `30 2 * * mon-fri`, in the
        server's time zone or another one."""
        return self._call(
            routes.ADD_CRON_JOB,
            user=submission.user or self._server.user(),
            name=name,
            schedule=schedule,
            time_zone=time_zone,
            overlap=overlap,
            submission=submission,
            replace=replace,
        )

    @method
    def cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """A cron job with its last runs."""
        return self._call(routes.SHOW_CRON_JOB, self._owner(user), name)

    @method
    def pause_cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """Let a cron job not be submitted until it is resumed."""
        return self._call(routes.PAUSE_CRON_JOB, self._owner(user), name)

    @method
    def resume_cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """Let a cron job be submitted again, from its next time on."""
        return self._call(routes.RESUME_CRON_JOB, self._owner(user), name)

    @method
    def delete_cron_job(self, name: str, *, user: str | None = None) -> Call[CronJob]:
        """Forget a cron job with its history; its applications go on."""
        return self._call(routes.DELETE_CRON_JOB, self._owner(user), name)

    @method
    def bookings(self) -> Call[Bookings]:
        """What is promised to queues, and to users there, from now on."""
        return self._call(routes.LIST_BOOKINGS)

    @method
    def make_booking(
        self,
        name: str,
        queue: str,
        resources: Mapping[str, int],
        spans: Sequence[tuple[int, int]],
        *,
        holder: str | None = None,
        replace: bool = False,
    ) -> Call[Booking]:
        """Promise resources to a queue and all below it, or to one user in a leaf queue, for some
        times: each from an instant (0: now) until another one, in milliseconds."""
        return self._call(
            routes.MAKE_BOOKING,
            user=self._server.user(),
            name=name,
            queue=queue,
            holder=holder,
            resources=dict(resources),
            spans=tuple(BookedSpan(*span) for span in spans),
            replace=replace,
        )

    @method
    def cancel_booking(self, name: str) -> Call[Booking]:
        """Keep nothing for a booking any more; returns it as it was."""
        return self._call(routes.CANCEL_BOOKING, name, user=self._server.user())

    def _owner(self, user: str | None) -> str:
        return user or self._server.user() or "~"


class Calls(CallTable, Returned):
    """The calls to one server as data, for conversations."""

    def __init__(self, server: Server) -> None:
        self._server = server


def last_failed(containers: Iterable[Container]) -> Container | None:
    """The container that failed last."""
    failed = [one for one in containers if one.failed]
    return max(failed, key=lambda one: one.finished_ms or 0, default=None)


def taken(call: Call[Answer], take: Callable[[Answer], Result]) -> Call[Result]:
    """The same call, whose result is taken from its answer."""
    understand = call.understand
    return Call(call.path, lambda answer: take(understand(answer)), call.body, call.parameters)


def _listed(names: Sequence[str]) -> str:
    """One name may be given without a list around it.

    >>> _listed("user"), _listed(("queue", "user"))
    ('user', 'queue,user')
    """
    return names if isinstance(names, str) else ",".join(names)


def _labels(answer: Labels) -> list[Label]:
    return answer.labels


def _properties(call: Call[Any]) -> Call[Properties]:
    """The client has one class for the three answers about properties."""
    return Call(call.path, whole(Properties), call.body)


def _done(call: Call[Any]) -> Call[None]:
    """Nothing is said but that it is done."""
    return Call(call.path, lambda _: None, call.body)

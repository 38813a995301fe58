"""A whole server except its web pages: state directory, journal, engine, runtime, service.

Assembles them at the start, reconciles the state with the engine, and closes them at the end.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from fairshare.api.nodes import Gpu
from fairshare.core.model.applications import Application
from fairshare.core.model.events import ExitCode, RequestRefused
from fairshare.core.model.identifiers import (
    ApplicationId,
    ContainerId,
    application_name,
    application_of,
    container_name,
    parse_container,
)
from fairshare.core.model.inputs import ContainerExited, LoadConfiguration
from fairshare.core.model.nodes import Node
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.engines.protocol import ContainerFiles
from fairshare.errors import ConfigurationError, EngineError, InputError
from fairshare.runtime.clock import Clock, WallClock
from fairshare.runtime.collection import collect_rarely
from fairshare.runtime.journal.sqlite import SqliteJournal
from fairshare.runtime.observers import Observers
from fairshare.runtime.projections.application_versions import UnrecordedChanges
from fairshare.runtime.projections.projections import MANAGER, MEMORY
from fairshare.runtime.recovery import Position
from fairshare.runtime.runtime import Runtime
from fairshare.runtime.shared import shared_of
from fairshare.server import journal_epochs
from fairshare.server.access.audit import AuditLog
from fairshare.server.access.authentication import Authentication
from fairshare.server.access.submitted_bytes import ActiveCounts
from fairshare.server.access.tokens import DriverTokens, Identity, UserTokens
from fairshare.server.accounting.accounting import Accounting
from fairshare.server.configuration import LiveConfiguration
from fairshare.server.configuration_editor import ConfigurationEditor
from fairshare.server.cron.cron import Cron
from fairshare.server.disk import Disk
from fairshare.server.engines import EngineMaker, command_aside, local_engine
from fairshare.server.event_feed import EventFeed
from fairshare.server.event_log import EventLog, close_log, open_log
from fairshare.server.follower import Follower
from fairshare.server.full_collections import watch_collections
from fairshare.server.gpus import GpuCollector, gpus_of, watch_gpus
from fairshare.server.journal_epochs import GivenNumbers, is_new, launches
from fairshare.server.log_aggregation import LogAggregation
from fairshare.server.metrics import MeasuredJournal, Metrics, StateMetrics
from fairshare.server.notices.delivery import COMMANDS_REFUSED, Delivery
from fairshare.server.notices.notices import Notices
from fairshare.server.packages import Packages
from fairshare.server.past_views import PastViews
from fairshare.server.past_views import watch as watch_past_views
from fairshare.server.payloads import Payloads, Uploads
from fairshare.server.recovered import Recovered, restore
from fairshare.server.refused_requests import RefusedRequests
from fairshare.server.retention import Retention
from fairshare.server.rows import ApplicationRows, NodeRows
from fairshare.server.service import Service, log_undecided
from fairshare.server.settings import LiveSettings
from fairshare.server.shared.tables import LeadershipLost
from fairshare.server.shared.takeover import refuse_unshared
from fairshare.server.state_directory import open_state_directory
from fairshare.server.stored_configuration import FILE as KEPT_FILE
from fairshare.server.supervision import Supervisor, watch_journal
from fairshare.server.users.groups import user_groups
from fairshare.settings.engines import runs_here
from fairshare.this_machine import full_disk
from fairshare.wording import STOPPED

PRUNE_PAUSE_S, LONGEST_PRUNE_PAUSE_S = 60.0, 3600.0
"""Before the files of an application that could not be deleted are tried again."""

_log = logging.getLogger("fairshare.server")

RpcActivity = tuple[int, str, Mapping[str, float]]
"""The number of a port, the name of its protocol's service, and its metrics by Hadoop's names."""


_DELEGATED = "systemd-run --user --scope -p Delegate=yes"


class LiveServer:
    """One server of one state directory, which it locks until `close`.

    Made, started and closed in one event loop. Raises FairshareError with what to do when the
    directory is in use, belongs to another scheduler, or cannot be written.
    """

    rpc_activity: Callable[[], Iterable[RpcActivity]] = tuple
    """What the ports of Hadoop's RPC have done, where there are any."""

    def __init__(self, settings: LiveSettings, make_engine: EngineMaker = local_engine) -> None:
        collect_rarely()
        self.settings = settings
        self.scheduler_name = settings.scheduler
        self.engine_name = settings.engine
        self.stop_containers = settings.stop_containers
        self.stop_requested = asyncio.Event()
        self.url = ""
        self.started = False
        self.left_running = (0, 0)
        self.open_streams = 0
        self.observers = Observers()
        """The observers of committed records, in the event loop. To be added before `start`."""
        self.metrics = Metrics()
        self.unrecorded_changes = UnrecordedChanges()
        self.log_aggregation = LogAggregation(self.unrecorded_changes)
        self.refused_requests = RefusedRequests(self.unrecorded_changes)
        self.groups = user_groups(settings.configuration)
        self.background = Supervisor()
        self.directory = open_state_directory(settings.state_directory)
        shared = shared_of(self.directory.path)
        self._shared = None if shared is None else shared.state
        if shared is None:
            refuse_unshared(self.directory.path)
        with contextlib.ExitStack() as opened:
            self.journal = SqliteJournal(self.directory.path)
            opened.callback(self.journal.close)
            handlers = open_log(self.directory.log, settings.log_format)
            opened.callback(close_log, handlers)
            self.audit = AuditLog(self.directory.path)
            opened.callback(self.audit.close)
            clock = WallClock()
            self.started_ms = clock.now_ms()
            owner = (settings.scheduler, settings.types, self.started_ms)
            new = is_new(self.journal)
            self._identity = self.directory.claim(*owner, journal_is_new=new)
            self.tokens = DriverTokens(self.directory.secret())
            limits = settings.limits
            self.disk = Disk(self.directory.path, limits.free_mb, least_inodes=limits.free_inodes)
            self.engine = make_engine(settings, self.directory.path)
            self.authentication = Authentication(
                settings.authentication,
                UserTokens(self.directory.path),
                self.tokens,
                lambda: self.service.state,
                clock.now_ms,
            )
            self._runtime = self._recovered_runtime()
            self._numbers = GivenNumbers(self.directory.path, self._shared)
            opened.callback(self._numbers.close, in_order=False)
            state = self._runtime.manager.state
            self._identity = self.directory.change_epoch(self._identity, state.epoch_ms)
            applications = state.applications.values()
            self.active_counts = ActiveCounts(applications)
            self.payloads = Payloads(
                self.directory.path,
                applications,
                lambda: self.disk.problem,
                self.engine.forget_payload,
            )
            self.payloads.clean()
            self.uploads = Uploads(self.payloads, self.active_counts.submitted_bytes)
            self.service = Service(self._runtime, self._clock(), self.projections.history)
            self.configuration = LiveConfiguration(
                settings.configuration,
                self.projections.loaded,
                self.service,
                epoch_ms=self._identity.epoch_ms,
                loaded_ms=settings.read_ms or self.started_ms,
                kept=self.directory.path / KEPT_FILE,
            )
            self.editor = ConfigurationEditor(self.configuration, self.directory.path, state)
            self.retention = Retention(
                settings.retention,
                self.journal,
                self.service,
                self.projections,
                self._parts,
                self._since,
            )
            self.accounting = Accounting(
                self.directory.path,
                settings.accounting,
                state,
                self.projections,
                self.service.now_ms,
            )
            self.notices = self._notices()
            self.cron = Cron(self.directory.path, state, self.service.now_ms)
            self.past_views = PastViews(self.started_ms)
            self.follower = Follower(
                self.directory.path, lambda: self.service.position, self.service.now_ms
            )
            versions = self.projections.application_versions
            self.application_rows = ApplicationRows(self.service, versions)
            self.node_rows = NodeRows(state)
            self.event_feed = EventFeed(state, self.directory.path, self.service.version)
            self._connect()
            self._subscribe()
            self._opened = opened.pop_all()

    def _notices(self) -> Notices:
        settings = self.settings
        delivery = Delivery(
            settings.notify,
            as_users=settings.run_as == "user",
            aside=partial(command_aside, self.engine, self.directory.path / "zygote.log"),
            commands_refused="" if runs_here(settings.engine) else COMMANDS_REFUSED,
            url=lambda: self.url,
        )
        service = self.service
        return Notices(self.directory.path, service.state, delivery, service.now_ms)

    def _connect(self) -> None:
        """Connect the callbacks of the parts."""
        self.state_metrics = StateMetrics(self.service, self.directory.path)
        self.metrics.registry.register(GpuCollector(self.engine, self._gpu_holders))
        self.metrics.show_streams(lambda: self.open_streams)
        self.service.on_turn = self.metrics.turn
        self.service.admission_problem = self._admission_problem
        self.service.room_problem = lambda: (
            self.database_problem or self.disk.problem or full_disk(self.directory.path)
        )
        if self._shared is not None:
            self._shared.on_lost = self.service.fail_soon
        self.service.before_turn = self.disk.look_soon
        self.disk.on_change = self.service.pause
        self.retention.may_write = lambda: self._admission_problem() is None
        self.retention.on_snapshot = self.metrics.snapshot_taken

    def _subscribe(self) -> None:
        """Let the parts follow the records. The projections come first: others look at them."""
        manager, observers = self._runtime.manager, self.observers
        self._numbers.subscribe(observers, manager.state)
        self.projections.subscribe(observers, manager.scheduler)
        self.active_counts.subscribe(observers)
        self.payloads.subscribe(observers)
        self.accounting.subscribe(observers)
        self.notices.subscribe(observers)
        self.cron.subscribe(observers)
        self.metrics.subscribe(observers)
        self._event_log.subscribe(observers)
        self.retention.subscribe(observers)
        self.refused_requests.subscribe(observers)
        self.unrecorded_changes.subscribe(observers)
        observers.commits(self.event_feed.observe)
        observers.commits(self._prune_forgotten)

    def _prune_forgotten(self, records: Sequence[Record]) -> None:
        for application in self.projections.history.take_forgotten():
            self._prune(application)

    def _restored(self) -> tuple[Position, dict[str, Any]]:
        """The position of the snapshot to begin with, and what it has; a server of the past begins
        at its moment (`lab/branch/past_server.py`)."""
        return restore(self.journal)

    def _clock(self) -> Clock:
        return WallClock(self._runtime.position.now_ms)

    def _recovered_runtime(self) -> Runtime:
        kind = (self.settings.scheduler, self.settings.types)
        warm: Recovered | None = None if self._shared is None else self._shared.take_warm()
        recovered = warm or Recovered(*kind, *self._restored())
        manager, self.projections = recovered.manager, recovered.projections
        self._since = since = recovered.position
        if warm is not None:
            self._since = Position(max(self.journal.snapshots(), default=0))
        self._event_log = EventLog(manager.state, self.settings.log_format)
        runtime = Runtime(
            manager,
            MeasuredJournal(self.journal, self.metrics),
            self.engine,
            committed=self.observers.observe,
            extra_environment=self._environment,
            beat_interval_ms=self.settings.heartbeat_interval_ms,
            unused_expiry_ms=self.settings.container_expiry_ms,
            on_undecided=log_undecided,
        )
        position = runtime.recover(recovered.observed(self.journal), since)
        if position.sequence:
            what = "the snapshot" if warm is None else "what this standby had read"
            found = (position.sequence, what, since.sequence)
            _log.info("recovered up to record %d, from %s behind %d", *found)
        return runtime

    def _parts(self) -> dict[str, object]:
        """The content of a snapshot, with which `_recovered_runtime` begins."""
        memory = self._runtime.memory()
        known = {} if memory is None else {MEMORY: memory}
        return {MANAGER: self._runtime.manager, **self.projections.parts(), **known}

    # While it runs.

    @property
    def database_problem(self) -> str:
        """Why the database of a shared state records nothing now; empty: it does, or there is
        none."""
        return "" if self._shared is None else self._shared.problem

    def _admission_problem(self) -> InputError | None:
        """Why no new work is taken and nothing is launched, if that is so."""
        if self.disk.problem:
            return InputError("disk-full", self.disk.problem)
        return InputError("no-database", self.database_problem) if self.database_problem else None

    @property
    def database_check(self) -> dict[str, str]:
        """What `/readyz` says of that database; nothing if there is none."""
        if self._shared is None:
            return {}
        return {"database": "does not answer: nothing is decided" if self._shared.problem else "ok"}

    def request_stop(self, stop_containers: bool | None = None) -> None:
        """Ask the owner of the server to stop it; None: the settings decide about the
        containers."""
        if stop_containers is not None:
            self.stop_containers = stop_containers
        self.stop_requested.set()

    def running_work(self) -> tuple[int, int]:
        """The number of applications with containers that run something, and the number of these
        containers."""
        live = self._live()
        return len({application_of(one) for one in live}), len(live)

    def container_files(self, container: ContainerId) -> ContainerFiles | None:
        """The logs and the result of a container, if it has any; None: they are on its node."""
        return self.engine.files(*self.container_names(container))

    def _exit_of(self, container: ContainerId) -> ContainerExited | None:
        return self.engine.exit_of(container, *self.container_names(container))

    def container_names(self, container: ContainerId) -> tuple[str, str]:
        """The names of its application and of the container itself."""
        epoch_ms = self._identity.epoch_ms
        application = application_name(epoch_ms, application_of(container))
        return application, container_name(epoch_ms, container)

    @cached_property
    def _urls(self) -> str:
        return ",".join(dict.fromkeys((self.url, *self.settings.state.servers)))

    @cached_property
    def _variables(self) -> dict[str, str]:
        """What each container's environment has of the server, which has started: the Unix socket
        where containers need a proof of who they are."""
        settings = self.settings
        as_users = settings.run_as == "user" and runs_here(settings.engine)
        through_socket = settings.authentication.socket and as_users
        variables = {
            "FAIRSHARE_URL": f"unix:{settings.socket}" if through_socket else self._urls,
            "FAIRSHARE_STATE": str(self.directory.path),
        }
        if os.geteuid():  # containers of Ray may run under another account
            variables["FAIRSHARE_SERVER_ACCOUNT"] = str(os.geteuid())
        return variables

    def _environment(self, application: Application, master: bool) -> dict[str, str]:
        """The variables about the server in a container's environment; only the driver gets a
        token."""
        if not master or application.submission.driver is None:
            return self._variables
        token = self.tokens.issue(application.id, application.attempt.number)
        return {**self._variables, "FAIRSHARE_URL": self._urls, "FAIRSHARE_TOKEN": token}

    def _prune(self, application: ApplicationId, pause_s: float | None = None) -> None:
        """The containers of this application can no longer be looked up: delete their files too.
        What cannot be deleted now is tried again after `pause_s`, which grows."""
        known = self.service.state.applications.get(application)
        if known is not None and not known.over:
            return
        name, loop = (
            application_name(self._identity.epoch_ms, application),
            asyncio.get_running_loop(),
        )

        def delete() -> None:
            try:
                self.engine.prune(name)
            except (EngineError, OSError) as error:
                if pause_s is None:
                    _log.warning("the files of %s stay, and are tried again later: %s", name, error)
                next_s = min(2 * pause_s, LONGEST_PRUNE_PAUSE_S) if pause_s else PRUNE_PAUSE_S
                with contextlib.suppress(RuntimeError):  # the server has ended
                    loop.call_soon_threadsafe(
                        loop.call_later, next_s, self._prune, application, next_s
                    )

        loop.run_in_executor(None, delete)

    def _gpu_holders(self) -> Iterator[tuple[str, str, str]]:
        """The node and the name of each GPU that a container has, and the user."""
        state = self.service.state
        for node in state.nodes.values():
            for gpu in self.gpus_of(node) if node.containers else ():
                number = parse_container(gpu.container) if gpu.container else None
                if number is not None:
                    application = state.applications[application_of(number)]
                    yield node.name, gpu.name, application.user

    def gpus_of(self, node: Node) -> tuple[Gpu, ...]:
        """The GPUs of a node, how much they are used, and which containers have them."""
        return gpus_of(node, self.engine, self.projections.history, self._identity.epoch_ms)

    @cached_property
    def packages(self) -> Packages:
        """What users have uploaded for Ray jobs."""
        return Packages(self.directory.path)

    @property
    def epoch_ms(self) -> int:
        """The cluster's identity in the names of applications and containers."""
        return self._identity.epoch_ms

    @property
    def controls_access(self) -> bool:
        """Whether yarn.acl.enable is true, and so the groups of a caller matter."""
        configuration = self.settings.configuration
        return configuration is not None and configuration.acl_enabled

    def may_open(self, identity: Identity, groups: Sequence[str], application: Application) -> bool:
        """Whether an authenticated user may view an application and change it."""
        if identity.administrator or identity.user == application.user:
            return True
        if identity.application is not None or not self.controls_access:
            return False
        return self.may_administer(application.queue, identity.user, groups)

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler, read-only; only the writer changes it."""
        return self._runtime.manager.scheduler

    def may_administer(self, queue: str, user: str, groups: Sequence[str]) -> bool:
        """Whether a user administers a queue; an empty one is the cluster as a whole."""
        return self._runtime.manager.scheduler.may_administer(queue, user, groups)

    # The start.

    async def start(self, url: str) -> None:
        """Adopt running containers, register nodes, and begin to schedule. Drivers get `url`.

        Raises ConfigurationError if the scheduler refuses its settings, EngineError if the engine
        cannot work.
        """
        self.url = url
        self.journal.announce(url)
        if self._shared is not None:
            self._shared.announce(url)
        state = self.service.state
        known = launches(state, self.projections.history, state.next_application)
        place = (self._identity.epoch_ms, self.directory.containers)
        self.service.record(self._numbers.begin(state, self.service.position, *place))
        if self._shared is not None:
            self._shared.confirm()
        self._load_configuration()
        if self.engine.nodes_register:
            journal_epochs.await_nodes(self.engine, self.service)
        else:
            await journal_epochs.adopt(self.engine, self.service, known, self._live, self._exit_of)
        self._warn_of_limits()
        self.directory.publish_url(url, self.settings.socket)
        self.service.start()
        self._start_background()
        self.started = True
        _log.info("listening on %s", url)

    def _start_background(self) -> None:
        start, service = self.background.start, self.service
        start("configuration", self.configuration.watch)
        start("disk", self.disk.watch)
        start("gpus", lambda: watch_gpus(self.engine, service))
        start("retention", self.retention.watch)
        start("accounting", self.accounting.watch)
        start("notices", self.notices.watch)
        start("cron", self.cron.watch)
        start("lag", self.metrics.watch)
        rows = self.application_rows, self.node_rows
        start("past views", lambda: watch_past_views(service, self.past_views, *rows))
        start("journal", lambda: watch_journal(self.journal, service))
        start("collections", watch_collections)
        start("follower", self.follower.keep)

    def _load_configuration(self) -> None:
        """Feed the settings, unless the journal says that they are in force already."""
        if self.projections.loaded.settings == self.settings.scheduler_settings:
            return
        load = LoadConfiguration(self.settings.scheduler_settings, self._identity.epoch_ms)
        for event in self.service.record([load]):
            if isinstance(event, RequestRefused):
                raise ConfigurationError(
                    [f"the {self.scheduler_name} scheduler refuses its settings: {event.reason}"]
                )

    def _live(self) -> list[ContainerId]:
        """All live containers that were launched, or started by their masters."""
        state = self.service.state
        applications = state.applications.values()
        launched = (
            container for application in applications for container in application.attempt.launched
        )
        return list(dict.fromkeys((*launched, *state.running)))

    def _warn_of_limits(self) -> None:
        """Log the settings that this machine cannot enforce."""
        attributes = next((offer.attributes for offer in self.engine.nodes()), {})
        note = attributes.get("limits-note")
        because = f" ({note})" if note else ""
        if note and attributes.get("run-as") != "root":
            because += f"; for control groups start it as: {_DELEGATED} fairshare serve"
        if attributes.get("memory-limit") == "off":
            _log.warning("memory is counted, but no container is held to what it was granted")
        if attributes.get("cpu-limit") == "nice":
            _log.warning("CPU is not divided by vcores: containers only have priorities%s", because)

    # The end.

    async def end(self) -> None:
        """Stop feeding, and stop or leave the containers as `stop_containers` says.

        After a failure they are left: the next server adopts them. But where another host's server
        leads now, it has given up those of this machine, and may run their tasks again: they are
        stopped. Raises EngineError if a process cannot be stopped. The views stay readable.
        Idempotent.
        """
        await self.background.stop()
        await self.follower.close()
        await self.service.stop()
        well = self.started and self.service.failure is None
        self.started = False
        if well and self.stop_containers:
            # Recorded first, and not as the containers' own failure: their tasks will wait again.
            how = (ExitCode.ABORTED, STOPPED)
            self.service.record([ContainerExited(one, *how) for one in self._live()])
        self.left_running = self.running_work()
        self.uploads.close()
        await self.accounting.close()
        await self.notices.close()
        await self.cron.close()
        given_up = isinstance(self.service.failure, LeadershipLost) and runs_here(self.engine_name)
        stop = given_up or (well and self.stop_containers)
        await asyncio.to_thread(self.engine.close, stop_containers=stop)
        if well and not any(self.left_running):  # else clients wait for the next server
            self.directory.withdraw_url()
            self.retention.save_at_the_end()
        self.journal.close()
        self._numbers.close(in_order=well)

    async def close(self) -> None:
        """`end`, and close everything, whatever the result."""
        try:
            await self.end()
            _log.info("stopped")
        finally:
            self._opened.close()

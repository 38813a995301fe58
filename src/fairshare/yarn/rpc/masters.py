"""ApplicationMasterProtocol: masters register, ask for containers, and finish.

What a master asks becomes inputs of one commit; its answer has what the records brought since the
last one. A call that changes nothing is answered at once. Source: Hadoop 3.4.1,
ApplicationMasterService, DefaultAMSProcessor.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

from fairshare.core.model.applications import Application
from fairshare.core.model.events import ContainerCompleted, Event
from fairshare.core.model.identifiers import ContainerId, application_name, attempt_name
from fairshare.core.model.inputs import (
    ContainerExited,
    Input,
    MasterRegistered,
    ReleaseContainers,
    RequestContainers,
    UnregisterMaster,
)
from fairshare.core.schedulers.protocol import State
from fairshare.errors import InputError
from fairshare.server.server import LiveServer
from fairshare.settings.registry import family_of
from fairshare.yarn.rest.diagnostics import with_refusal
from fairshare.yarn.rest.submission import LATER
from fairshare.yarn.rpc import allocation, records
from fairshare.yarn.rpc.allocation import Grants
from fairshare.yarn.rpc.attempt_deliveries import AttemptDeliveries, Deliveries
from fairshare.yarn.rpc.configuration import MasterSettings
from fairshare.yarn.rpc.container_reports import shortened
from fairshare.yarn.rpc.keys import Kind, MasterKeys, TokenSigner
from fairshare.yarn.rpc.records import resource_message, type_messages
from fairshare.yarn.rpc.tracker import Tracker
from fairshare.yarn.rpc.wire.calls import (
    ATTEMPT_NOT_FOUND,
    INVALID_LABEL_REQUEST,
    INVALID_MASTER_REQUEST,
    INVALID_RESOURCE_REQUEST,
    MASTER_NOT_REGISTERED,
    NOT_ACTIVE,
    YARN,
    CallContext,
    Handler,
    RpcError,
)
from fairshare.yarn.rpc.wire.messages import (
    AllocateRequestProto,
    AllocateResponseProto,
    AMRMTokenIdentifierProto,
    ApplicationAccessTypeProto,
    FinalApplicationStatusProto,
    FinishApplicationMasterRequestProto,
    FinishApplicationMasterResponseProto,
    RegisterApplicationMasterRequestProto,
    RegisterApplicationMasterResponseProto,
    SchedulerResourceTypes,
)
from fairshare.yarn.views.interface import YarnInterface

PROTOCOL = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB"

TICK_S = 1.0
PAUSE_MS = 10_000
"""A longer time between two checks was a pause of this server: masters could not be heard."""

NO_EXIT = -1000
"""Hadoop's exit code of a container of which none is known."""

_MOST_ADDRESS = 2_048
_SUCCEEDED = FinalApplicationStatusProto.Value("APP_SUCCEEDED")
_MEMORY = SchedulerResourceTypes.Value("MEMORY")
_VCORES = SchedulerResourceTypes.Value("CPU")
_VIEW = ApplicationAccessTypeProto.Value("APPACCESS_VIEW_APP")
_MODIFY = ApplicationAccessTypeProto.Value("APPACCESS_MODIFY_APP")
_CLASSES = {
    "invalid-resource-request": INVALID_RESOURCE_REQUEST,
    "zero-resource-queue": INVALID_RESOURCE_REQUEST,
    "too-many-containers": INVALID_RESOURCE_REQUEST,
    "invalid-label": INVALID_LABEL_REQUEST,
    "labels-disabled": INVALID_LABEL_REQUEST,
    "not-running": ATTEMPT_NOT_FOUND,
    "application-over": ATTEMPT_NOT_FOUND,
    **dict.fromkeys(LATER, NOT_ACTIVE),
}

_log = logging.getLogger("fairshare.yarn.rpc")

Results = Sequence[tuple[Event, ...] | InputError]


class Masters:
    """The handlers for masters of one server. `deliveries` must follow the records before the
    tracker does."""

    def __init__(
        self,
        server: LiveServer,
        keys: MasterKeys,
        signer: TokenSigner,
        settings: MasterSettings,
        web_address_of: Callable[[str], str],
        ticks_ms: Callable[[], int] = lambda: time.monotonic_ns() // 1_000_000,
    ) -> None:
        self._server = server
        self._service = server.service
        self._keys = keys
        self._signer = signer
        self._settings = settings
        self._ticks_ms = ticks_ms
        self._checked_ms = self._resumed_ms = ticks_ms()
        self._yarn: YarnInterface = family_of(server.scheduler_name).yarn
        self._grants = Grants(self._service.state, signer, web_address_of)
        self._began_ms = self._service.now_ms()
        self.deliveries = AttemptDeliveries(self._service.state, ticks_ms)

    @property
    def handlers(self) -> dict[str, Handler]:
        """The handlers by the names of the protocol's methods."""
        return {
            "registerApplicationMaster": self.register,
            "allocate": self.allocate,
            "finishApplicationMaster": self.finish,
        }

    @property
    def _state(self) -> State:
        return self._service.state

    def key_of(self, identifier: AMRMTokenIdentifierProto) -> bytes | None:
        """The master key of an AMRMTokenIdentifierProto; None: its attempt is over, or the key."""
        named = identifier.appAttemptId
        application = self._state.applications.get(named.application_id.id)
        if application is None or not application.attempt.active:
            return None
        if named.application_id.cluster_timestamp != self._state.epoch_ms:
            return None
        if named.attemptId != application.attempt.number:
            return None
        return self._keys.admits(identifier.keyId)

    # The methods.

    async def register(
        self, context: CallContext, request: RegisterApplicationMasterRequestProto
    ) -> RegisterApplicationMasterResponseProto:
        """registerApplicationMaster: its requests become live. After a restart of this server the
        same master registers again, and sends all its requests again."""
        application = self._attempt(context)
        deliveries = self.deliveries.begin(application)
        async with deliveries.lock:
            if deliveries.registered:
                raise RpcError(
                    INVALID_MASTER_REQUEST,
                    "Application Master is already registered : "
                    + application_name(self._state.epoch_ms, application.id),
                )
            again = application.attempt.registered
            if again:
                await self._start_over(application, deliveries)
            else:
                registered = MasterRegistered(
                    application.id,
                    request.host[:_MOST_ADDRESS],
                    request.rpc_port,
                    request.tracking_url[:_MOST_ADDRESS],
                )
                self._raise_refusals(await self._ask([registered]))
            deliveries.registered = True
            deliveries.heard_ms = self._ticks_ms()
            self.deliveries.skip_node_changes(deliveries)
            attempt = (
                records.attempt_text(context.token.content.appAttemptId) if context.token else ""
            )
            _log.info("master of %s registered%s", attempt, " again" if again else "")
            return self._registration(application, deliveries)

    def allocate(
        self, context: CallContext, request: AllocateRequestProto
    ) -> AllocateResponseProto | Awaitable[AllocateResponseProto]:
        """allocate: take what a master asks, and deliver what there is for it."""
        application = self._attempt(context)
        deliveries = self._registered(application)
        deliveries.heard_ms = self._ticks_ms()
        if deliveries.lock.locked():
            return self._allocate_in_turn(context, request)
        repeated = self._repeated(deliveries, application, request.response_id)
        if repeated is not None:
            return repeated
        with self._noted(application):
            inputs = allocation.inputs_of(request, application, self._state)
        if not math.isnan(request.progress):
            attempts = self._server.projections.attempts
            if attempts.report_progress(application.id, request.progress):
                self._server.unrecorded_changes.note(application.id)
        if inputs:
            return self._allocate_in_turn(context, request)
        self.deliveries.received(deliveries)
        return self._answer(application, deliveries, context, request)

    async def finish(
        self, context: CallContext, request: FinishApplicationMasterRequestProto
    ) -> FinishApplicationMasterResponseProto:
        """finishApplicationMaster: record how the application ended; its container goes on."""
        named = context.token.content.appAttemptId if context.token is not None else None
        known = self._state.applications.get(named.application_id.id) if named else None
        if known is not None and known.over and known.attempt.unregistered is not None:
            return FinishApplicationMasterResponseProto(isUnregistered=True)
        application = self._attempt(context)
        deliveries = self.deliveries.get(application.id)
        if deliveries is None or not deliveries.registered:
            raise RpcError(
                MASTER_NOT_REGISTERED,
                "Application Master is trying to unregister before registering for: "
                + application_name(self._state.epoch_ms, application.id),
            )
        deliveries.heard_ms = self._ticks_ms()
        if application.attempt.unregistered is None:
            status = FinalApplicationStatusProto.Name(request.final_application_status)
            words, refused = request.diagnostics, self._server.refused_requests
            if request.final_application_status == _SUCCEEDED:
                refused.forget(application.id)
            else:
                words = with_refusal(words, refused.of(application.id))
            finished = UnregisterMaster(
                application.id,
                status.removeprefix("APP_"),
                shortened(words),
                request.tracking_url[:_MOST_ADDRESS],
            )
            self._raise_refusals(await self._ask([finished]))
        return FinishApplicationMasterResponseProto(isUnregistered=True)

    # What the server calls.

    def connect(self, tracker: Tracker) -> None:
        """Let nodes keep the ends that masters have yet to receive, and masters get new tokens for
        nodes that register again."""
        reports = tracker.reports
        reports.awaited = self.deliveries.awaits
        reports.recovered = self._recover_end
        self.deliveries.acknowledged = lambda container: reports.acknowledge(
            container, self._state.epoch_ms
        )
        tracker.on_registered = self.deliveries.forget_tokens

    async def watch(self) -> None:
        """Let silent masters expire, until cancelled."""
        while True:
            await asyncio.sleep(TICK_S)
            self.tick()

    def tick(self) -> None:
        """End the attempts of masters that were silent for too long since they were launched."""
        now_ms, expiry_ms = self._ticks_ms(), self._settings.expiry_ms
        if now_ms - self._checked_ms > PAUSE_MS:
            self._resumed_ms = now_ms
        self._checked_ms = now_ms
        if now_ms - self._resumed_ms <= expiry_ms:
            return
        for number, deliveries in self.deliveries.items():
            heard_ms, master = deliveries.heard_ms, deliveries.master
            if heard_ms is not None and master is not None and now_ms - heard_ms > expiry_ms:
                deliveries.heard_ms = None
                name = attempt_name(self._state.epoch_ms, number, deliveries.attempt)
                reason = f"ApplicationMaster for attempt {name} timed out"
                _log.warning("%s", reason)
                self._service.observe([ContainerExited(master, NO_EXIT, reason)])
                self._server.engine.stop(master)  # a reported exit alone stops nothing

    # How.

    def _recover_end(self, container: ContainerId, node: str) -> bool:
        """Deliver the end of a container that its node still has, and that an earlier server
        recorded: that one's answers are not known."""
        record = self._server.projections.history.container(container)
        if record is None or record.finished_ms is None or record.exit_code is None:
            return False
        if record.node != node or record.master or record.finished_ms > self._began_ms:
            return False
        ended = ContainerCompleted(container, record.exit_code, record.diagnostics)
        return self.deliveries.recover_end(ended)

    def _attempt(self, context: CallContext) -> Application:
        """The application of the attempt that calls; raises RpcError if the attempt is over."""
        if context.token is None:
            raise RpcError(YARN, "masters log in with their AMRMToken")
        named = context.token.content.appAttemptId
        application = self._state.applications.get(named.application_id.id)
        if (
            application is None
            or named.application_id.cluster_timestamp != self._state.epoch_ms
            or named.attemptId != application.attempt.number
            or not application.attempt.active
        ):
            raise RpcError(
                ATTEMPT_NOT_FOUND,
                f"Application attempt {records.attempt_text(named)} doesn't exist in"
                " ApplicationMasterService cache.",
            )
        return application

    def _registered(self, application: Application) -> Deliveries:
        deliveries = self.deliveries.get(application.id)
        if deliveries is None or not deliveries.registered:
            number = application.attempt.number
            name = attempt_name(self._state.epoch_ms, application.id, number)
            raise RpcError(
                MASTER_NOT_REGISTERED,
                f"AM is not registered for known application attempt: {name} or RM had restarted"
                " after AM registered. AM should re-register.",
            )
        return deliveries

    def _repeated(
        self, deliveries: Deliveries, application: Application, response_id: int
    ) -> AllocateResponseProto | None:
        """The last answer, if the master has not received it; raises RpcError for a number that
        is out of order."""
        if response_id == deliveries.answers:
            return None
        if response_id + 1 == deliveries.answers:
            return deliveries.answer
        name = attempt_name(self._state.epoch_ms, application.id, application.attempt.number)
        raise RpcError(
            INVALID_MASTER_REQUEST,
            f"Invalid responseId in AllocateRequest from application attempt: {name}, expect"
            f" responseId to be {deliveries.answers}, but get {response_id}",
        )

    async def _allocate_in_turn(
        self, context: CallContext, request: AllocateRequestProto
    ) -> AllocateResponseProto:
        """One call of an attempt after the other: a repeated one gets the first one's answer."""
        application = self._attempt(context)
        deliveries = self._registered(application)
        async with deliveries.lock:
            repeated = self._repeated(deliveries, application, request.response_id)
            if repeated is not None:
                return repeated
            self.deliveries.received(deliveries)
            with self._noted(application):
                inputs = allocation.inputs_of(request, application, self._state)
                self._raise_refusals(await self._ask(inputs))
            self._server.refused_requests.accepted(application.id, "containers")
            application = self._attempt(context)  # it may be over by now
            return self._answer(application, deliveries, context, request)

    async def _start_over(self, application: Application, deliveries: Deliveries) -> None:
        """A master that knew the server before: its requests come again, so the old ones are
        withdrawn, with what they brought since."""
        withdrawn = allocation.withdrawals(application)
        inputs: list[Input] = []
        if withdrawn:
            inputs.append(RequestContainers(application.id, withdrawn))
        inputs += [ReleaseContainers(application.id, (one,)) for one in deliveries.fresh]
        deliveries.fresh.clear()
        if inputs:
            self._raise_refusals(await self._ask(inputs))

    @contextlib.contextmanager
    def _noted(self, application: Application) -> Iterator[None]:
        """Let the user of an application see why a request is refused."""
        try:
            yield
        except RpcError as error:
            if error.class_name not in (NOT_ACTIVE, ATTEMPT_NOT_FOUND):
                refused = self._server.refused_requests
                refused.refused(application.id, "containers", error.message)
            raise

    async def _ask(self, inputs: Sequence[Input]) -> Results:
        try:
            return await self._service.ask_all(inputs)
        except InputError as error:
            raise _rpc_error(error) from error

    @staticmethod
    def _raise_refusals(results: Results) -> None:
        """Raise the first refusal. A release that came too late is not one."""
        for result in results:
            if isinstance(result, InputError) and result.code != "unknown-container":
                raise _rpc_error(result)

    # Answers.

    def _registration(
        self, application: Application, deliveries: Deliveries
    ) -> RegisterApplicationMasterResponseProto:
        state = self._state
        most = self._yarn.allocation_limits(state)[1]
        details = application.submission.details
        answer = RegisterApplicationMasterResponseProto(
            maximumCapability=resource_message(most, state.types),
            queue=application.queue,
            resource_types=type_messages(state.types),
        )
        answer.scheduler_resource_types.append(_MEMORY)
        if self._yarn.counts_vcores(state):
            answer.scheduler_resource_types.append(_VCORES)
        for kind, acl in ((_VIEW, details.view_acl), (_MODIFY, details.modify_acl)):
            if acl is not None:
                answer.application_ACLs.add(accessType=kind, acl=acl)
        if details.keep_containers:
            earlier = [
                record
                for container, record in application.containers.items()
                if container != application.attempt.master and container not in deliveries.fresh
            ]
            for record in earlier:
                answer.containers_from_previous_attempts.append(
                    self._grants.container(record, application.user)
                )
            nodes = (record.node for record in earlier)
            answer.nm_tokens_from_previous_attempts.extend(
                self._grants.node_tokens(application, deliveries, nodes)
            )
        return answer

    def _answer(
        self,
        application: Application,
        deliveries: Deliveries,
        context: CallContext,
        request: AllocateRequestProto,
    ) -> AllocateResponseProto:
        state, grants = self._state, self._grants
        deliveries.answers += 1
        view = self._server.scheduler.application_view(application.id)
        answer = AllocateResponseProto(
            response_id=deliveries.answers,
            limit=resource_message(view.headroom, state.types),
            num_cluster_nodes=len(state.nodes),
        )
        answer.application_priority.priority = application.priority
        answer.enhanced_headroom.total_active_cores = state.total[1]
        if deliveries.fresh:
            granted = list(deliveries.fresh.values())
            deliveries.fresh.clear()
            for one in granted:
                answer.allocated_containers.append(grants.container(one, application.user))
            tokens = grants.node_tokens(application, deliveries, (one.node for one in granted))
            answer.nm_tokens.extend(tokens)
        if deliveries.completed:
            deliveries.sent, deliveries.completed = deliveries.completed, {}
            for container, ended in deliveries.sent.items():
                record = self._server.projections.history.container(container)
                resource = None if record is None else record.resource
                answer.completed_container_statuses.append(grants.status(ended, resource))
        for change in self.deliveries.node_changes_since(deliveries):
            answer.updated_nodes.append(grants.node_change(change))
        if deliveries.marked:
            least = self._yarn.allocation_limits(state)[0]
            preempt = grants.preemption(
                application, deliveries, least, negotiable=self._yarn.negotiates_preemption
            )
            if preempt is not None:
                answer.preempt.CopyFrom(preempt)
        assert context.token is not None
        if context.token.content.keyId != self._keys.newest(Kind.MASTER).number:
            token = self._signer.master(application.id, deliveries.attempt)
            answer.am_rm_token.CopyFrom(token.message())
        if request.update_requests:
            largest = self._yarn.allocation_limits(state)[1]
            refused = allocation.update_errors(request.update_requests, application, state, largest)
            answer.update_errors.extend(refused)
        deliveries.answer = answer
        return answer


def _rpc_error(error: InputError) -> RpcError:
    return RpcError(_CLASSES.get(error.code, YARN), str(error))

"""What nodes report of containers, as inputs; and which finished containers they may forget.

A node repeats the status of a finished container until it is allowed to forget it: once its master
has fetched the end, at once if no master waits for it. Source: Hadoop 3.4.1,
RMNodeImpl.handleContainerStatus, RMAppAttemptImpl.sendFinishedContainersToNM.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from fairshare.core.model.events import ApplicationEnded, ContainerCompleted, ExitCode
from fairshare.core.model.identifiers import (
    ApplicationId,
    ContainerId,
    application_of,
    container_name,
)
from fairshare.core.model.inputs import ContainerExited, ContainerStarted, Input
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.runtime.observers import Observers
from fairshare.runtime.recovery import MISSING
from fairshare.server.access.repeated_messages import INTERVAL_S, RepeatedMessages
from fairshare.server.log_aggregation import LogAggregation
from fairshare.yarn.rpc import records
from fairshare.yarn.rpc.engine.launch import TIMED_OUT
from fairshare.yarn.rpc.registered_nodes import RegisteredNode, RegisteredNodes
from fairshare.yarn.rpc.wire.messages import (
    ApplicationIdProto,
    ContainerIdProto,
    ContainerStateProto,
    ContainerStatusProto,
    LogAggregationReportProto,
    LogAggregationStatusProto,
    NMContainerStatusProto,
)

MOST_DIAGNOSTICS = 64 * 1024
"""The most characters that are kept of a container's or a master's words (Hadoop:
`yarn.app.attempt.diagnostics.limit.kc`, which keeps the last ones too)."""

_log = logging.getLogger("fairshare.yarn.rpc")

_COMPLETE = ContainerStateProto.Value("C_COMPLETE")


class ContainerReports:
    """The statuses of all nodes' containers, and of the logs of their applications.

    `awaited` says whether a master has yet to fetch the end of a container; `recovered` is asked
    with a container that had ended before, and its node: whether the end is delivered once more.
    `holds`: whether nodes must keep the files of an application that is over, until `release`.
    """

    def __init__(self, nodes: RegisteredNodes, logs: LogAggregation) -> None:
        self.awaited: Callable[[ContainerId], bool] = lambda container: False
        self.recovered: Callable[[ContainerId, str], bool] = lambda container, node: False
        self.holds: Callable[[ApplicationId], bool] = lambda application: False
        self._nodes = nodes
        self._logs = logs
        self._finished: dict[ContainerId, RegisteredNode] = {}
        self._nodes_of: dict[ApplicationId, dict[str, None]] = {}
        self._unknown = RepeatedMessages[str](_log_repeated)

    def changes(self, node: RegisteredNode, state: State, statuses: list[bytes]) -> list[Input]:
        """The inputs that follow from a heartbeat whose statuses (serialized ContainerStatusProto)
        differ from those of the last one. Raises DecodeError, with nothing changed."""
        messages = [ContainerStatusProto.FromString(status) for status in statuses]
        before = set(node.statuses)
        inputs: list[Input] = []
        seen: set[ContainerId] = set()
        for message, status in zip(messages, statuses, strict=True):
            container = records.container_of(message.container_id, state.epoch_ms)
            if container is not None:
                seen.add(container)
            if status in before:
                continue
            if container is None:
                if message.state == _COMPLETE:
                    self._forget(node, message.container_id)
                else:
                    self._log_unknown(node, records.container_text(message.container_id))
                    node.foreign.append(message.container_id)
                    node.busy = True
            elif message.state == _COMPLETE:
                self._report_end(node, state, container, message, inputs)
            else:
                self._report_run(node, state, container, inputs)
        for container in [one for one in node.running if one not in seen]:
            self._nodes.ended(node, container)
            inputs.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
        node.statuses = statuses
        return inputs

    def register(
        self, node: RegisteredNode, state: State, statuses: Sequence[NMContainerStatusProto]
    ) -> dict[ContainerId, ContainerExited | None]:
        """What a node reports of its containers when it registers, as `reconcile_node` wants it.

        Its first heartbeat reports those that run again, and of the ends only those that it has not
        reported in a heartbeat before.
        """
        reported: dict[ContainerId, ContainerExited | None] = {}
        for message in statuses:
            container = records.container_of(message.container_id, state.epoch_ms)
            if container is None:
                continue
            if message.container_state == _COMPLETE:
                code, words = message.container_exit_status, shortened(message.diagnostics)
                reported[container] = _exited(state, container, code, words)
                self._keep_or_forget(node, state, container, message.container_id)
            else:
                reported[container] = None
                self._runs(node, state, container)
        return reported

    def runs_application(
        self, node: RegisteredNode, state: State, message: ApplicationIdProto
    ) -> None:
        """A node that registers has files and log threads of an application."""
        application = state.applications.get(message.id)
        ours = message.cluster_timestamp == state.epoch_ms
        if application is None or application.over or not ours:
            node.finished.append(message)
            node.busy = True
        else:
            self._note(application.id, node)

    def logs(
        self, node: RegisteredNode, state: State, reports: Iterable[LogAggregationReportProto]
    ) -> None:
        """What a node reports of the aggregation of logs; of applications of ours alone."""
        for report in reports:
            number = report.application_id.id
            ours = report.application_id.cluster_timestamp == state.epoch_ms
            if ours and number in state.applications:
                word = LogAggregationStatusProto.Name(report.log_aggregation_status)
                self._logs.reported(number, node.name, word.removeprefix("LOG_"))

    def acknowledge(self, container: ContainerId, epoch_ms: int) -> None:
        """No master waits for this end (any more): its node may forget the container."""
        node = self._finished.pop(container, None)
        if node is not None:
            self._forget(node, records.container_id_message(epoch_ms, container))

    def subscribe(self, observers: Observers, state: State) -> None:
        """Follow the records: an end that no master waits for, an application that is over."""

        def completed(record: Record, event: ContainerCompleted) -> None:
            if event.container in self._finished and not self.awaited(event.container):
                self.acknowledge(event.container, state.epoch_ms)

        def ended(record: Record, event: ApplicationEnded) -> None:
            self._logs.ended(event.application, record.now_ms)
            if not self.holds(event.application):
                self.release(event.application, state.epoch_ms)

        observers.events(completed, ContainerCompleted)
        observers.events(ended, ApplicationEnded)

    def release(self, application: ApplicationId, epoch_ms: int) -> None:
        """The nodes may delete the files and the logs of an application that is over."""
        message = records.application_id_message(epoch_ms, application)
        for name in self._nodes_of.pop(application, ()):
            node = self._nodes.get(name)
            if node is not None:
                node.finished.append(message)
                node.busy = True

    def _log_unknown(self, node: RegisteredNode, name: str) -> None:
        words = f"node {node.name} runs {name}, which nothing here granted: it is to stop it"
        if self._unknown.add(node.name, words):
            asyncio.get_running_loop().call_later(INTERVAL_S, self._unknown.flush)

    def _report_end(
        self,
        node: RegisteredNode,
        state: State,
        container: ContainerId,
        message: ContainerStatusProto,
        inputs: list[Input],
    ) -> None:
        if container not in node.running:  # it ended before the node had reported that it runs
            self._has_application(node, state, container)
        self._nodes.ended(node, container)
        live = _is_on(state, node, container)
        if live or state.ending.get(container) == node.name:
            words = shortened(message.diagnostics)
            inputs.append(_exited(state, container, message.exit_status, words))
        self._keep_or_forget(node, state, container, message.container_id)

    def _keep_or_forget(
        self, node: RegisteredNode, state: State, container: ContainerId, message: ContainerIdProto
    ) -> None:
        """A node keeps a container that is over until its master has the end."""
        if (
            _is_on(state, node, container)  # its end becomes a record, which is followed
            or self.awaited(container)
            or self.recovered(container, node.name)
        ):
            self._finished[container] = node
        else:
            self._forget(node, message)

    def _report_run(
        self, node: RegisteredNode, state: State, container: ContainerId, inputs: list[Input]
    ) -> None:
        self._runs(node, state, container)
        if _is_on(state, node, container):
            if container not in state.running:
                inputs.append(ContainerStarted(container, holds_room=True))
            return
        self._nodes.clean_up(container)
        if application_of(container) not in state.applications:
            self._log_unknown(node, container_name(state.epoch_ms, container))
        self._has_application(node, state, container)

    def _runs(self, node: RegisteredNode, state: State, container: ContainerId) -> None:
        self._nodes.runs(node, container)
        application = state.applications.get(application_of(container))
        if application is not None and not application.over:
            self._note(application.id, node)

    def _has_application(self, node: RegisteredNode, state: State, container: ContainerId) -> None:
        """A node has files and log threads of a container's application, until it learns that the
        application is over."""
        application = state.applications.get(application_of(container))
        if application is not None and not application.over:
            self._note(application.id, node)
            return
        message = records.application_id_message(state.epoch_ms, application_of(container))
        if message not in node.finished:
            node.finished.append(message)
            node.busy = True

    def _note(self, application: ApplicationId, node: RegisteredNode) -> None:
        self._nodes_of.setdefault(application, {})[node.name] = None
        self._logs.runs(application, node.name)

    @staticmethod
    def _forget(node: RegisteredNode, message: ContainerIdProto) -> None:
        node.removable.append(message)
        node.busy = True


def _exited(state: State, container: ContainerId, code: int, words: str) -> ContainerExited:
    """The end of a container that a node reports; whether a task was over its time limit, which its
    command enforces (`engine/launch.py`), only its exit code says."""
    timed_out = False
    application = state.applications.get(application_of(container)) if code == TIMED_OUT else None
    if application is not None and not application.over:
        assignment = application.tasks.assigned.get(container)
        if assignment is not None:
            group = application.tasks.groups[assignment.group].spec
            timed_out = group.time_limit_ms is not None
    return ContainerExited(container, code, words, timed_out=timed_out)


def _is_on(state: State, node: RegisteredNode, container: ContainerId) -> bool:
    there = state.nodes.get(node.name)
    return there is not None and container in there.containers


def _log_repeated(words: str, repeated: int, node: str) -> None:
    more = f", and {repeated - 1} more" if repeated > 1 else ""
    _log.warning("%s%s", words, more)


def shortened(words: str) -> str:
    """The last part of words that are too long for the journal."""
    return words if len(words) <= MOST_DIAGNOSTICS else words[-MOST_DIAGNOSTICS:]

"""The translation of events to orders: the containers that an engine must launch or stop.

Reads the state after the commit, so that an order which is out of date is never given (a container
that was launched and killed in one batch is not launched).
"""

from collections.abc import Callable, Iterator, Mapping

import msgspec

from fairshare.core.model.applications import Application
from fairshare.core.model.arrays import filled
from fairshare.core.model.events import ApplicationUpdated, ContainerCompleted, ContainerLaunched
from fairshare.core.model.identifiers import (
    ApplicationId,
    ContainerId,
    application_name,
    application_of,
    container_name,
)
from fairshare.core.model.inputs import ContainerExited
from fairshare.core.model.work import Command
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.documents.output_names import expand
from fairshare.engines.protocol import QUEUE_VARIABLE, LaunchOrder, TaskLaunch

ExtraEnvironment = Callable[[Application, bool], dict[str, str]]
"""A source of further environment: by application, and whether it is the master's container."""


class StopOrder(msgspec.Struct, frozen=True, gc=False):
    """End this container."""

    container: ContainerId


class LimitOrder(msgspec.Struct, frozen=True, gc=False):
    """End this container after so long from its start; None: it has no time limit any more."""

    container: ContainerId
    time_limit_ms: int | None


Order = LaunchOrder | TaskLaunch | StopOrder | LimitOrder

_CAUSES = frozenset((ContainerLaunched, ContainerCompleted, ApplicationUpdated))


def nothing_extra(application: Application, master: bool) -> dict[str, str]:
    """The extra environment of a runtime without a server to call back."""
    return {}


def with_files(command: Command, values: Mapping[str, str]) -> Command:
    """The command with the names of its files instead of their patterns."""
    return msgspec.structs.replace(
        command,
        output=command.output and expand(command.output, values),
        error=command.error and expand(command.error, values),
        input=command.input and expand(command.input, values),
    )


def limits_in_force(state: State) -> Iterator[LimitOrder]:
    """The time limits of all tasks that run: an earlier server may have recorded a new one and not
    given its order."""
    for attempt in state.attempts.values():
        yield from _limits_of(attempt.application)


def _limits_of(application: Application) -> Iterator[LimitOrder]:
    for progress in application.tasks.groups:
        limit_ms = progress.spec.time_limit_ms
        yield from (LimitOrder(container, limit_ms) for container in progress.running.values())


class OrderBook:
    """Makes orders of events. `extra` adds to the environment of each launch; `pretended` ones are
    for an engine that runs nothing."""

    def __init__(
        self, state: State, extra: ExtraEnvironment = nothing_extra, *, pretended: bool = False
    ) -> None:
        self._state = state
        self._extra = extra
        self._pretended = pretended
        self._names: tuple[ApplicationId, str] = (0, "")

    def orders(self, record: Record) -> list[Order]:
        """The orders that follow from one record, in the order of its events.

        A container that the engine itself reported as ended needs no stop; every other end was
        decided (kill, release, preemption, lost node) and does.
        """
        orders: list[Order] = []
        if _CAUSES.isdisjoint(map(type, record.events)):
            return orders
        order: Order | None
        for event in record.events:
            if type(event) is ContainerLaunched:
                order = self._pretend(event) if self._pretended else self._launch(event)
                if order is not None:
                    orders.append(order)
            elif type(event) is ContainerCompleted:
                given = record.input
                if type(given) is not ContainerExited or given.container != event.container:
                    orders.append(StopOrder(event.container))
            elif type(event) is ApplicationUpdated and event.changes.time_limit_ms is not None:
                application = self._state.applications.get(event.application)
                orders += _limits_of(application) if application is not None else ()
        return orders

    def _pretend(self, event: ContainerLaunched) -> TaskLaunch | None:
        container, number = event.container, event.group
        application = self._state.applications.get(application_of(container))
        if application is None or container not in application.attempt.containers:
            return None
        limit_ms = event.time_limit_ms
        if number < 0:
            if event.command is None:
                return None
            return TaskLaunch(container, time_limit_ms=limit_ms)
        progress, task = application.tasks.groups[number], event.task
        spec = progress.spec
        attempt = progress.failed.get(task, 0) + 1
        limit_ms = spec.time_limit_ms if limit_ms is None else limit_ms
        return TaskLaunch(container, number, spec.name, task, attempt, limit_ms)

    def _launch(self, event: ContainerLaunched) -> LaunchOrder | None:
        number = application_of(event.container)
        application = self._state.applications.get(number)
        record = None if application is None else application.containers.get(event.container)
        if application is None or record is None:  # ended meanwhile, and is perhaps forgotten
            return None
        command, environment, time_limit_ms = self._work(application, event)
        if command is None:  # it represents a master that runs elsewhere
            return None
        if self._names[0] != number:
            self._names = (number, application_name(self._state.epoch_ms, number))
        name = container_name(self._state.epoch_ms, event.container)
        master = application.attempt.master == event.container
        if command.output or command.error or command.input:
            values = {
                "j": str(number),
                "a": self._names[1],
                "n": application.submission.name,
                "u": application.user,
                "t": environment.get("FAIRSHARE_TASK_INDEX", "0"),
            }
            command = with_files(command, values)
        return LaunchOrder(
            container=event.container,
            container_name=name,
            application_name=self._names[1],
            node=record.node,
            user=application.user,
            memory_mb=record.resource[0],
            vcores=record.resource[1],
            command=command,
            resources=self._state.types.mapping(record.resource),
            environment={
                "FAIRSHARE_APPLICATION_ID": self._names[1],
                "FAIRSHARE_CONTAINER_ID": name,
                QUEUE_VARIABLE: application.queue,
                "FAIRSHARE_USER": application.user,
                **environment,
                **self._extra(application, master),
            },
            time_limit_ms=time_limit_ms,
            launched_ms=application.attempt.launched.get(event.container, 0),
        )

    @staticmethod
    def _work(
        application: Application, event: ContainerLaunched
    ) -> tuple[Command | None, dict[str, str], int | None]:
        """The command of a container, the environment of its task, and the time limit."""
        if event.group < 0:
            return event.command, {}, event.time_limit_ms
        progress = application.tasks.groups[event.group]
        spec = progress.spec
        array, command = spec.array, event.command or spec.command
        environment = {
            "FAIRSHARE_TASK_INDEX": str(spec.index_of(event.task)),
            "FAIRSHARE_TASK_COUNT": str((array and array.total) or spec.count),
            "FAIRSHARE_TASK_GROUP": spec.name,
            # From 1: a task that was preempted or lost its node does not count as tried.
            "FAIRSHARE_TASK_ATTEMPT": str(progress.failed.get(event.task, 0) + 1),
        }
        if array is not None:
            if array.lines:
                environment["FAIRSHARE_ARRAY_LINE"] = array.lines[event.task]
            if array.fills:
                arguments = filled(command.arguments, array.value_of(event.task))
                command = msgspec.structs.replace(command, arguments=arguments)
        time_limit_ms = event.time_limit_ms
        if time_limit_ms is None:
            time_limit_ms = spec.time_limit_ms
        return command, environment, time_limit_ms

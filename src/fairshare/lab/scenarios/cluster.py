"""The resource manager of one scenario, its clock, who hears of its events, the names of its
applications, and how asks and steps about nodes become inputs.

Nothing happens here by itself: the runner of the scenario feeds inputs and moves the clock. How
counts add up is the manager's rule (`core/model/work.py`, ContainerRequest).
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model import inputs
from fairshare.core.model.applications import Application
from fairshare.core.model.bookings import Booking, Span
from fairshare.core.model.events import ApplicationRejected, ApplicationState, Event, RequestRefused
from fairshare.core.model.identifiers import ApplicationId
from fairshare.core.model.inputs import Input, LoadConfiguration
from fairshare.core.model.resources import Resource, ResourceTypes
from fairshare.core.model.work import ContainerRequest
from fairshare.core.schedulers.protocol import Scheduler, State
from fairshare.documents.values import unknown_word
from fairshare.errors import ConfigurationError, InputError
from fairshare.lab.scenarios import steps
from fairshare.lab.scenarios.configuration import LoadedSettings
from fairshare.lab.scenarios.steps import Amounts, Ask
from fairshare.settings.family import AnyFamily


class Applications:
    """Applications by the names that the file gives them, in the order of their submission.

    `withdrawn` are those that their client ended before their master ran: they count as finished.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self.names: dict[ApplicationId, str] = {}
        self.withdrawn: set[ApplicationId] = set()
        self._numbers: dict[str, ApplicationId] = {}

    def add(self, name: str, number: ApplicationId) -> None:
        """Remember a submission, refused ones too."""
        self.names[number] = name
        self._numbers[name] = number

    def __contains__(self, name: str) -> bool:
        return name in self._numbers

    def number(self, name: str) -> ApplicationId:
        """The number of an application; raises InputError for one that was never submitted."""
        if name not in self._numbers:
            raise InputError("unknown-application", f"no application {name}")
        return self._numbers[name]

    def get(self, name: str) -> Application:
        """An application; raises InputError for one that was never submitted."""
        return self._state.applications[self.number(name)]

    def state_of(self, application: Application) -> ApplicationState:
        """The state as a scenario names it.

        An application that is not over is RUNNING when no limit holds it back and it has its
        master's container, or needs none; otherwise it is PENDING.
        """
        if application.over:
            if application.id in self.withdrawn:
                return ApplicationState.FINISHED
            return application.state
        has_master = not application.managed or application.attempt.master is not None
        if application.attempt.runnable and has_master:
            return ApplicationState.RUNNING
        return ApplicationState.PENDING


EPOCH_MS: Final = 1_000_000_000_000
"""The instant of a scenario's start. Not 0, which a real clock never shows either."""


class Cluster:
    """One resource manager. `now_ms` is its clock; `elapsed_ms` counts from the start."""

    def __init__(self, family: AnyFamily, loaded: LoadedSettings) -> None:
        self.now_ms = EPOCH_MS
        self.listeners: list[Callable[[tuple[Event, ...]], None]] = []
        self.manager = ResourceManager(family.create(loaded.types))
        try:
            self.call(LoadConfiguration(loaded.encoded, EPOCH_MS))
        except InputError as refusal:  # what is wrong with the settings as a whole
            raise ConfigurationError([str(refusal)]) from refusal

    @property
    def state(self) -> State:
        """Everything that the manager knows."""
        return self.manager.scheduler.state

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler under test."""
        return self.manager.scheduler

    @property
    def elapsed_ms(self) -> int:
        """How long the scenario has been running, in its own time."""
        return self.now_ms - EPOCH_MS

    def feed(self, input_: Input) -> tuple[Event, ...]:
        """Tell the manager something, after what time alone has brought; a refusal is among the
        events."""
        state, now_ms = self.state, self.now_ms
        if state.bookings_ms is not None and state.bookings_ms <= now_ms:
            self._handle(inputs.AdvanceBookings())
        usage_ms = state.next_usage_ms()
        if usage_ms is not None and usage_ms <= now_ms:
            self._handle(inputs.UpdateUsage())
        return self._handle(input_)

    def _handle(self, input_: Input) -> tuple[Event, ...]:
        events = self.manager.handle(self.now_ms, input_)
        for listener in self.listeners:
            listener(events)
        return events

    def call(self, input_: Input) -> tuple[Event, ...]:
        """As `feed`; raises InputError if it was refused."""
        events = self.feed(input_)
        for event in events:
            if isinstance(event, RequestRefused | ApplicationRejected):
                raise InputError(event.code, event.reason)
        return events


def vector(types: ResourceTypes, amounts: Amounts) -> Resource:
    """Named amounts as a vector; raises InputError for a type that the cluster does not have."""
    try:
        return types.vector(amounts)
    except KeyError as error:
        message = unknown_word("resource type", str(error.args[0]), types.names)
        raise InputError("unknown-resource-type", message) from error


def requests(types: ResourceTypes, asks: Iterable[Ask]) -> tuple[ContainerRequest, ...]:
    """One request for each ask, in their order."""
    return tuple(
        ContainerRequest(
            count=ask.count,
            resource=vector(types, ask.resources),
            priority=ask.priority,
            hosts=ask.hosts,
            racks=ask.racks,
            relax=ask.relax,
            request=ask.request,
            location=ask.location,
            label=ask.label,
        )
        for ask in asks
    )


def apply_common_step(step: steps.Step, cluster: Cluster, types: ResourceTypes) -> None:
    """Apply a step about nodes or bookings; raises InputError where it is refused."""
    match step:
        case steps.ChangeNode(add=steps.Node() as node):
            add_nodes(node, cluster, types)
        case steps.ChangeNode(remove=str(name)):
            need_node(name, cluster)
            cluster.call(inputs.NodeLost(name))
        case steps.ChangeNode(resize=steps.Resized(name=name, resources=resources)):
            need_node(name, cluster)
            cluster.call(inputs.NodeResized(name, vector(types, resources)))
        case steps.ChangeNode(drain=str(name)):
            cluster.call(inputs.DrainNode(name))
        case steps.ChangeNode(undrain=str(name)):
            cluster.call(inputs.UndrainNode(name))
        case steps.SafeMode(on=on):
            cluster.call(inputs.SetSafeMode(on))
        case steps.Book():
            begin_ms = cluster.now_ms + step.from_ms
            span = Span(begin_ms, begin_ms + step.length_ms)
            size = vector(types, step.resources)
            booking = Booking(step.name, step.queue, size, (span,), step.user)
            cluster.call(inputs.MakeBooking(booking, step.replace))
        case steps.CancelBooking(booking=name):
            cluster.call(inputs.CancelBooking(name))
        case _:
            raise TypeError(f"{type(step).__name__} is not a step about nodes or bookings")


def add_nodes(group: steps.Node, cluster: Cluster, types: ResourceTypes) -> None:
    """Let the nodes of a group join."""
    total = vector(types, group.resources)
    for name in group.names:
        if name in cluster.state.nodes:
            raise InputError("repeated-name", f"there is a node {name} already")
        attributes = {"partition": group.label} if group.label else {}
        cluster.call(inputs.NodeJoined(name, total, group.rack, attributes))


def need_node(name: str, cluster: Cluster) -> None:
    """Raise InputError for a node that is not there."""
    if name not in cluster.state.nodes:
        raise InputError("unknown-node", f"no node {name}")


def nodes_named(names: Iterable[str], cluster: Cluster) -> Iterator[str]:
    """The nodes of a step one by one; `all` names each that there is by then. Raises InputError."""
    for name in names:
        for node in tuple(cluster.state.nodes) if name == steps.ALL_NODES else (name,):
            need_node(node, cluster)
            yield node

"""The way back from a journal to a state, the proof that the same would be decided again, and the
comparison of the state with an engine's containers and nodes.

`recover` applies what was recorded and decides nothing. `replay` decides everything again on a new
manager and compares. The comparison with an engine, after a restart, or when a single node returns,
yields the inputs to feed, which are ordinary ones, and the containers to stop.
"""

from collections.abc import Iterable, Mapping

import msgspec

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.events import Event, ExitCode
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    Input,
    NodeJoined,
    NodeLost,
    NodeResized,
)
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import State
from fairshare.engines.protocol import NodeOffer
from fairshare.errors import JournalError


class Position(msgspec.Struct, frozen=True):
    """How far a journal reaches: its last record's number and instant; 0 when it is empty."""

    sequence: int = 0
    now_ms: int = 0


class Difference(msgspec.Struct, frozen=True):
    """The first record whose input gives other events today than it gave then."""

    sequence: int
    now_ms: int
    input: Input
    recorded: tuple[Event, ...]
    decided: tuple[Event, ...]

    def __str__(self) -> str:
        place, then, now = self._first()
        return (
            f"record {self.sequence} at {self.now_ms} ms ({type(self.input).__name__}), "
            f"event {place + 1}: recorded {then}, decided {now}"
        )

    def _first(self) -> tuple[int, object, object]:
        for place, (then, now) in enumerate(zip(self.recorded, self.decided, strict=False)):
            if then != now:
                return place, then, now
        place = min(len(self.recorded), len(self.decided))
        then_rest, now_rest = self.recorded[place:], self.decided[place:]
        return (
            place,
            then_rest[0] if then_rest else "nothing",
            now_rest[0] if now_rest else "nothing",
        )


def recover(records: Iterable[Record], state: State, since: Position | None = None) -> Position:
    """Bring a state to where the records end: an empty one, or one of a snapshot at `since`.

    Raises JournalError if a record does not fit the state: it belongs to another scheduler, or to
    other resource types.
    """
    position = since or Position()
    for record in records:
        for event in record.events:
            try:
                state.apply(record.now_ms, event)
            except (LookupError, ValueError) as error:
                raise JournalError(
                    f"record {record.sequence} ({type(event).__name__}) does not fit the state "
                    f"before it: {error!r}; the journal belongs to another scheduler or to other "
                    "resource types, or it was changed"
                ) from error
        state.settle()
        position = Position(record.sequence, record.now_ms)
    return position


def replay(records: Iterable[Record], manager: ResourceManager) -> Difference | None:
    """Decide again on a new manager; the first record that differs, or None."""
    for record in records:
        decided = manager.handle(record.now_ms, record.input)
        if decided != record.events:
            return Difference(record.sequence, record.now_ms, record.input, record.events, decided)
    return None


LOST = "The container ended while no server was watching, and left no exit status."


MISSING = "The node returned without this container: it ended unnoticed, or never started."


class Findings(msgspec.Struct, frozen=True):
    """What must be fed to make the state true, and which containers must be stopped. Starts are fed
    before ends: an end may end its application, and all of that which is known to run is then
    stopped."""

    inputs: tuple[Input, ...]
    stops: tuple[ContainerId, ...]


def reconcile(
    state: State, offers: Iterable[NodeOffer], running: frozenset[ContainerId]
) -> Findings:
    """Compare nodes and containers.

    Containers that should run and do not have exited with -100 (aborted: their tasks wait again);
    one that was not launched, or represents an outside master, is not expected to run.
    Containers that run and should not are to be stopped. Nodes that are gone are lost, new ones
    join, others are resized. The engine must have reported what ended in the meantime before.
    """
    starts: list[Input] = []
    ends: list[Input] = []
    containers: set[ContainerId] = set()
    for application in state.applications.values():
        for container in application.containers:
            containers.add(container)
            if container in running:
                if container not in state.running:
                    starts.append(ContainerStarted(container))
            elif container in application.attempt.launched:
                ends.append(ContainerExited(container, ExitCode.ABORTED, LOST))
    ends += [
        ContainerExited(one, ExitCode.ABORTED, LOST) for one in state.ending if one not in running
    ]
    inputs = (*starts, *ends, *_nodes(state, offers))
    return Findings(inputs, tuple(sorted(running - containers)))


def reconcile_node(
    state: State,
    name: str,
    reported: Mapping[ContainerId, ContainerExited | None],
    *,
    may_start: bool,
) -> Findings:
    """Compare the containers of one node with those that it reports when it registers.

    `reported` has the end of each container that is over, and None for those that run. A container
    that ran and is not reported was aborted, and no longer holds room. One that never ran is kept
    if it still `may_start`: not after a restart of the server, since the node refuses containers
    that an earlier one granted. Containers that run and should not are to be stopped.
    """
    node = state.nodes.get(name)
    live = node.containers if node is not None else {}
    ending = node.ending if node is not None else {}
    starts: list[Input] = []
    ends: list[Input] = []
    for container in live:
        if container not in reported:
            if container in state.running or not may_start:
                ends.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
            continue
        exited = reported[container]
        if exited is not None:
            ends.append(exited)
        elif container not in state.running:
            starts.append(ContainerStarted(container, holds_room=True))
    for container in ending:
        if container not in reported or reported[container] is not None:
            ends.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
    stops = (one for one, exited in reported.items() if exited is None and one not in live)
    return Findings((*starts, *ends), tuple(sorted(stops)))


def _nodes(state: State, offers: Iterable[NodeOffer]) -> list[Input]:
    inputs: list[Input] = []
    offered = {offer.node: offer for offer in offers}
    inputs += [NodeLost(name) for name in state.nodes if name not in offered]
    for name, offer in offered.items():
        total = tuple(offer.resources.get(one, 0) for one in state.types.names)
        joined = NodeJoined(name, total, offer.rack, offer.attributes)
        node = state.nodes.get(name)
        if node is None:
            inputs.append(joined)
        elif (node.rack, node.attributes) != (offer.rack, offer.attributes) and not node.occupants:
            # A node that moved to another rack is another node; while something runs there it
            # stays what it was.
            inputs += [NodeLost(name), joined]
        elif node.total != total:
            inputs.append(NodeResized(name, total))
    return inputs

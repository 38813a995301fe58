"""Owns the comparison of the state with an engine's containers and nodes, after a restart, or when
a single node returns.

Pure: returns the inputs to feed and the containers to stop, and does neither. The inputs are
ordinary ones.
"""

from collections.abc import Iterable, Mapping

import msgspec

from fairshare.core.model.events import ExitCode
from fairshare.core.model.identifiers import ContainerId
from fairshare.core.model.inputs import (
    ContainerExited,
    ContainerStarted,
    Input,
    NodeJoined,
    NodeLost,
    NodeResized,
)
from fairshare.core.schedulers.protocol import State
from fairshare.engines.protocol import NodeOffer

LOST = "The container ended while no server was watching, and left no exit status."


MISSING = "The node returned without this container: it ended unnoticed, or never started."


class Findings(msgspec.Struct, frozen=True):
    """What must be fed to make the state true, and which containers must be stopped."""

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
    inputs: list[Input] = []
    known: set[ContainerId] = set()
    for application in state.applications.values():
        for container in application.containers:
            known.add(container)
            if container in running:
                if container not in state.running:
                    inputs.append(ContainerStarted(container))
            elif container in application.attempt.launched:
                inputs.append(ContainerExited(container, ExitCode.ABORTED, LOST))
    inputs += [
        ContainerExited(one, ExitCode.ABORTED, LOST) for one in state.ending if one not in running
    ]
    inputs += _nodes(state, offers)
    return Findings(tuple(inputs), tuple(sorted(running - known)))


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
    inputs: list[Input] = []
    for container in live:
        if container not in reported:
            if container in state.running or not may_start:
                inputs.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
            continue
        exited = reported[container]
        if exited is not None:
            inputs.append(exited)
        elif container not in state.running:
            inputs.append(ContainerStarted(container, holds_room=True))
    for container in ending:
        if container not in reported or reported[container] is not None:
            inputs.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
    stops = (one for one, exited in reported.items() if exited is None and one not in live)
    return Findings(tuple(inputs), tuple(sorted(stops)))


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

"""Owns what follows when the agent of a node answers (again): the inputs that make the state true.

Pure: returns the inputs to feed and the containers to stop, and does neither.
"""

from collections.abc import Iterable

import msgspec

from fairshare.model.events import ExitCode
from fairshare.model.identifiers import ContainerId, application_of
from fairshare.model.inputs import ContainerExited, Input, NodeJoined, NodeResized
from fairshare.runtime.reconciliation import MISSING, Findings, reconcile_node
from fairshare.schedulers.protocol import State


def returned(
    state: State,
    node: NodeJoined,
    running: Iterable[ContainerId],
    ended: Iterable[ContainerExited],
) -> Findings:
    """Compare a node and its containers with what its agent says.

    A container that was granted there and launches later is kept; one that was launched and that
    the agent does not know has not started, and is aborted: its order was lost on the way.
    """
    known = state.nodes.get(node.node)
    inputs: list[Input] = []
    if known is None:
        inputs.append(node)
    elif state.offered(known) != node.total:
        inputs.append(NodeResized(node.node, node.total))
    reported: dict[ContainerId, ContainerExited | None] = dict.fromkeys(running)
    reported.update((one.container, one) for one in ended)
    findings = reconcile_node(state, node.node, reported, may_start=True)
    inputs += findings.inputs
    for container in known.containers if known is not None else ():
        if container in reported or container in state.running:
            continue
        if container in state.applications[application_of(container)].attempt.launched:
            inputs.append(ContainerExited(container, ExitCode.ABORTED, MISSING))
    return msgspec.structs.replace(findings, inputs=tuple(inputs))

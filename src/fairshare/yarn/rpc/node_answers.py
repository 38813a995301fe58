"""The answers that nodes get to their heartbeats and registrations, as messages."""

from typing import Any

from fairshare.core.model.resources import ResourceTypes
from fairshare.yarn.rpc import ids
from fairshare.yarn.rpc.configuration import VERSION
from fairshare.yarn.rpc.keys import Kind, MasterKeys
from fairshare.yarn.rpc.registered_nodes import RegisteredNode
from fairshare.yarn.rpc.resources import resource_message
from fairshare.yarn.rpc.wire.messages import (
    NodeActionProto,
    NodeHeartbeatRequestProto,
    NodeHeartbeatResponseProto,
    RegisterNodeManagerResponseProto,
)

NORMAL = NodeActionProto.Value("NORMAL")
RESYNC = NodeActionProto.Value("RESYNC")
SHUTDOWN = NodeActionProto.Value("SHUTDOWN")


def registered(
    node: RegisteredNode, keys: MasterKeys, rm_identifier: int, *, labels_accepted: bool
) -> Any:
    """The answer to a registration: the node gets the keys that sign now."""
    total = node.total
    return RegisterNodeManagerResponseProto(
        container_token_master_key=keys.current(Kind.CONTAINER).message(),
        nm_token_master_key=keys.current(Kind.NODE).message(),
        nodeAction=NORMAL,
        rm_identifier=rm_identifier,
        diagnostics_message=(
            f"NodeManager from node {node.host}(cmPort: {node.port} httpPort: {node.web_port})"
            f" registered with capability: <memory:{total[0]}, vCores:{total[1]}>,"
            f" assigned nodeId {node.name}"
        ),
        rm_version=VERSION,
        areNodeLabelsAcceptedByRM=labels_accepted,
    )


def sent_away(reason: str, rm_identifier: int) -> Any:
    """The answer to a registration that is refused: the node shuts down."""
    return RegisterNodeManagerResponseProto(
        nodeAction=SHUTDOWN,
        diagnostics_message=reason,
        rm_identifier=rm_identifier,
        rm_version=VERSION,
    )


def command(action: int, reason: str) -> Any:
    """The answer to a heartbeat that has the node register again, or shut down."""
    return NodeHeartbeatResponseProto(nodeAction=action, diagnostics_message=reason)


def heartbeat(node: RegisteredNode, interval_ms: int) -> Any:
    """The answer to an idle heartbeat."""
    return NodeHeartbeatResponseProto(
        response_id=node.response_id, nodeAction=NORMAL, nextHeartBeatInterval=interval_ms
    )


def add_news(answer: Any, node: RegisteredNode, epoch_ms: int, types: ResourceTypes) -> None:
    """Put into an answer what waits for the node; all of it is said once, except the containers to
    stop, which are named until the node reports their end."""
    for container in node.clean_up:
        answer.containers_to_cleanup.append(ids.container_id_message(epoch_ms, container))
    answer.containers_to_cleanup.extend(node.foreign)
    answer.containers_to_be_removed_from_nm.extend(node.removable)
    answer.applications_to_cleanup.extend(node.finished)
    answer.containers_to_signal.extend(node.signals)
    if node.resource is not None:
        answer.resource.CopyFrom(resource_message(node.resource, types))
    for said in (node.foreign, node.removable, node.finished, node.signals):
        said.clear()
    node.resource = None
    node.busy = bool(node.clean_up)


def add_next_keys(answer: Any, request: NodeHeartbeatRequestProto, keys: MasterKeys) -> None:
    """Put the next keys into an answer to a node that does not have them yet."""
    container, node = keys.next(Kind.CONTAINER), keys.next(Kind.NODE)
    known = request.last_known_container_token_master_key.key_id
    if container is not None and known != container.number:
        answer.container_token_master_key.CopyFrom(container.message())
    if node is not None and request.last_known_nm_token_master_key.key_id != node.number:
        answer.nm_token_master_key.CopyFrom(node.message())

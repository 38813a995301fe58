"""Signs the tokens of containers, of their nodes, and of masters, with the keys in force.

Source: Hadoop 3.4.1, RMContainerTokenSecretManager.createContainerToken,
NMTokenSecretManagerInRM.createNMToken, AMRMTokenSecretManager.createAndGetAMRMToken.
"""

from collections.abc import Callable
from typing import Any

from fairshare.hadoop.ids import (
    attempt_id_message,
    container_id_message,
    node_id_message,
    node_name,
)
from fairshare.hadoop.keys import Kind, MasterKeys
from fairshare.hadoop.resources import resource_message
from fairshare.hadoop.wire import tokens
from fairshare.hadoop.wire.messages import (
    AMRMTokenIdentifierProto,
    ContainerTokenIdentifierProto,
    ContainerTypeProto,
    ExecutionTypeProto,
    NMTokenIdentifierProto,
    PriorityProto,
)
from fairshare.hadoop.wire.tokens import Token
from fairshare.model.events import ContainerAllocated
from fairshare.model.identifiers import ApplicationId
from fairshare.model.resources import ResourceTypes

_MASTER = ContainerTypeProto.Value("APPLICATION_MASTER")
_TASK = ContainerTypeProto.Value("TASK")
_GUARANTEED = ExecutionTypeProto.Value("GUARANTEED")


class TokenSigner:
    """Signs tokens of one cluster.

    `manager_id` identifies the life of this server (`rm_identifier`): nodes refuse containers that
    an earlier one has granted. `life_ms`: how long a container may start after its token was made.
    `service_of` is `IP:port` of a node, `node_id` its NodeIdProto: where masters call it.
    """

    def __init__(
        self,
        keys: MasterKeys,
        epoch_ms: int,
        manager_id: int,
        types: ResourceTypes,
        life_ms: int,
        now_ms: Callable[[], int],
        service_of: Callable[[str], str],
        node_id: Callable[[str], Any] = node_id_message,
    ) -> None:
        self._keys = keys
        self._epoch_ms = epoch_ms
        self._manager_id = manager_id
        self._types = types
        self._life_ms = life_ms
        self._now_ms = now_ms
        self._service_of = service_of
        self.node_id = node_id

    def container(self, granted: ContainerAllocated, user: str, log_policy: Any = None) -> Token:
        """The token with which a container is started on its node, once.

        `log_policy`: the application's LogAggregationContextProto, if it has one.
        """
        key = self._keys.current(Kind.CONTAINER)
        identifier = ContainerTokenIdentifierProto(
            containerId=container_id_message(self._epoch_ms, granted.container),
            nmHostAddr=node_name(self.node_id(granted.node)),
            appSubmitter=user,
            resource=resource_message(granted.resource, self._types),
            expiryTimeStamp=self._now_ms() + self._life_ms,
            masterKeyId=key.number,
            rmIdentifier=self._manager_id,
            priority=PriorityProto(priority=granted.priority),
            creationTime=granted.allocated_ms,
            logAggregationContext=log_policy,
            nodeLabelExpression="",
            containerType=_MASTER if granted.master else _TASK,
            executionType=_GUARANTEED,
            version=0,
            allocation_request_id=-1 if granted.master else granted.request,
        )
        service = self._service_of(granted.node)
        return tokens.signed(tokens.CONTAINER_TOKEN, identifier, key.secret, service)

    def node(self, application: ApplicationId, attempt: int, node: str, user: str) -> Token:
        """The token with which an attempt logs in to a node (NMToken)."""
        key = self._keys.current(Kind.NODE)
        identifier = NMTokenIdentifierProto(
            appAttemptId=attempt_id_message(self._epoch_ms, application, attempt),
            nodeId=self.node_id(node),
            appSubmitter=user,
            keyId=key.number,
        )
        return tokens.signed(tokens.NM_TOKEN, identifier, key.secret, self._service_of(node))

    def master(self, application: ApplicationId, attempt: int) -> Token:
        """The token with which a master logs in here (AMRMToken); it finds the address itself."""
        key = self._keys.newest(Kind.MASTER)
        identifier = AMRMTokenIdentifierProto(
            appAttemptId=attempt_id_message(self._epoch_ms, application, attempt),
            keyId=key.number,
        )
        return tokens.signed(tokens.AMRM_TOKEN, identifier, key.secret)

"""What a handler of a method gets and gives: the caller, the request, the response, or a refusal.

Refusals travel: Hadoop's class names decide what a client does next. A handler raises `RpcError`;
the client makes the Java exception of that class again. A class that it does not know becomes a
YarnException there.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from fairshare.errors import FairshareError


class TokenIdentity(Struct, frozen=True):
    """A token that a caller has proved to hold: its kind, its bytes, and their meaning.

    `content` is the parsed identifier: an AMRMTokenIdentifierProto or NMTokenIdentifierProto.
    """

    kind: str
    identifier: bytes
    content: Any


class CallContext(Struct, frozen=True):
    """The connection that a call came over; one object for all calls of the connection.

    `user` is who the call is for; `real_user`, if not empty, who logged in and acts for that user.
    With a token there is no user name: the token says who calls. `address` is the caller's IP
    address. `protocol` is the protocol of the call's connection, by its name on the wire.
    """

    user: str
    real_user: str
    token: TokenIdentity | None
    address: str
    protocol: str


Handler: TypeAlias = Callable[[CallContext, Any], Any | Awaitable[Any]]
"""Takes the request message; returns the response message, or an awaitable of it.

It raises RpcError to refuse. A handler that needs no waiting returns the message itself: it is
answered at once, without a task.
"""

Handlers: TypeAlias = Mapping[tuple[str, str], Handler]
"""A handler by the protocol's and the method's name on the wire (`descriptors.METHODS`)."""


_YARN = "org.apache.hadoop.yarn.exceptions."
_IPC = "org.apache.hadoop.ipc."

YARN = f"{_YARN}YarnException"
APPLICATION_NOT_FOUND = f"{_YARN}ApplicationNotFoundException"
ATTEMPT_NOT_FOUND = f"{_YARN}ApplicationAttemptNotFoundException"
CONTAINER_NOT_FOUND = f"{_YARN}ContainerNotFoundException"
MASTER_NOT_REGISTERED = f"{_YARN}ApplicationMasterNotRegisteredException"
INVALID_MASTER_REQUEST = f"{_YARN}InvalidApplicationMasterRequestException"
INVALID_RESOURCE_REQUEST = f"{_YARN}InvalidResourceRequestException"
INVALID_CONTAINER_RELEASE = f"{_YARN}InvalidContainerReleaseException"
INVALID_BLACKLIST_REQUEST = f"{_YARN}InvalidResourceBlacklistRequestException"
INVALID_LABEL_REQUEST = f"{_YARN}InvalidLabelResourceRequestException"
FEATURE_NOT_ENABLED = f"{_YARN}YARNFeatureNotEnabledException"
INVALID_AUXILIARY_SERVICE = f"{_YARN}InvalidAuxServiceException"
AUTHORIZATION = "org.apache.hadoop.security.authorize.AuthorizationException"
VERSION_MISMATCH = "org.apache.hadoop.ipc.RPC$VersionMismatch"
ACCESS_CONTROL = "org.apache.hadoop.security.AccessControlException"
JAVA_ACCESS_CONTROL = "java.security.AccessControlException"
INVALID_TOKEN = "org.apache.hadoop.security.token.SecretManager$InvalidToken"  # noqa: S105
RETRIABLE = f"{_IPC}RetriableException"
NOT_ACTIVE = f"{_IPC}StandbyException"
"""A refusal that may pass. Hadoop's clients go on asking, the other ResourceManager too if they
know two; at a RetriableException they would give up the second time where they know two."""
NO_SUCH_METHOD = f"{_IPC}RpcNoSuchMethodException"
NO_SUCH_PROTOCOL = f"{_IPC}RpcNoSuchProtocolException"
RPC_SERVER = f"{_IPC}RpcServerException"
SERVICE_FAILED = "org.apache.hadoop.ha.ServiceFailedException"
ILLEGAL_ARGUMENT = "java.lang.IllegalArgumentException"
UNSUPPORTED_OPERATION = "java.lang.UnsupportedOperationException"
INPUT_OUTPUT = "java.io.IOException"


class RpcError(FairshareError):
    """A call is refused. `class_name` is the Java class that the client raises."""

    def __init__(self, class_name: str, message: str) -> None:
        self.class_name = class_name
        self.message = message
        super().__init__(message)

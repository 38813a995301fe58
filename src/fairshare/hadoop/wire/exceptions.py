"""Refusals that travel: Hadoop's class names decide what a client does next.

A handler raises `RpcError`; the client makes the Java exception of that class again. A class that
it does not know becomes a YarnException there.
"""

from fairshare.errors import FairshareError

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
ACCESS_CONTROL = "org.apache.hadoop.security.AccessControlException"
JAVA_ACCESS_CONTROL = "java.security.AccessControlException"
INVALID_TOKEN = "org.apache.hadoop.security.token.SecretManager$InvalidToken"  # noqa: S105
RETRIABLE = f"{_IPC}RetriableException"
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

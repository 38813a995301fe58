"""The refusals of YARN's REST interface: their kinds, statuses and bodies (Hadoop:
GenericExceptionHandler).

Errors are raised as `Refused`; `answering.py` writes them in the form that the caller accepts.
"""

from msgspec import UNSET, UnsetType

from fairshare.yarn.views.documents import Document

_WEBAPP = "org.apache.hadoop.yarn.webapp."


class RemoteException(Document):
    """The body of a refusal. YARN leaves the message out where there is none."""

    exception: str
    message: str | UnsetType
    javaClassName: str


class Refused(Exception):
    """A call is refused with a status and a `RemoteException`."""

    def __init__(
        self, status: int, java_class: str, message: str | None = None, allow: str = ""
    ) -> None:
        super().__init__(message or java_class)
        self.status = status
        self.allow = allow
        self.document = RemoteException(
            java_class.rpartition(".")[2], UNSET if message is None else message, java_class
        )


class PlainRefusal(Exception):
    """A call is refused with a plain text, as YARN does in some places."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def bad_request(message: str, inner: str = "java.lang.Exception") -> Refused:
    """400: the request is invalid."""
    return Refused(400, _WEBAPP + "BadRequestException", f"{inner}: {message}")


def not_found(message: str, inner: str = "java.lang.Exception") -> Refused:
    """404: the named object does not exist."""
    return Refused(404, _WEBAPP + "NotFoundException", f"{inner}: {message}")


def forbidden(message: str) -> Refused:
    """403: the caller is not allowed to do this."""
    return Refused(403, _WEBAPP + "ForbiddenException", f"java.lang.Exception: {message}")


def unauthorized(message: str) -> Refused:
    """401: the caller is not authenticated."""
    return Refused(401, "org.apache.hadoop.security.authorize.AuthorizationException", message)


def wrong_argument(message: str) -> Refused:
    """400: a value outside of an enumeration."""
    return Refused(400, "java.lang.IllegalArgumentException", message)


def wrong_form(message: str | None, status: int = 400, allow: str = "") -> Refused:
    """A body, a method or a media type that the path does not accept."""
    return Refused(status, "javax.ws.rs.WebApplicationException", message, allow)

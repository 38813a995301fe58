"""Refusals as Hadoop's exceptions."""

from fairshare.errors import InputError
from fairshare.hadoop.wire.exceptions import (
    ACCESS_CONTROL,
    JAVA_ACCESS_CONTROL,
    RETRIABLE,
    YARN,
    RpcError,
)

LATER = frozenset(("too-many-applications", "too-much-handed-in", "disk-full", "busy", "stopping"))
"""Refusals that may pass: clients try again."""


class Denied(RpcError):
    """The caller may not do it. Hadoop wraps that into a YarnException, whose message names the
    class; `of_application`: that of another package, as for changes of an application."""

    def __init__(self, message: str, *, of_application: bool = False) -> None:
        kind = JAVA_ACCESS_CONTROL if of_application else ACCESS_CONTROL
        super().__init__(YARN, f"{kind}: {message}")


def rpc_error(error: InputError) -> RpcError:
    """What a client gets whose input is refused."""
    return RpcError(RETRIABLE if error.code in LATER else YARN, str(error))


def wrapped(class_name: str, message: str) -> RpcError:
    """An exception of Java inside a YarnException, as Hadoop sends those that it did not expect."""
    return RpcError(YARN, f"{class_name}: {message}")

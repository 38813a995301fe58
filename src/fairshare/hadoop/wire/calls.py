"""What a handler of a method gets and gives: the caller, the request, the response."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct


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

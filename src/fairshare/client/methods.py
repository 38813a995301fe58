"""What a call is, and how one description of it becomes a method of each client.

A function under `method` returns a `Call`, or a `Conversation` of several. In a subclass of `Sent`
the method sends the calls and returns their result, in one of `SentInLoop` it is a coroutine
function that does so, and in one of `Returned` it returns what the function does. A function under
`following` returns a conversation that shows values on its way: its methods iterate over these.
Type checkers see the same.
"""

import functools
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload

import msgspec

Answer = TypeVar("Answer")
Result = TypeVar("Result")
P = ParamSpec("P")

Parameters = Mapping[str, str | int | float | None]


class Call(msgspec.Struct, Generic[Answer], frozen=True):
    """One question. A `body` is posted; `content`, bytes, is put; without either it is a GET with
    `parameters`.

    `understand` makes the answer of the decoded JSON, or, with `whole`, of the response as it came.
    `wait_s` is how long the server may take on purpose. In a conversation a `shielded` call is
    completed even if the task that waits for it is cancelled meanwhile. The answer of an
    `unpickled` call is run as code, so the server must be one of an expected account.
    """

    path: str
    understand: Callable[[Any], Answer]
    body: object = None
    parameters: Parameters = {}
    wait_s: float = 0.0
    whole: bool = False
    content: bytes = b""
    shielded: bool = False
    unpickled: bool = False


class Pause(msgspec.Struct, frozen=True):
    """A time in which a conversation asks nothing."""

    duration_s: float


class Yielded(msgspec.Struct, Generic[Answer], frozen=True):
    """A value that a conversation has on its way, for those who follow it."""

    value: Answer


Conversation = Generator[Call[Any] | Pause | Yielded[Any], Any, Result]
"""Several calls, each of which depends on the answers before: it yields a call, is sent the answer,
or is thrown what the call has raised, and returns the result. It may pause between calls,
and show values to its followers."""


def concluded(conversation: Conversation[Result]) -> Conversation[None]:
    """The same conversation, which shows at last what it returns."""
    yield Yielded((yield from conversation))


class Returned:
    """Its methods return the calls and conversations that they describe."""

    @staticmethod
    def _method(describe: Callable[..., object], way: str) -> Callable[..., Any]:
        return describe


class Sent:
    """Its methods send their calls over `connection`, and wait."""

    connection: Any

    @staticmethod
    @functools.cache
    def _method(describe: Callable[..., object], way: str) -> Callable[..., Any]:
        @functools.wraps(describe)
        def send(self: "Sent", *arguments: object, **named: object) -> Any:
            return getattr(self.connection, way)(describe(self, *arguments, **named))

        return _answering(send, Iterator if way == FOLLOW else None)


class SentInLoop:
    """Its methods send their calls over `connection`, and are awaited."""

    connection: Any

    @staticmethod
    @functools.cache
    def _method(describe: Callable[..., object], way: str) -> Callable[..., Any]:
        @functools.wraps(describe)
        async def send(self: "SentInLoop", *arguments: object, **named: object) -> Any:
            return await getattr(self.connection, way)(describe(self, *arguments, **named))

        @functools.wraps(describe)
        def follow(self: "SentInLoop", *arguments: object, **named: object) -> Any:
            return self.connection.follow(describe(self, *arguments, **named))

        return _answering(follow, AsyncIterator) if way == FOLLOW else _answering(send)


ASK, CONVERSE, FOLLOW = "ask", "converse", "follow"
"""What a connection does with a description: it sends one call, or holds a conversation, of which
it may yield what is shown."""


class method(Generic[P, Answer]):  # noqa: N801 - a decorator, as property is
    """Makes a method of each client of the description of one call or one conversation."""

    @overload
    def __init__(self, describe: Callable[Concatenate[Any, P], Call[Answer]]) -> None: ...
    @overload
    def __init__(self, describe: Callable[Concatenate[Any, P], Conversation[Answer]]) -> None: ...
    def __init__(self, describe: Callable[..., Any]) -> None:
        self._describe = describe
        self._way = CONVERSE if inspect.isgeneratorfunction(describe) else ASK
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Sent, owner: type) -> Callable[P, Answer]: ...
    @overload
    def __get__(
        self, client: SentInLoop, owner: type
    ) -> Callable[P, Coroutine[Any, Any, Answer]]: ...
    @overload
    def __get__(self, client: Returned, owner: type) -> Callable[P, Call[Answer]]: ...
    def __get__(self, client: object, owner: Any) -> Any:
        made = owner._method(self._describe, self._way)
        return made if client is None else made.__get__(client, owner)


class following(Generic[P, Answer]):  # noqa: N801 - a decorator, as property is
    """Makes a method of each client that iterates over what a conversation shows."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Conversation[Answer]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    @overload
    def __get__(self, client: Sent, owner: type) -> Callable[P, Iterator[Answer]]: ...
    @overload
    def __get__(self, client: SentInLoop, owner: type) -> Callable[P, AsyncIterator[Answer]]: ...
    def __get__(self, client: object, owner: Any) -> Any:
        made = owner._method(self._describe, FOLLOW)
        return made if client is None else made.__get__(client, owner)


def _answering(send: Callable[..., object], iterator: Any = None) -> Callable[..., Any]:
    """The function with the signature that users see: it returns the answer, not the call."""
    signature = inspect.signature(send)
    found = get_args(signature.return_annotation)[-1]
    answer = None if found is type(None) else iterator[found] if iterator else found
    send.__signature__ = signature.replace(return_annotation=answer)  # type: ignore[attr-defined]
    send.__annotations__ = {**send.__annotations__, "return": answer}
    return send

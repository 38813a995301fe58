"""Owns what a call is, and how one description of it becomes a method of each client.

A function under `method` returns a `Call`. In a subclass of `Sent` the method sends the call and
returns its answer, in one of `SentInLoop` it is a coroutine function that does so, and in one of
`Returned` it returns the call. Type checkers see the same. Knows no call by name.
"""

import functools
import inspect
from collections.abc import Callable, Coroutine, Generator, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, get_args, overload

import msgspec

Answer = TypeVar("Answer")
Result = TypeVar("Result")
P = ParamSpec("P")

Parameters = Mapping[str, str | int | float | None]


class Call(msgspec.Struct, Generic[Answer], frozen=True):
    """One question. A `body` is posted; `content`, bytes, is put; without either it is a GET with
    `parameters`.

    `understand` makes the answer of the decoded JSON, or, with `whole`, of the response as it came.
    `wait_s` is how long the server may take on purpose.
    """

    path: str
    understand: Callable[[Any], Answer]
    body: object = None
    parameters: Parameters = {}
    wait_s: float = 0.0
    whole: bool = False
    content: bytes = b""


Conversation = Generator[Call[Any], Any, Result]
"""Several calls, each of which depends on the answers before: it yields a call, is sent the answer,
or is thrown what the call has raised, and returns what came of it all."""


class _Asked(Protocol):
    def ask(self, call: Call[Answer]) -> Answer: ...


class _AskedInLoop(Protocol):
    async def ask(self, call: Call[Answer]) -> Answer: ...


class Returned:
    """Its methods return the calls that they describe."""

    @staticmethod
    def _method(describe: Callable[..., Any]) -> Callable[..., Any]:
        return describe


class Sent:
    """Its methods send their call over `connection`, and wait."""

    connection: _Asked

    @staticmethod
    @functools.cache
    def _method(describe: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(describe)
        def send(self: "Sent", *arguments: Any, **named: Any) -> Any:
            return self.connection.ask(describe(self, *arguments, **named))

        return _answering(send)


class SentInLoop:
    """Its methods send their call over `connection`, and are awaited."""

    connection: _AskedInLoop

    @staticmethod
    @functools.cache
    def _method(describe: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(describe)
        async def send(self: "SentInLoop", *arguments: Any, **named: Any) -> Any:
            return await self.connection.ask(describe(self, *arguments, **named))

        return _answering(send)


class method(Generic[P, Answer]):  # noqa: N801 - a decorator, as property is
    """Makes a method of each client of the description of one call."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[Answer]]) -> None:
        self._describe = describe
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
        made = owner._method(self._describe)
        return made if client is None else made.__get__(client, owner)


def _answering(send: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the signature that users see: it returns the answer, not the call."""
    signature = inspect.signature(send)
    (found,) = get_args(signature.return_annotation)
    answer = None if found is type(None) else found
    send.__signature__ = signature.replace(return_annotation=answer)  # type: ignore[attr-defined]
    send.__annotations__ = {**send.__annotations__, "return": answer}
    return send

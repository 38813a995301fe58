"""The HTTP conversation: one call, its answer, and every way in which it can fail.

Paths are relative to `/api/v1`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

import msgspec

from fairshare.api.cluster import Refusal
from fairshare.client.errors import START_ONE, AnswerNotUnderstood, Refused, ServerUnreachable
from fairshare.client.exchange import (
    READ_TIMEOUT_S,
    AnsweredTooLate,
    DoesNotLead,
    Exchange,
    ExchangeFailed,
    NotConnected,
    OtherAccount,
    Reply,
    Request,
)
from fairshare.client.methods import Call, Conversation, Pause, concluded
from fairshare.client.plain_http import LocalExchange, is_local
from fairshare.documents.ready import ready

Answer = TypeVar("Answer")
Result = TypeVar("Result")

SUCCESSES = range(200, 300)
STANDBY = 307
UNAVAILABLE = 503
STOPPING = "stopping"
LEADER_S = 30.0
"""How long a call waits until one of several servers leads, while at least one of them is there: a
standby needs some seconds to take over."""

PAUSE_S = 0.5


ExchangeT = TypeVar("ExchangeT")


class Address(ABC, Generic[ExchangeT]):
    """Where a server is, and what carries requests there.

    `elsewhere` is asked when no server listens at `url`, or one that is a standby: the addresses
    of servers that may have taken over.
    `transport` replaces the network, for tests.
    """

    _exchange: ExchangeT

    def __init__(
        self,
        url: str,
        token: str | None = None,
        transport: Any = None,
        elsewhere: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._token = token
        self._transport = transport
        self._elsewhere = elsewhere
        self._turn_to(url)

    def _turn_to(self, url: str) -> None:
        self.url = url
        self._exchange = self._exchange_with(url)

    @abstractmethod
    def _exchange_with(self, url: str) -> ExchangeT:
        """What carries requests to a server."""

    def _successor(
        self, error: ExchangeFailed, request: Request, search: "Search"
    ) -> tuple[str, float]:
        """The server that is to be asked instead, and how long to wait before that (s). Raises
        ServerUnreachable, or Refused, if none leads."""
        others = tuple(self._elsewhere()) if isinstance(error, NotConnected) else ()
        search.asked.add(self.url)
        search.there |= isinstance(error, DoesNotLead)
        if search.until_s is None:
            search.until_s = time.monotonic() + LEADER_S
        for pause_s in (0.0, PAUSE_S):
            for other in others:
                if other not in search.asked:
                    return other, pause_s
            if len(set(others)) < 2 or not search.there or time.monotonic() > search.until_s:
                break
            search.asked.clear()
        raise unreachable(error, self.url, request.read_s) from error


class Search:
    """The search of one call for the server that leads: the addresses that were asked since the
    last pause, and whether a server is there."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.there = False
        self.until_s: float | None = None


class Connection(Address[Exchange]):
    """One server, and the calls to it. May be used from several threads. A call raises
    ServerUnreachable, Refused or AnswerNotUnderstood and nothing else."""

    def _exchange_with(self, url: str) -> Exchange:
        if self._transport is None and is_local(url):
            return LocalExchange(url, self._token)
        from fairshare.client.httpx_exchange import HttpxExchange  # its import takes long

        return HttpxExchange(url, self._token, self._transport)

    def close(self) -> None:
        """Let the sockets go."""
        self._exchange.close()

    def ask(self, call: Call[Answer]) -> Answer:
        """What one call of `calls` comes to."""
        request = request_of(call)
        search = Search()
        while True:
            try:
                reply = leading(self._exchange.send(request))
            except ExchangeFailed as error:
                successor, pause_s = self._successor(error, request, search)
                time.sleep(pause_s)
                self._exchange.close()
                self._turn_to(successor)
            else:
                return answer_of(call, reply, self.url)

    def follow(self, conversation: Conversation[Any]) -> Iterator[Any]:
        """What a conversation shows, as soon as it does."""
        answer, error = None, None
        while True:
            try:
                step = conversation.throw(error) if error else conversation.send(answer)
            except StopIteration:
                return
            finally:
                answer, error = None, None  # an error that is raised would lead to itself
            try:
                if isinstance(step, Call):
                    answer = self.ask(step)
                elif isinstance(step, Pause):
                    time.sleep(step.duration_s)
                else:
                    yield step.value
            except BaseException as raised:
                error = raised

    def converse(self, conversation: Conversation[Result]) -> Result:
        """What a conversation returns."""
        result: Any = None
        for result in self.follow(concluded(conversation)):  # noqa: B007 - the last one
            pass
        returned: Result = result
        return returned

    def get(self, path: str, **parameters: str | int | float | None) -> Any:
        """The decoded JSON of a GET; parameters that are None are left out."""
        return self.ask(Call(path, _unchanged, parameters=parameters))

    def post(self, path: str, body: object) -> Any:
        """The decoded JSON of a POST; None when the answer is empty. `body` becomes JSON."""
        return self.ask(Call(path, _unchanged, body))


def _unchanged(answer: object) -> Any:
    return answer


def leading(reply: Reply) -> Reply:
    """The reply of a server that leads; raises DoesNotLead for another, which has done nothing."""
    if reply.status == STANDBY:
        raise DoesNotLead("it is a standby")
    if reply.status == UNAVAILABLE:
        answer = _refusal_in(reply)
        if answer is not None and answer.code == STOPPING:
            raise DoesNotLead("it is stopping", reply)
    return reply


def request_of(call: Call[Any]) -> Request:
    """A call as it is sent; parameters that are None are left out."""
    read_s = READ_TIMEOUT_S + call.wait_s
    if call.body is not None:
        content = msgspec.json.encode(call.body)
        return Request("POST", call.path, content=content, media_type="application/json")
    if call.content:
        kind = "application/octet-stream"
        return Request("PUT", call.path, read_s, content=call.content, media_type=kind)
    given = {name: value for name, value in call.parameters.items() if value is not None}
    return Request("GET", call.path, read_s, given, guarded=call.unpickled)


def answer_of(call: Call[Answer], reply: Reply, url: str) -> Answer:
    """What a reply means; raises Refused and AnswerNotUnderstood."""
    if reply.status not in SUCCESSES:
        raise refusal(reply, url)
    if call.whole:
        return call.understand(reply)
    nothing = call.body is not None and not reply.content
    return call.understand(None if nothing else decoded(reply, url))


def unreachable(error: ExchangeFailed, url: str, read_s: float) -> Exception:
    """What a call that brought no answer becomes."""
    if isinstance(error, OtherAccount):
        return ServerUnreachable(str(error), url)
    if isinstance(error, DoesNotLead):
        if error.reply is not None:
            return refusal(error.reply, url)
        return ServerUnreachable(
            f"the server at {url} is a standby, and none that is known leads: try again in a"
            " moment, or name the other server's address too, behind a comma",
            url,
        )
    if isinstance(error, NotConnected):
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServerUnreachable(
                f"the server at {url} cannot be verified ({error}), so nothing was sent: name the"
                " certificate of the authority that signed the server's in SSL_CERT_FILE, and call"
                " the server by a name that its certificate has",
                url,
            )
        return ServerUnreachable(f"no server at {url}: {START_ONE}", url)
    if isinstance(error, AnsweredTooLate):
        return ServerUnreachable(
            f"the server at {url} did not answer within {read_s:g} s: see whether its machine is"
            " overloaded, then try again",
            url,
        )
    return ServerUnreachable(
        f"the conversation with {url} broke off ({error}): see whether the server still runs, then"
        " try again",
        url,
    )


def refusal(reply: Reply, url: str) -> Exception:
    """The error that an unsuccessful answer becomes."""
    answer = _refusal_in(reply)
    if answer is None:
        return _strange(url, f"HTTP {reply.status} without a reason")
    return Refused(reply.status, answer.code, answer.message, answer.id)


def _refusal_in(reply: Reply) -> Refusal | None:
    try:
        return msgspec.json.decode(reply.content, type=ready(Refusal))
    except msgspec.DecodeError:
        return None


def decoded(reply: Reply, url: str) -> Any:
    """The JSON of an answer; raises AnswerNotUnderstood."""
    try:
        return msgspec.json.decode(reply.content)
    except msgspec.DecodeError as error:
        raise _strange(url, "no JSON") from error


def _strange(url: str, what: str) -> AnswerNotUnderstood:
    return AnswerNotUnderstood(
        f"what answers at {url} speaks otherwise ({what}): see whether it is a fairshare server,"
        " and of the same version as this client"
    )

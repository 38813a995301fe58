"""Owns the HTTP conversation: one call, its answer, and every way in which it can fail.

Paths are relative to `/api/v1`. Knows no application and no queue: what an answer means is said in
`answers`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from fairshare.api.cluster import Refusal
from fairshare.client.errors import START_ONE, AnswerNotUnderstood, Refused, ServerUnreachable
from fairshare.client.exchange import (
    READ_TIMEOUT_S,
    AnsweredTooLate,
    Exchange,
    ExchangeFailed,
    NotConnected,
    Reply,
    Request,
)
from fairshare.client.local_exchange import LocalExchange, is_local
from fairshare.errors import FairshareError

if TYPE_CHECKING:
    import httpx

    from fairshare.client.calls import Call, Conversation

Answer = TypeVar("Answer")
Result = TypeVar("Result")

SUCCESSES = range(200, 300)


class Connection:
    """One server, and the calls to it. May be used from several threads.

    `elsewhere` is asked when no server listens at `url`: a server that has taken over, or None.
    `transport` replaces the network, for tests. A call raises ServerUnreachable, Refused
    or AnswerNotUnderstood and nothing else.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        transport: "httpx.BaseTransport | None" = None,
        elsewhere: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._token = token
        self._transport = transport
        self._elsewhere = elsewhere
        self._turn_to(url)

    def _turn_to(self, url: str) -> None:
        self.url = url
        self._exchange = exchange_with(url, self._token, self._transport)

    def close(self) -> None:
        """Let the sockets go."""
        self._exchange.close()

    def ask(self, call: "Call[Answer]") -> Answer:
        """What one call of `calls` comes to."""
        if call.body is not None:
            return call.understand(self.post(call.path, call.body))
        if call.content:
            return call.understand(self.put(call.path, call.content, wait_s=call.wait_s))
        send = self.get_response if call.whole else self.get
        return call.understand(send(call.path, wait_s=call.wait_s, **call.parameters))

    def converse(self, conversation: "Conversation[Result]") -> Result:
        """What a conversation of several calls comes to."""
        try:
            call = next(conversation)
            while True:
                try:
                    answer = self.ask(call)
                except FairshareError as error:
                    call = conversation.throw(error)
                else:
                    call = conversation.send(answer)
        except StopIteration as end:
            result: Result = end.value
            return result

    def get(self, path: str, *, wait_s: float = 0.0, **parameters: str | int | float | None) -> Any:
        """The decoded JSON of a GET. `wait_s` is how long the server may take on purpose."""
        return self._decoded(self.get_response(path, wait_s=wait_s, **parameters))

    def get_response(
        self, path: str, *, wait_s: float = 0.0, **parameters: str | int | float | None
    ) -> Reply:
        """The answer to a GET whose body is not JSON; parameters that are None are left out."""
        return self._call(get_request(path, wait_s, parameters))

    def post(self, path: str, body: object) -> Any:
        """The decoded JSON of a POST; None when the answer is empty. `body` becomes JSON."""
        reply = self._call(post_request(path, body))
        return self._decoded(reply) if reply.content else None

    def put(self, path: str, content: bytes, *, wait_s: float = 0.0) -> Any:
        """The decoded JSON of a PUT of bytes."""
        return self._decoded(self._call(put_request(path, content, wait_s)))

    def _call(self, request: Request) -> Reply:
        try:
            reply = self._exchange.send(request)
        except NotConnected as error:
            other = self._elsewhere()
            if other is not None and other != self.url:
                self._exchange.close()
                self._turn_to(other)
                return self._call(request)
            raise unreachable(error, self.url, request.read_s) from error
        except ExchangeFailed as error:
            raise unreachable(error, self.url, request.read_s) from error
        return successful(reply, self.url)

    def _decoded(self, reply: Reply) -> Any:
        return decoded(reply, self.url)


def exchange_with(url: str, token: str | None, transport: "httpx.BaseTransport | None") -> Exchange:
    """What carries the requests to a server."""
    if transport is None and is_local(url):
        return LocalExchange(url, token)
    from fairshare.client.httpx_exchange import HttpxExchange  # its import takes long

    return HttpxExchange(url, token, transport)


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without those that are None."""
    return {name: value for name, value in parameters.items() if value is not None}


def reading_s(wait_s: float) -> float:
    """How long an answer may take that the server delays for `wait_s` on purpose."""
    return READ_TIMEOUT_S + wait_s


def get_request(path: str, wait_s: float, parameters: Mapping[str, Any]) -> Request:
    """A GET; parameters that are None are left out."""
    return Request("GET", path, reading_s(wait_s), given(parameters))


def post_request(path: str, body: object) -> Request:
    """A POST of a body as JSON."""
    content = msgspec.json.encode(body)
    return Request("POST", path, content=content, media_type="application/json")


def put_request(path: str, content: bytes, wait_s: float) -> Request:
    """A PUT of bytes."""
    return Request(
        "PUT", path, reading_s(wait_s), content=content, media_type="application/octet-stream"
    )


def successful(reply: Reply, url: str) -> Reply:
    """The answer; raises the error of one that is not a success."""
    if SUCCESSES.start <= reply.status < SUCCESSES.stop:
        return reply
    raise refusal(reply, url)


def unreachable(error: ExchangeFailed, url: str, read_s: float) -> ServerUnreachable:
    """What a call that brought no answer becomes."""
    if isinstance(error, NotConnected):
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServerUnreachable(
                f"who answers at {url} cannot be verified ({error}), so nothing was sent: name the"
                " certificate of who has signed the server's in SSL_CERT_FILE, and call the server"
                " by a name that its certificate has",
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
    try:
        answer = msgspec.json.decode(reply.content, type=Refusal)
    except msgspec.DecodeError:
        return _strange(url, f"HTTP {reply.status} without a reason")
    return Refused(reply.status, answer.code, answer.message, answer.id)


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

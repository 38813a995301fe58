"""Owns the HTTP conversation: one call, its answer, and every way in which it can fail.

Paths are relative to `/api/v1`. Knows no application and no queue: what an answer means is said in
`answers`.
"""

import os
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from fairshare.api.cluster import Refusal
from fairshare.client.discovery import UNIX, is_loopback
from fairshare.client.errors import START_ONE, AnswerNotUnderstood, Refused, ServerUnreachable
from fairshare.errors import FairshareError, InputError

if TYPE_CHECKING:
    from fairshare.client.calls import Call, Conversation

Answer = TypeVar("Answer")
Result = TypeVar("Result")

BASE = "/api/v1"
CONNECT_TIMEOUT_S = 5.0
READ_TIMEOUT_S = 30.0


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
        transport: httpx.BaseTransport | None = None,
        elsewhere: Callable[[], str | None] = lambda: None,
    ) -> None:
        self._token = token
        self._transport = transport
        self._elsewhere = elsewhere
        self._turn_to(url)

    def _turn_to(self, url: str) -> None:
        self.url = url
        transport = self._transport or unix_transport(url)
        self._http = httpx.Client(transport=transport, **manners(url, self._token))

    def close(self) -> None:
        """Let the sockets go."""
        self._http.close()

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
    ) -> httpx.Response:
        """The answer to a GET whose body is not JSON; parameters that are None are left out."""
        return self._call("GET", path, wait_s=wait_s, params=given(parameters))

    def post(self, path: str, body: object) -> Any:
        """The decoded JSON of a POST; None when the answer is empty. `body` becomes JSON."""
        response = self._call("POST", path, **written(body))
        return self._decoded(response) if response.content else None

    def put(self, path: str, content: bytes, *, wait_s: float = 0.0) -> Any:
        """The decoded JSON of a PUT of bytes."""
        return self._decoded(self._call("PUT", path, wait_s=wait_s, **octets(content)))

    def _call(self, method: str, path: str, *, wait_s: float = 0.0, **more: Any) -> httpx.Response:
        read_s = READ_TIMEOUT_S + wait_s
        timeout = httpx.Timeout(read_s, connect=CONNECT_TIMEOUT_S)
        try:
            response = self._http.request(method, path, timeout=timeout, **more)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            other = self._elsewhere()
            if other is not None and other != self.url:
                self._http.close()
                self._turn_to(other)
                return self._call(method, path, wait_s=wait_s, **more)
            raise unreachable(error, self.url, read_s) from error
        except httpx.HTTPError as error:
            raise unreachable(error, self.url, read_s) from error
        return successful(response, self.url)

    def _decoded(self, response: httpx.Response) -> Any:
        return decoded(response, self.url)


def manners(url: str, token: str | None) -> dict[str, Any]:
    """How requests are made, synchronous or not."""
    return {
        # Certificates take 20 ms to read; redirections, which could lead to TLS, are not followed.
        "verify": trust() if url.startswith("https:") else False,
        "base_url": http_address(url) + BASE,
        "headers": {"Authorization": f"Bearer {token}"} if token else {},
        "timeout": httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        "trust_env": not is_loopback(url),
    }


def http_address(url: str) -> str:
    """The beginning of the URLs of a server, which has no name of its own on a Unix socket.

    >>> http_address("unix:/run/fairshare/fairshare.sock"), http_address("http://127.0.0.1:8088")
    ('http://localhost', 'http://127.0.0.1:8088')
    """
    return "http://localhost" if url.startswith(UNIX) else url


def unix_transport(url: str) -> httpx.BaseTransport | None:
    """What carries the calls to a Unix socket; None for another address."""
    if not url.startswith(UNIX):
        return None
    return httpx.HTTPTransport(verify=False, uds=url.removeprefix(UNIX))


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without those that are None."""
    return {name: value for name, value in parameters.items() if value is not None}


def written(body: object) -> dict[str, Any]:
    """A body as JSON."""
    content = msgspec.json.encode(body)
    return {"content": content, "headers": {"Content-Type": "application/json"}}


def octets(content: bytes) -> dict[str, Any]:
    """A body of bytes."""
    return {"content": content, "headers": {"Content-Type": "application/octet-stream"}}


def successful(response: httpx.Response, url: str) -> httpx.Response:
    """The response; raises the error of one that is not a success."""
    if response.is_success:
        return response
    raise refusal(response, url)


def unreachable(error: httpx.HTTPError, url: str, read_s: float) -> ServerUnreachable:
    """What a call that brought no answer becomes."""
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServerUnreachable(
                f"who answers at {url} cannot be verified ({error}), so nothing was sent: name the"
                " certificate of who has signed the server's in SSL_CERT_FILE, and call the server"
                " by a name that its certificate has",
                url,
            )
        return ServerUnreachable(f"no server at {url}: {START_ONE}", url)
    if isinstance(error, httpx.TimeoutException):
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


def refusal(response: httpx.Response, url: str) -> Exception:
    """The error that an unsuccessful answer becomes."""
    try:
        answer = msgspec.json.decode(response.content, type=Refusal)
    except msgspec.DecodeError:
        return _strange(url, f"HTTP {response.status_code} without a reason")
    return Refused(response.status_code, answer.code, answer.message, answer.id)


def decoded(response: httpx.Response, url: str) -> Any:
    """The JSON of an answer; raises AnswerNotUnderstood."""
    try:
        return msgspec.json.decode(response.content)
    except msgspec.DecodeError as error:
        raise _strange(url, "no JSON") from error


def _strange(url: str, what: str) -> AnswerNotUnderstood:
    return AnswerNotUnderstood(
        f"what answers at {url} speaks otherwise ({what}): see whether it is a fairshare server,"
        " and of the same version as this client"
    )


def trust() -> ssl.SSLContext | bool:
    """Whose certificates are believed: what SSL_CERT_FILE and SSL_CERT_DIR say, else httpx's own
    list of authorities. They count for this machine too, whose proxies do not."""
    if os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"):
        return ssl.create_default_context()
    return True


def segment(text: str) -> str:
    """One part of a path, so that an odd name cannot become another path.

    Raises InputError (`no-name`) for what would be another path however it is written.

    >>> segment("a/../b")
    'a%2F..%2Fb'
    """
    if text in ("", ".", ".."):
        raise InputError("no-name", f"{text!r} names nothing: write an id, a number or a name")
    return quote(text, safe="")

"""Calls to a ResourceManager, of YARN or fairshare, and their errors.

Paths are relative to `/ws/v1/cluster`. Of several ResourceManagers the first that answers is used;
a standby one redirects to the active one.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from fairshare.client.discovery import is_loopback
from fairshare.client.errors import AnswerNotUnderstood, ServerUnreachable
from fairshare.client.exchange import OtherAccount, http_address
from fairshare.client.httpx_exchange import checking, closing, trust, unix_transport
from fairshare.errors import FairshareError
from fairshare.yarn.cli.addresses import Addresses
from fairshare.yarn.cli.documents import Fields, decoded

BASE = "/ws/v1/cluster"
OWN_BASE = "/api/v1"
TIMEOUT_S = 30.0
NOT_FOUND = 404
ACCEPTED = 202


class RemoteRefusal(FairshareError):
    """The ResourceManager refused a call. `exception` is the name of the Java exception, or ""."""

    def __init__(self, status: int, exception: str, message: str) -> None:
        self.status = status
        self.exception = exception
        self.message = message
        super().__init__(message or exception or f"HTTP {status}")


class Impossible(FairshareError):
    """REST does not support the operation; the message says why, and names an alternative."""


class ResourceManager:
    """Calls to one cluster as `user`.

    Each raises ServerUnreachable, RemoteRefusal or AnswerNotUnderstood.
    """

    def __init__(
        self,
        addresses: Addresses,
        user: str | None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.addresses = addresses
        self.user = user
        self._transport = transport
        self._connections: dict[str, httpx.Client] = {}
        self._answers_at: str | None = None

    def get(self, path: str, **parameters: str) -> Any:
        """The document of a GET."""
        return self._document(self.call("GET", path, parameters))

    def put(self, path: str, body: object) -> httpx.Response:
        """Send a PUT with a JSON document."""
        return self.call("PUT", path, {}, body)

    def post(self, path: str, body: object = None, **parameters: str) -> httpx.Response:
        """Send a POST, optionally with a JSON document."""
        return self.call("POST", path, parameters, {} if body is None else body)

    def call(
        self, method: str, path: str, parameters: Mapping[str, str], body: object = None
    ) -> httpx.Response:
        """Send one call below `/ws/v1/cluster`."""
        named = {**parameters, **({"user.name": self.user} if self.user else {})}
        more = {} if body is None else {"json": body}
        return self._checked(self._send(method, BASE + path, params=named, **more))

    def own(self, method: str, path: str, body: object = None) -> httpx.Response | None:
        """Call fairshare's own interface; None if the server has none."""
        more = {} if body is None else {"json": body}
        answer = self._send(method, OWN_BASE + path, **more)
        kind = answer.headers.get("content-type", "")
        if answer.status_code == NOT_FOUND and "json" not in kind:
            return None
        return self._checked(answer)

    def text_at(self, url: str) -> httpx.Response:
        """The content at another address, such as a node's; the token is not sent."""
        try:
            with self._open(url, None) as http:
                parameters = {"user.name": self.user} if self.user else {}
                # Nodes send logs as text, and refuse requests that only accept JSON.
                return self._checked(http.get(url, params=parameters, headers={"Accept": "*/*"}))
        except httpx.HTTPError as error:
            raise ServerUnreachable(f"{url}: {error}", url) from error

    def info(self, name: str) -> Fields:
        """`clusterInfo` of the ResourceManager with this id, active or not."""
        url = self.addresses.urls[name]
        response = self._request(url, "GET", f"{BASE}/info")
        found: Fields = self._document(self._checked(response))["clusterInfo"]
        return found

    @property
    def url(self) -> str:
        """The URL of the ResourceManager that answered last, otherwise of the first one."""
        return self._answers_at or next(iter(self.addresses.urls.values()))

    def close(self) -> None:
        """Close the connections."""
        for connection in self._connections.values():
            connection.close()

    def _open(self, url: str, token: str | None) -> httpx.Client:
        return httpx.Client(
            verify=trust(),
            headers={
                "Accept": "application/json",
                **({"Authorization": f"Bearer {token}"} if token else {}),
            },
            timeout=TIMEOUT_S,
            transport=self._transport or unix_transport(url),
            trust_env=not is_loopback(url),
            follow_redirects=True,  # a standby one redirects to the active one
        )

    def _send(self, method: str, path: str, **more: Any) -> httpx.Response:
        unreachable: ServerUnreachable | None = None
        urls = list(self.addresses.urls.values())
        for url in sorted(urls, key=lambda one: one != self._answers_at):
            try:
                response = self._request(url, method, path, **more)
            except ServerUnreachable as error:
                unreachable = unreachable or error
                continue
            self._answers_at = url
            return response
        assert unreachable is not None  # there is at least one address
        raise unreachable

    def _request(self, url: str, method: str, path: str, **more: Any) -> httpx.Response:
        if url not in self._connections:
            self._connections[url] = self._open(url, self.addresses.token)
        if self.addresses.token and self._transport is None:
            more["extensions"] = {"trace": closing(checking(url))}
        try:
            return self._connections[url].request(method, http_address(url) + path, **more)
        except OtherAccount as error:
            raise ServerUnreachable(str(error), url) from error
        except (httpx.HTTPError, httpx.TooManyRedirects) as error:
            raise ServerUnreachable(
                f"no ResourceManager answers at {url} ({error}): name its web address with --url,"
                " or in yarn.resourcemanager.webapp.address of yarn-site.xml in HADOOP_CONF_DIR",
                url,
            ) from error

    def _document(self, response: httpx.Response) -> Any:
        try:
            return decoded(response.content)
        except ValueError as error:
            raise AnswerNotUnderstood(
                f"what answers at {response.url} sends no JSON: see whether it is a ResourceManager"
            ) from error

    def _checked(self, response: httpx.Response) -> httpx.Response:
        if response.is_success:
            return response
        status = response.status_code
        try:
            answer = decoded(response.content)
        except ValueError:
            html = "html" in response.headers.get("content-type", "")
            text = "" if html else response.text.strip()
            raise RemoteRefusal(status, "", text or f"HTTP {status} of {response.url}") from None
        if isinstance(answer, str):
            raise RemoteRefusal(status, "", answer)
        remote = answer.get("RemoteException", answer) if isinstance(answer, dict) else {}
        message = str(remote.get("message") or "")
        raise RemoteRefusal(
            status,
            str(remote.get("exception") or ""),
            message.removeprefix("java.lang.Exception: "),
        )


def segment(text: str) -> str:
    """One segment of a path, quoted so that a name cannot form another path."""
    return quote(text, safe=":")

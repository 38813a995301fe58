"""Calls to a ResourceManager, of YARN or fairshare, their errors, and where it is.

Its address is found in this order: `--url`; `-D` and `--config DIR`; FAIRSHARE_URL; yarn-site.xml
in YARN_CONF_DIR or HADOOP_CONF_DIR; the fairshare server of this user. The relevant properties of
yarn-site.xml are yarn.resourcemanager.webapp.address (with .ID for each of
yarn.resourcemanager.ha.rm-ids), yarn.resourcemanager.hostname, and yarn.http.policy. Paths are
relative to `/ws/v1/cluster`. Of several ResourceManagers the first that answers is used; a standby
one redirects to the active one.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import msgspec

from fairshare.client.discovery import (
    TOKEN_VARIABLE,
    URL_VARIABLE,
    checked_url,
    find_url,
    find_urls,
    is_loopback,
)
from fairshare.client.errors import AnswerNotUnderstood, ServerUnreachable
from fairshare.client.exchange import OtherAccount, http_address
from fairshare.client.httpx_exchange import checking, closing, trust, unix_transport
from fairshare.documents.problems import Problems
from fairshare.errors import FairshareError
from fairshare.settings.site import Site
from fairshare.settings.site_files import read_site
from fairshare.yarn.cli.documents import Fields, decoded

_RM = "yarn.resourcemanager."
_HOST = _RM + "hostname"
_FILES = ("core-site.xml", "yarn-site.xml")
_ANYWHERE = ("0.0.0.0", "::", "[::]")  # noqa: S104 - read, never bound


class Addresses(msgspec.Struct, frozen=True):
    """`urls` are the URLs of the ResourceManagers by id ("" if there is only one).

    `token` is the token to send, None if they are not the fairshare server that issued it.
    """

    urls: dict[str, str]
    token: str | None = None

    @property
    def available(self) -> bool:
        """Whether there are several, one of them active (high availability)."""
        return "" not in self.urls


def find_addresses(
    url: str | None,
    directory: Path | None,
    properties: Mapping[str, str],
    environment: Mapping[str, str],
) -> Addresses:
    """The addresses; raises ServerUnreachable, or ConfigurationError with every problem."""
    token = environment.get(TOKEN_VARIABLE)
    if url:
        return Addresses({"": checked_url(url, "--url")}, token)
    if directory is None and not properties:
        if environment.get(URL_VARIABLE):
            urls = find_urls(environment)
            names = [""] if len(urls) == 1 else urls
            return Addresses(dict(zip(names, urls, strict=True)), token)
        directory = configured_directory(environment)
        if directory is None:
            return Addresses({"": find_url(environment)}, token)
    return Addresses(_of_site(_site(directory, properties, environment)))


def configured_directory(environment: Mapping[str, str]) -> Path | None:
    """The directory of Hadoop's files, if it contains a yarn-site.xml."""
    for variable in ("YARN_CONF_DIR", "HADOOP_CONF_DIR"):
        named = environment.get(variable)
        if named and (Path(named) / "yarn-site.xml").is_file():
            return Path(named)
    return None


def _site(
    directory: Path | None, properties: Mapping[str, str], environment: Mapping[str, str]
) -> Site:
    problems = Problems()
    documents = []
    for name in _FILES if directory is not None else ():
        assert directory is not None
        path = directory / name
        if path.is_file() or name == "yarn-site.xml":
            documents.append((str(path), path.read_bytes()))
    site = read_site(documents, problems, environment, _include)
    problems.raise_errors()
    site = site.with_values(properties, "-D")
    # Addresses may refer to it as a variable, even if it is not set.
    return site if _HOST in site else site.with_values({_HOST: "127.0.0.1"})


def _include(file: str, reference: str) -> tuple[str, bytes]:
    path = Path(file).parent / reference
    return str(path), path.read_bytes()


def _of_site(site: Site) -> dict[str, str]:
    problems = Problems()
    secure = site.string("yarn.http.policy", "HTTP_ONLY", problems).upper() == "HTTPS_ONLY"
    many = site.boolean(_RM + "ha.enabled", False, problems)
    names = site.strings(_RM + "ha.rm-ids", problems) if many else ("",)
    urls = {}
    for name in names:
        end = f".{name}" if name else ""
        host = site.string(f"{_RM}hostname{end}", "127.0.0.1", problems)
        scheme, port = ("https", 8090) if secure else ("http", 8088)
        key = _RM + ("webapp.https.address" if secure else "webapp.address") + end
        written = site.string(key, f"{host}:{port}", problems)
        host, divider, number = written.rpartition(":")
        if not divider:
            host, number = written, str(port)
        host = "127.0.0.1" if host in _ANYWHERE else host
        urls[name] = checked_url(f"{scheme}://{host}:{number}", key)
    problems.raise_errors()
    return urls


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

    def _send(self, method: str, path: str, **more: object) -> httpx.Response:
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

"""The socket and the web server: binds to a loopback address, serves until it is stopped.

A signal shuts the server down in order; a second one has its default effect and ends it at once.
"""

import asyncio
import contextlib
import errno
import gc
import ipaddress
import logging
import math
import os
import pwd
import resource
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import uvicorn

from fairshare.errors import ConfigurationError, FairshareError
from fairshare.server.access.pam import FOLDERS, is_service
from fairshare.server.access.proxies import Proxies
from fairshare.server.access.repeated_messages import INTERVAL_S
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings
from fairshare.server.web.app import build_app
from fairshare.server.web.authentication import KEY
from fairshare.server.web.connections import Crowd, connection_class
from fairshare.server.web.unix_socket import bound, check_socket
from fairshare.settings.engines import runs_here
from fairshare.this_machine import accounts_listening

_log = logging.getLogger("fairshare.access")

BACKLOG = 256
HEADER_ROOM_BYTES = 64 * 1024
"""Above the limit for headers, so that headers between the two are refused with a reason."""
GRACE_S = 5
"""How long an open request may delay the shutdown of the server."""
RETRY_S = 1.0
"""The pause before a port that was in use is tried again."""


class PortInUse(FairshareError):
    """Another program listens at the port."""


class _Web(uvicorn.Server):
    """uvicorn's server without its own signal handlers, and with a callback when it accepts."""

    def __init__(self, config: uvicorn.Config, local: socket.socket | None) -> None:
        super().__init__(config)
        self.accepting = asyncio.Event()
        self._local = local

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As in uvicorn, and then call back."""
        await super().startup(sockets)
        if self._local is not None:
            loop = asyncio.get_running_loop()
            # Without TLS, also where the network has it: no one listens in on a Unix socket.
            self.servers.append(await loop.create_unix_server(self._protocol, sock=self._local))
        self.accepting.set()

    async def listen_later(self, host: str, port: int) -> None:
        """Listen at a port as soon as the program that has it has ended."""
        while True:
            await asyncio.sleep(RETRY_S)
            try:
                listener = bind(host, port)
            except FairshareError:
                continue
            loop = asyncio.get_running_loop()
            made = loop.create_server(self._protocol, sock=listener, ssl=self.config.ssl)
            self.servers.append(await made)
            _log.warning("port %d of %s has become free: this server listens there now", port, host)
            return

    def _protocol(self) -> asyncio.Protocol:
        made: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made


class _Sparing(logging.Filter):
    """Passes only the first line of messages that any client can make uvicorn log without limit."""

    def __init__(self) -> None:
        super().__init__()
        self._said_s = -math.inf

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a line."""
        if record.levelno != logging.WARNING:
            return True
        now_s = time.monotonic()
        if now_s - self._said_s < INTERVAL_S:
            return False
        self._said_s = now_s
        record.msg = f"{record.msg} (said once in {INTERVAL_S:.0f} s)"
        return True


def bind(host: str, port: int, preferred_port: int | None = None) -> socket.socket:
    """A listening socket on a loopback address. Port 0 is any free one, `preferred_port` if it is.

    Raises ConfigurationError for an address of the network, PortInUse, and FairshareError.
    """
    address = address_of(host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    if port == 0 and preferred_port is not None:
        with contextlib.suppress(OSError):
            return _listen(family, address, preferred_port)
    try:
        return _listen(family, address, port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"port {port} of {host} is in use{_by_owner(address, port)}: stop the program that"
                " listens there, choose another port with --port, or any free one with --port 0"
            ) from error
        raise FairshareError(f"cannot listen on {host}, port {port}: {error.strerror}") from error


def _by_owner(address: str, port: int) -> str:
    names = []
    for account in sorted(accounts_listening(address, port)):
        try:
            names.append(pwd.getpwuid(account).pw_name)
        except KeyError:
            names.append(str(account))
    return f" by a program of {', '.join(names)}" if names else ""


def _bound_port(server: LiveServer) -> tuple[socket.socket | None, str]:
    """The listener, and the URL that it has. None if the port is in use and the server can be
    reached over its Unix socket: any account can take a free port, and must not keep the server
    from starting."""
    settings = server.settings
    scheme = "https" if settings.certificate else "http"
    try:
        # Drivers that are still running know the last address of this state directory.
        listener = bind(settings.host, settings.port, port_of(server.directory.url()))
    except PortInUse as error:
        if settings.socket is None:
            raise
        _log.warning("%s. Until then this server listens on %s alone", error, settings.socket)
        return None, _url(scheme, address_of(settings.host), settings.port)
    return listener, url_of(listener, scheme)


def address_of(host: str) -> str:
    """The address that a host of the configuration means: `localhost` is 127.0.0.1.

    Raises ConfigurationError for an invalid address.
    """
    name = "127.0.0.1" if host == "localhost" else host.strip("[]")
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise ConfigurationError(
            [f"host {host!r} is not an IP address: write 127.0.0.1, or 0.0.0.0 for all of them"]
        ) from None
    return name


def check_exposure(settings: LiveSettings) -> None:
    """Raise ConfigurationError for a network address where authentication is off, and where every
    account of this machine could run commands as root."""
    check_socket(settings.socket, settings.socket_group)
    if settings.run_as == "user" and not settings.authentication.required:
        raise ConfigurationError(
            [
                'run_as = "user" below [engine] needs [authentication] in fairshare.toml: without'
                " it all who can reach the server could run commands under any account"
            ]
        )
    if settings.authentication.required:
        address_of(settings.host)
    else:
        loopback_address(settings.host)
    _check_passwords(settings)
    if not settings.trust_local_users and (problem := open_root(settings)):
        raise ConfigurationError(
            [
                f"{problem}. `fairshare init` writes a configuration with which containers run"
                " under the accounts of their users; else start the server under another account,"
                " or give --trust-local-users if this is meant"
            ]
        )


def open_root(settings: LiveSettings) -> str:
    """How every account of this machine could run commands as root; empty if none could.

    The accounts of NodeManagers are Hadoop's matter.
    """
    if os.geteuid() or settings.run_as == "user" or settings.engine == "nodemanagers":
        return ""
    if not settings.authentication.required:
        callers = "callers need no proof"
    elif settings.socket is not None and settings.socket_group is None:
        callers = f"{settings.socket} is open to all"
    elif settings.authentication.pam_service is not None:
        callers = "the password of any account opens it"
    elif settings.hadoop.enabled == "yes":
        callers = "callers of Hadoop's ports need no proof"
    else:
        return ""
    return (
        f"this server is root's, its containers run under its account, and {callers}: every"
        " account of this machine could run commands as root"
    )


def _check_passwords(settings: LiveSettings) -> None:
    """Raise ConfigurationError where passwords would cross a network as plain text, or where PAM
    could not be asked about them."""
    service = settings.authentication.pam_service
    if service is None:
        return
    problems = []
    if os.geteuid():
        problems.append("only a server of root can examine the passwords of all accounts")
    if not is_service(service):
        problems.append(f"there is no {FOLDERS[0] / service}: name a service that is there")
    here = ipaddress.ip_address(address_of(settings.host)).is_loopback
    if not (here or settings.certificate or settings.authentication.proxies):
        problems.append(
            f"passwords would cross the network to {settings.host} as plain text: name a"
            " certificate and its key below [server], or listen on 127.0.0.1"
        )
    if problems:
        raise ConfigurationError(
            [f"pam_service below [authentication] in fairshare.toml: {one}" for one in problems]
        )


def warn_of_exposure(settings: LiveSettings) -> None:
    """Log a warning where tokens and all other data cross the network as plain text, and where
    containers have the account that is an administrator on the Unix socket."""
    if settings.socket is not None and settings.run_as == "server" and runs_here(settings.engine):
        _log.warning(
            "containers run under the server's account, which is an administrator on the Unix"
            ' socket: write run_as = "user" below [engine] if users need not trust each other'
        )
    if settings.certificate or settings.authentication.proxies:
        return
    address = address_of(settings.host)
    if not ipaddress.ip_address(address).is_loopback:
        _log.warning(
            "listening on %s without TLS: all who can listen to the network read the tokens of all"
            " users. Name a certificate and its key below [server] in fairshare.toml, or put a"
            " proxy that speaks TLS before the server and name it below [authentication]",
            address,
        )


def loopback_address(host: str) -> str:
    """The loopback address that a name of this machine means.

    >>> loopback_address("localhost"), loopback_address("[::1]")
    ('127.0.0.1', '::1')
    """
    name = address_of(host)
    if ipaddress.ip_address(name).is_loopback:
        return name
    raise ConfigurationError(
        [
            f"host {host!r}: everyone who can reach this address could act as any user, since "
            "users need no proof of who they are. Write `tokens = true` below [authentication] in "
            "fairshare.toml and make a token for each user (fairshare admin token create USER), "
            "name a proxy that knows its users, or listen on 127.0.0.1"
        ]
    )


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # The protocol is given because asyncio disables Nagle's algorithm only then. With Nagle's
    # algorithm, every answer would wait 40 ms for the client to acknowledge its header.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # The port can be bound again right after a crash; two listeners are still impossible.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except BaseException:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    """The URL of a socket: `http://127.0.0.1:8088`, also for one that listens on all addresses."""
    return _url(scheme, *listener.getsockname()[:2])


def _url(scheme: str, address: str, port: int) -> str:
    address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)  # noqa: S104
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"


def port_of(url: str | None) -> int | None:
    """The port of a stored URL; None if it has none."""
    try:
        return urlsplit(url or "").port
    except ValueError:
        return None


class AttachedServer(Protocol):
    """A further interface of a server, on sockets of its own."""

    async def start(self) -> None:
        """Serve; called when the server has started. Raises FairshareError."""

    async def stop(self) -> None:
        """Stop serving; called before the server ends."""


async def serve(
    server: LiveServer, ready: Callable[[str], None], attached: Sequence[AttachedServer] = ()
) -> None:
    """Bind, start the server, call `ready` with the URL when it answers, and serve until its end.

    `attached` are started and stopped with it: they are open as long as the web server answers.

    Raises FairshareError, also when the service failed.
    """
    settings = server.settings
    try:
        listener, url = _bound_port(server)
        with (
            contextlib.closing(listener) if listener else contextlib.nullcontext(),
            _local_socket(settings) as local,
        ):
            await server.start(url)
            gc.freeze()  # what was recovered mostly stays: no collection looks at it
            warn_of_exposure(settings)
            with _stop_on_signals(server):
                async with contextlib.AsyncExitStack() as opened:
                    for one in attached:
                        await one.start()
                        opened.push_async_callback(one.stop)
                    await _serve_until_stopped(server, listener, local, ready, opened.aclose)
    finally:
        await server.close()
    failure = server.service.failure
    if failure is not None:
        more = "" if isinstance(failure, FairshareError) else f" {server.directory.log} says more."
        raise FairshareError(
            f"the server had to stop: {failure}.{more} What runs goes on running, and the next "
            "server takes it over"
        ) from failure


def _local_socket(
    settings: LiveSettings,
) -> contextlib.AbstractContextManager[socket.socket | None]:
    """The Unix socket, if there is one."""
    if settings.socket is None:
        return contextlib.nullcontext()
    return bound(Path(settings.socket), settings.socket_group)


async def _serve_until_stopped(
    server: LiveServer,
    listener: socket.socket | None,
    local: socket.socket | None,
    ready: Callable[[str], None],
    close_attached: Callable[[], Awaitable[None]],
) -> None:
    web = web_server(server.settings, build_app(server), server.authentication.proxies, local)
    sparing = _Sparing()
    logging.getLogger("uvicorn.error").addFilter(sparing)
    serving = asyncio.create_task(web.serve(sockets=[listener] if listener else []))
    ends = [
        asyncio.create_task(event.wait()) for event in (server.stop_requested, server.service.ended)
    ]
    settings = server.settings
    accepting = asyncio.create_task(web.accepting.wait())
    others: list[asyncio.Task[Any]] = [accepting, *ends]
    await asyncio.wait({accepting, serving, *ends}, return_when=asyncio.FIRST_COMPLETED)
    if accepting.done():
        ready(server.url if listener else f"unix:{settings.socket}")
        if listener is None:
            others.append(asyncio.create_task(web.listen_later(settings.host, settings.port)))
    await asyncio.wait({serving, *ends}, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    try:
        # The listener closes last: clients see the server as alive as long as it answers.
        await close_attached()
        await server.end()
    finally:
        web.should_exit = True
        await serving
        logging.getLogger("uvicorn.error").removeFilter(sparing)


def web_server(
    settings: LiveSettings,
    app: Callable[..., object],
    proxies: Proxies,
    local: socket.socket | None = None,
) -> _Web:
    """A web server with the limits of the settings; it also serves a Unix socket."""
    limits = settings.limits
    crowd = Crowd(limits, proxies, most_connections(limits.connections))
    config = uvicorn.Config(
        app,
        http=connection_class(crowd, KEY),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        # This server decides itself which proxies it trusts (`addresses.py`).
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        h11_max_incomplete_event_size=limits.header_kb * 1024 + HEADER_ROOM_BYTES,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    return _Web(config, local)


def most_connections(wanted: int) -> int:
    """How many connections may be open at once: a quarter of the files that the system lets this
    process open is for everything else."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY or wanted <= allowed * 3 // 4:
        return wanted
    most = max(10, allowed * 3 // 4)
    _log.info(
        "this process may open %d files, so that %d connections are taken at once, and not %d:"
        " raise the limit (ulimit -n, LimitNOFILE=), or lower `connections` below [limits]",
        *(allowed, most, wanted),
    )
    return most


@contextlib.contextmanager
def _stop_on_signals(server: LiveServer) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def stop() -> None:
        server.request_stop()
        release()

    def release() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)

    for number in numbers:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        release()

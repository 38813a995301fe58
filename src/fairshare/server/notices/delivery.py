"""How a notice is sent: a POST to a webhook, a mail, a command. Each call may block.

The users of the cluster choose the target, and the server may be root: a webhook goes to public
addresses only, or to what the configuration lists; a command runs as the application's user.
"""

import asyncio
import ipaddress
import smtplib
import socket
import ssl
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

import msgspec

from fairshare.documents.notice_targets import parse_target
from fairshare.engines.protocol import CommandAside
from fairshare.errors import EngineError, FairshareError
from fairshare.server.notices.store import HOOK, Notice, subject_of, text_of
from fairshare.settings.shell import NotifySettings
from fairshare.wording import cause

TIMEOUT_S: Final = 10.0
POST_S: Final = 30.0
COMMAND_S: Final = 60.0
MAX_ERROR: Final = 200
MAX_SAID: Final = 120
COMMANDS_REFUSED: Final = (
    "commands are run only where containers run on the server's machine; notify a webhook or a"
    " mail address"
)
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_UNICAST: Final = ipaddress.IPv6Network("2000::/3")
"""All addresses of the Internet are in here; IANA has assigned no others."""
_SPECIAL: Final = tuple(
    map(
        ipaddress.ip_network,
        (
            "192.0.0.0/24",  # of protocols; a cloud's metadata among them
            "192.88.99.0/24",  # relays of 6to4
            "168.63.129.16/32",  # the host of a virtual machine on Azure, which trusts its root
            "2001::/23",  # of protocols
            "3fff::/20",  # of documents
        ),
    )
)
"""Networks that `is_global` of some release of Python takes for public."""
_TRY_AGAIN: Final = frozenset({408, 425, 429})


class MakesAside(Protocol):
    """Makes a command of its words, environment and user (None: that of the server)."""

    def __call__(
        self,
        arguments: tuple[str, ...],
        environment: dict[str, str],
        user: str | None,
        *,
        limited: bool,
    ) -> CommandAside: ...


class DeliveryError(FairshareError):
    """A notice was not sent. `final`: another attempt would not help."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message[:MAX_ERROR])
        self.final = final


class Delivery:
    """Sends notices as the settings say. `as_users`: containers run under the accounts of users,
    and so do commands. `aside` makes commands; None: there are none. `commands_refused` says why
    users' commands are not run; empty: they are."""

    def __init__(
        self,
        settings: NotifySettings,
        *,
        as_users: bool = False,
        aside: MakesAside | None = None,
        commands_refused: str = "",
        url: Callable[[], str] = lambda: "",
    ) -> None:
        self._settings = settings
        self._as_users = as_users
        self._aside = aside
        self._commands_refused = commands_refused
        self._url = url
        self._running: set[CommandAside] = set()
        self._closed = False

    @property
    def has_hook(self) -> bool:
        """Whether the configuration has a command for every application."""
        return bool(self._settings.command)

    def problem(self, target: str) -> str:
        """Why nothing can be sent to a target; empty if it can be tried."""
        try:
            kind, value = parse_target(target)
        except ValueError as error:
            return str(error)
        if kind == "command":
            if not self._settings.commands:
                return (
                    "commands are not run here ([notify] commands); notify a webhook or an address"
                )
            return self._commands_refused
        if kind == "mail":
            if self._settings.smtp_host is None or self._settings.smtp_from is None:
                return "this server sends no mail: [notify] smtp_host and smtp_from set it up"
            domains = self._settings.mail_domains
            if domains and value.rpartition("@")[2].lower() not in {one.lower() for one in domains}:
                return f"mail goes only to {', '.join(domains)} ([notify] mail_domains)"
            return ""
        return self._problem_of_host(value)

    def _problem_of_host(self, url: str) -> str:
        """Why a webhook whose host is an address is refused; names are looked up when it is sent,
        as what they mean may change."""
        try:
            address = ipaddress.ip_address(urlsplit(url).hostname or "")
        except ValueError:
            return ""
        if self._is_listed(url) or _is_public(address):
            return ""
        return _not_public(url)

    def send(self, notice: Notice) -> None:
        """Send a notice, within a minute. Raises DeliveryError."""
        if notice.target == HOOK:
            self._run(self._settings.command, notice, as_server=True)
            return
        problem = self.problem(notice.target)
        if problem:
            raise DeliveryError(problem, final=True)
        kind, value = parse_target(notice.target)
        if kind == "mail":
            self._mail(value, notice.body)
        elif kind == "webhook":
            self._post(value, notice.body)
        else:
            self._run(("/bin/sh", "-c", value), notice, as_server=False)

    # Webhooks.

    def _is_listed(self, url: str) -> bool:
        """Whether the configuration allows a URL, wherever its host is."""
        called = urlsplit(url)
        for prefix in self._settings.webhooks:
            listed = urlsplit(prefix)
            same = (listed.scheme, listed.netloc.lower()) == (called.scheme, called.netloc.lower())
            beginning, path = listed.path.removesuffix("/"), called.path
            if same and (path == listed.path or f"{path}/".startswith(f"{beginning}/")):
                return True
        return False

    def _post(self, url: str, body: dict[str, Any]) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        headers = {
            "Content-Type": "application/json",
            "Host": parts.netloc,
            "User-Agent": "fairshare",
        }
        target, extensions = url, {}
        if not self._is_listed(url):
            # The address that was looked at is the one that is called.
            address = _public_address(host, parts.port or (443 if parts.scheme == "https" else 80))
            name = f"[{address}]" if ":" in address else address
            place = name if parts.port is None else f"{name}:{parts.port}"
            target = parts._replace(netloc=place).geturl()
            extensions = {"sni_hostname": host}
        content = msgspec.json.encode(body)
        import httpx  # it loads a hundred modules, and few servers need it

        async def status_of() -> int:
            # Asynchronous as only that limits the whole time, and not only that of each byte.
            async with (
                asyncio.timeout(POST_S),
                httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client,
                client.stream(
                    "POST", target, content=content, headers=headers, extensions=extensions
                ) as answer,
            ):
                return answer.status_code

        try:
            status = asyncio.run(status_of())
        except TimeoutError as error:
            raise DeliveryError(f"the webhook did not answer within {POST_S:g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            raise DeliveryError(f"the webhook cannot be reached: {cause(error)}") from error
        if 200 <= status < 300:
            return
        final = 300 <= status < 500 and status not in _TRY_AGAIN
        raise DeliveryError(f"the webhook answered {status}", final=final)

    # Mail.

    def _mail(self, address: str, body: Mapping[str, object]) -> None:
        settings = self._settings
        message = EmailMessage()
        message["From"] = settings.smtp_from
        message["To"] = address
        message["Subject"] = f"[fairshare] {subject_of(body)}"
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(text_of(body))
        host, port = settings.smtp_host or "", settings.smtp_port
        try:
            context = ssl.create_default_context()
            if settings.smtp_security == "tls":
                smtp: smtplib.SMTP = smtplib.SMTP_SSL(
                    host, port, timeout=TIMEOUT_S, context=context
                )
            else:
                smtp = smtplib.SMTP(host, port, timeout=TIMEOUT_S)
            with smtp:
                if settings.smtp_security == "starttls":
                    smtp.starttls(context=context)
                if settings.smtp_user is not None:
                    path = settings.smtp_password_file
                    password = "" if path is None else Path(path).read_text().strip()
                    smtp.login(settings.smtp_user, password)
                smtp.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            codes = [code for code, _ in error.recipients.values()]
            final = all(code >= 500 for code in codes)
            raise DeliveryError(f"the mail server refuses {address}", final=final) from error
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise DeliveryError(f"the mail server {host} took no mail: {cause(error)}") from error

    # Commands.

    def _run(self, arguments: tuple[str, ...], notice: Notice, *, as_server: bool) -> None:
        """Run a command with the notice on its stdin: as the server, or as the user, within the
        limits of a small container."""
        body = notice.body
        environment = {
            "PATH": _PATH,
            "FAIRSHARE_URL": self._url(),
            "FAIRSHARE_EVENT": str(body["event"]),
            "FAIRSHARE_APPLICATION_ID": str(body["application"]),
            "FAIRSHARE_APPLICATION_NAME": str(body["name"]).replace("\0", ""),
            "FAIRSHARE_APPLICATION_STATE": str(body["state"]),
        }
        try:
            assert self._aside is not None
            user = notice.user if self._as_users and not as_server else None
            command = self._aside(arguments, environment, user, limited=not as_server)
            self._running.add(command)
            try:
                if self._closed:
                    command.close()
                ended = command.run(msgspec.json.encode(body), COMMAND_S)
            finally:
                self._running.discard(command)
        except EngineError as error:
            raise DeliveryError(f"the command cannot be run now: {error}") from error
        except TimeoutError as error:
            words = f"the command did not end within {COMMAND_S:g} s"
            raise DeliveryError(words, final=True) from error
        if self._closed and ended.exit_code is None:
            raise DeliveryError("the server ended meanwhile")
        if ended.problem:
            raise DeliveryError(f"the command cannot be run: {ended.problem}", final=True)
        if ended.exit_code is None:
            raise DeliveryError("what ran the command was ended")
        if ended.exit_code:
            shown = "".join(one if one.isprintable() else " " for one in ended.stderr)
            last = " ".join(shown.split())[-MAX_SAID:]
            words = f"the command ended with {ended.exit_code}"
            raise DeliveryError(f"{words}: {last}" if last else words, final=True)

    def close(self) -> None:
        """End the commands that run; they are run again by the next server."""
        self._closed = True
        for command in tuple(self._running):
            command.close()


def _public_address(host: str, port: int) -> str:
    """An address of a host that is reached over the Internet; raises DeliveryError if one of its
    addresses is not such."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise DeliveryError(f"the host {host} is unknown: {cause(error)}") from error
    addresses = [str(one[4][0]) for one in found]
    if not all(_is_public(ipaddress.ip_address(one.partition("%")[0])) for one in addresses):
        raise DeliveryError(_not_public(host), final=True)
    return addresses[0]


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Whether an address is one of the Internet; of one that holds an IPv4 address, whether that is
    (mapped, 6to4, Teredo, NAT64)."""
    if isinstance(address, ipaddress.IPv6Address):
        within = address.ipv4_mapped or address.sixtofour
        if within is None and address in _NAT64:
            within = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if within is None and address.teredo is not None:
            within = address.teredo[1]
        if within is not None:
            return _is_public(within)
        if address not in _UNICAST:
            return False
    special = any(address in one for one in _SPECIAL if one.version == address.version)
    return address.is_global and not address.is_multicast and not special


def _not_public(where: str) -> str:
    host = urlsplit(where).hostname or where
    return (
        f"{host} is not a public address: an administrator allows it by listing the beginning of"
        " the URL under [notify] webhooks"
    )

"""Who calls, and what the caller may view and change.

A caller is known by `user.name`, the cookie that stores it, or `doAs` with the rules of
`hadoop.proxyuser.*` for it (Hadoop: DefaultImpersonationProvider, MachineList). With authentication
(`[authentication]`) the caller is the authenticated user, and a name in a request only counts for
administrators, who may act for others. Without it (`hadoop.http.authentication.type`) the server
trusts a claimed name, as Hadoop does without Kerberos, and listens on loopback; the signature of
the cookie then only proves that this server issued it.

An application's owner may view and change it, the users in its access lists, and the
administrators of its queue or of the cluster (Hadoop: ApplicationACLsManager). Without access
control (`yarn.acl.enable`) every caller may, as in Hadoop, unless authentication is on: then its
owner may, the users in its lists, and callers with a token made with `--admin`.
"""

import base64
import hashlib
import hmac
import socket
from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import ip_address, ip_network
from urllib.parse import quote, unquote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from fairshare.core.model.applications import Application
from fairshare.server.access.authentication import listed
from fairshare.server.access.tokens import Identity
from fairshare.server.web.authentication import KEY
from fairshare.settings.web import WebSettings
from fairshare.yarn.rest.errors import RemoteException, forbidden
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.rendering import natural

LOOPBACK = "127.0.0.1"


def is_proxy(settings: WebSettings, user: str, acting: str, groups: tuple[str, ...]) -> bool:
    """Whether the lists of users and groups name the other one."""
    users = _names(settings, user, "users")
    allowed = _names(settings, user, "groups")
    return bool("*" in users | allowed or acting in users or allowed & set(groups))


def is_proxy_host(settings: WebSettings, user: str, address: str) -> bool:
    """Whether the list of hosts has an IP address: itself, in a range such as 10.1.0.0/16, or by a
    host's name."""
    hosts = _names(settings, user, "hosts")
    return "*" in hosts or any(_is_in(address, host) for host in hosts)


def _names(settings: WebSettings, user: str, what: str) -> set[str]:
    text = settings.proxies.get(user, {}).get(what, "")
    return {name.strip() for name in text.split(",") if name.strip()}


def _is_in(address: str, host: str) -> bool:
    caller = ip_address(address)
    if host == "localhost" and caller.is_loopback:
        return True
    try:
        return caller in ip_network(host, strict=False)
    except ValueError:
        return address in _addresses(host)


@lru_cache(256)
def _addresses(host: str) -> frozenset[str]:
    """The addresses of a host by its name, looked up once, as in Hadoop."""
    try:
        return frozenset(str(found[4][0]) for found in socket.getaddrinfo(host, None))
    except OSError:
        return frozenset()


COOKIE = "hadoop.auth"
_AUTHORIZATION = "org.apache.hadoop.security.authorize.AuthorizationException"


class Caller(msgspec.Struct, frozen=True):
    """The calling user, with groups, and the cookie to set (empty: none).

    `proven`: the name is authenticated, not merely claimed. `administrator`: by a token, whatever
    the lists say. `address`: the IP address of a caller over Hadoop's RPC; empty for HTTP.
    """

    user: str
    groups: tuple[str, ...] = ()
    cookie: str = ""
    proven: bool = False
    administrator: bool = False
    address: str = ""


class Rejected(Exception):
    """The caller is refused before the request is handled."""

    def __init__(
        self, status: int, content: bytes, cookie: str = "", headers: Mapping[str, str] = {}
    ) -> None:
        super().__init__(status)
        self.status = status
        self.content = content
        self.cookie = cookie
        self.headers = headers


async def identify(request: Request) -> Caller:
    """The caller; raises Rejected if it may not act for another user, or must give a name."""
    gateway = gateway_of(request)
    settings = gateway.settings
    proved: Identity | None = request.scope.get(KEY)
    if proved is not None:
        return await _proven(request, gateway, proved)
    named = request.query_params.get("user.name", "") if settings.named_users else ""
    cookie = ""
    user = ""
    if settings.named_users:
        user = _remembered(request.cookies.get(COOKIE, ""), gateway)
        if named and named != user:
            user = named
            cookie = _cookie(named, gateway)
    if not user and not settings.anonymous:
        raise Rejected(401, b"", headers={"WWW-Authenticate": "PseudoAuth"})
    acting = next(
        (value for key, value in request.query_params.multi_items() if key.lower() == "doas"), ""
    )
    if acting and user:
        groups = await gateway.groups_of(acting)
        is_named = is_proxy(settings, user, acting, groups)
        if not (is_named and is_proxy_host(settings, user, LOOPBACK)):
            raise Rejected(403, _no_impersonation(user, acting), cookie)
        user = acting
    user = user or settings.static_user
    return Caller(user, await gateway.groups_of(user), cookie)


async def _proven(request: Request, gateway: Gateway, proved: Identity) -> Caller:
    """The authenticated user, or the user for whom that one acts: then with that user's rights
    only."""
    named = next(
        (
            value
            for key, value in request.query_params.multi_items()
            if key.lower() in ("doas", "user.name") and value not in ("", proved.user)
        ),
        None,
    )
    if named is None:
        groups = await gateway.groups_of(proved.user)
        return Caller(proved.user, groups, proven=True, administrator=proved.administrator)
    if not proved.administrator:
        raise Rejected(403, _no_impersonation(proved.user, named))
    return Caller(named, await gateway.groups_of(named), proven=True)


def _no_impersonation(user: str, acting: str) -> bytes:
    message = f"User: {user} is not allowed to impersonate {acting}"
    document = RemoteException(_AUTHORIZATION.rpartition(".")[2], message, _AUTHORIZATION)
    return natural("RemoteException", document)


def _cookie(user: str, gateway: Gateway) -> str:
    expires_ms = gateway.now_ms() + gateway.settings.validity_s * 1_000
    # A header carries only Latin-1, and a "&" in a name would begin another field.
    name = quote(user, safe="@/")
    text = f"u={name}&p={name}&t=simple-dt&e={expires_ms}"
    return f'{COOKIE}="{text}&s={_signature(text, gateway.secret)}"; Path=/; HttpOnly'


def _remembered(cookie: str, gateway: Gateway) -> str:
    """The user of a cookie that we signed and that has not expired; else the empty string."""
    text, _, signature = cookie.strip('"').rpartition("&s=")
    if not text or not hmac.compare_digest(
        signature.encode(), _signature(text, gateway.secret).encode()
    ):
        return ""
    fields = dict(part.partition("=")[::2] for part in text.split("&"))
    expires = fields.get("e", "")
    if not expires.isdigit() or int(expires) <= gateway.now_ms():
        return ""
    return unquote(fields.get("u", ""))


def _signature(text: str, secret: bytes) -> str:
    code = hmac.new(secret, b"cookie/" + text.encode(), hashlib.sha256).digest()
    return base64.b64encode(code).decode()


def may_view(gateway: Gateway, caller: Caller, application: Application) -> bool:
    """Whether the caller may view more than the public part."""
    return _may(gateway, caller, application, lambda: application.brief.view_acl)


def sees_everything(gateway: Gateway, caller: Caller) -> bool:
    """Whether the caller may view all of every application, whoever owns it."""
    return caller.administrator or (not gateway.controls_access and not caller.proven)


def may_modify(gateway: Gateway, caller: Caller, application: Application) -> bool:
    """Whether the caller may kill, move and change it."""
    return _may(gateway, caller, application, lambda: application.submission.details.modify_acl)


def _may(
    gateway: Gateway, caller: Caller, application: Application, acl: Callable[[], str | None]
) -> bool:
    if caller.user == application.user or caller.administrator:
        return True
    if listed(acl(), caller.user, caller.groups):
        return True
    if not gateway.controls_access:
        return not caller.proven
    scheduler = gateway.scheduler
    return scheduler.may_administer(
        application.queue, caller.user, caller.groups
    ) or scheduler.may_administer("", caller.user, caller.groups)


def is_administrator(gateway: Gateway, caller: Caller) -> bool:
    """Whether the caller administers the cluster."""
    if caller.administrator:
        return True
    if not gateway.controls_access:
        return not caller.proven
    return gateway.scheduler.may_administer("", caller.user, caller.groups)


def check_administrator(gateway: Gateway, caller: Caller) -> None:
    """Raise Refused (403) unless the caller administers the cluster."""
    if not is_administrator(gateway, caller):
        raise forbidden("Only admins can carry out this operation.")


async def checked_caller(request: Request, application: Application) -> Caller:
    """The caller of a page of an application. Raises HTTPException if the caller may not view the
    application, or tries to change it without permission."""
    try:
        caller = await identify(request)
    except Rejected as rejected:
        raise HTTPException(rejected.status, headers=dict(rejected.headers)) from None
    gateway = gateway_of(request)
    if not may_view(gateway, caller, application):
        raise HTTPException(403, f"{caller.user} may not look into this application")
    if request.method not in ("GET", "HEAD") and not may_modify(gateway, caller, application):
        raise HTTPException(403, f"{caller.user} may not change this application")
    return caller

"""The paths with which an account makes tokens for itself: on the Unix socket, where the kernel
names it, with its password, and by a one-time address for a browser.

No caller that has shown a token makes another one with it: it would outlive the first.
"""

import asyncio
import math
from typing import Final, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from fairshare.api import routes
from fairshare.api.cluster import OwnToken, SignInBody, SignInCode, SignInWays, TokenBody
from fairshare.api.values import ActorBody
from fairshare.errors import InputError
from fairshare.server.access.peers import PREFIX as PEER
from fairshare.server.access.proxies import address_of_scope, peer_of_scope
from fairshare.server.access.sign_in import CODE_S, account_of_password, network_of
from fairshare.server.access.tokens import Identity
from fairshare.server.web.actors import caller_of, identity_of
from fairshare.server.web.answers import answer, refusal
from fairshare.server.web.audit import note
from fairshare.server.web.openapi.operation import serve
from fairshare.server.web.requests import read_body, read_parameters, server_of

_DAY_MS: Final = 86_400_000

AT_ONCE: Final = 2
MOST_WAITING: Final = 20
"""The passwords that are examined at the same time, and that wait for that."""


class Turns(asyncio.Semaphore):
    """The turns of passwords, and how many wait for one."""

    def __init__(self) -> None:
        super().__init__(AT_ONCE)
        self.waiting = 0

    async def acquire(self) -> Literal[True]:
        """Wait for a turn."""
        self.waiting += 1
        try:
            return await super().acquire()
        finally:
            self.waiting -= 1


async def show_ways(request: Request) -> Response:
    """GET /sign-in: what a page can sign in with; needs no authentication."""
    read_parameters(request)
    settings = server_of(request).settings
    allowed = settings.authentication.account_tokens > 0
    return answer(
        SignInWays(
            required=settings.authentication.required,
            tokens=settings.authentication.tokens,
            passwords=settings.authentication.pam_service is not None and allowed,
            addresses=settings.socket is not None and allowed,
        )
    )


async def sign_in(request: Request) -> Response:
    """POST /sign-in: a token for the code of a one-time address, or for an account's password;
    needs no authentication."""
    body = await read_body(request, SignInBody)
    if body.code is not None:
        identity = server_of(request).authentication.codes.redeem(body.code)
        if identity is None:
            raise InputError(
                "wrong-code",
                "this address was used already, or is too old: `fairshare open` prints another one",
            )
        made_by = "an address of fairshare open"
        return await _token_for(request, identity, body.lifetime_ms, made_by)
    if not (body.user and body.password):
        raise InputError("bad-request", "give a code, or user and password")
    return await _by_password(request, body.user, body.password, body.lifetime_ms)


async def _by_password(
    request: Request, user: str, password: str, lifetime_ms: int | None
) -> Response:
    note(request, user=user)
    server = server_of(request)
    service, attempts = server.settings.authentication.pam_service, server.authentication.attempts
    if service is None:
        raise InputError(
            "no-passwords",
            "this server takes no passwords: an administrator names a service of PAM with"
            " pam_service below [authentication] in fairshare.toml",
        )
    _check_own_tokens(request)
    address = address_of_scope(request.scope)
    keys = (f"account {user}", f"address {network_of(address)}")
    turns: Turns = request.app.state.password_turns
    if turns.waiting >= MOST_WAITING:
        raise InputError("busy", "many passwords are being examined: try again in a minute")
    if wait_s := attempts.begin(*keys):
        minutes = math.ceil(wait_s / 60)
        return refusal(
            429,
            "too-many-attempts",
            f"there were too many wrong passwords: try again in {minutes} min, or sign in with a"
            " token or an address of `fairshare open`",
            {"Retry-After": str(math.ceil(wait_s))},
        )
    async with turns:
        account = await run_in_threadpool(account_of_password, service, user, password, address)
    if account is None:
        raise InputError("wrong-password", "PAM does not accept this password for such an account")
    attempts.succeed(*keys)
    return await _token_for(request, Identity(account), lifetime_ms, "the account's password")


async def make_token(request: Request) -> Response:
    """POST /session/token: a token for the account that calls on the Unix socket."""
    body = await read_body(request, TokenBody)
    return await _token_for(request, _account(request, body), body.lifetime_ms, "fairshare login")


async def make_code(request: Request) -> Response:
    """POST /session/code: the code of a one-time address for a browser of the account that calls on
    the Unix socket."""
    body = await read_body(request, ActorBody)
    server = server_of(request)
    if not server.authentication.required:
        return answer(SignInCode(server.url, "", 0), 201)
    identity = _account(request, body)
    code = server.authentication.codes.issue(identity)
    expires_ms = server.service.now_ms() + int(CODE_S * 1_000)
    return answer(SignInCode(server.url, code, expires_ms), 201)


def _check_own_tokens(request: Request) -> None:
    """Raise InputError unless accounts may have tokens of their own."""
    if not server_of(request).settings.authentication.account_tokens:
        raise InputError(
            "no-own-tokens",
            "account_tokens = 0 below [authentication] in fairshare.toml: an administrator makes"
            " the tokens here, with `fairshare admin token create`",
        )


def _account(request: Request, body: ActorBody) -> Identity:
    """The account that calls, or the one for which an administrator asks. Raises InputError unless
    the kernel has named the caller, and accounts may have tokens of their own."""
    _check_own_tokens(request)
    shown = "authorization" in request.headers
    if shown or not peer_of_scope(request.scope).startswith(PEER):
        unset = "; unset FAIRSHARE_TOKEN" if shown else ""
        raise InputError(
            "not-on-the-socket",
            "a token is made for the account that calls on the server's Unix socket: do this on its"
            f" machine, without --url and FAIRSHARE_URL{unset}",
        )
    identity = identity_of(request)
    assert identity is not None, "callers of the socket are always identified"
    user = caller_of(request, body.user)
    if user == identity.user:
        return identity
    return Identity(user)


async def _token_for(
    request: Request, identity: Identity, lifetime_ms: int | None, by: str
) -> Response:
    """A token of the account's own. It has the rights that the account has on the socket."""
    server = server_of(request)
    settings = server.settings.authentication
    now_ms = server.service.now_ms()
    most_ms = settings.account_token_days * _DAY_MS
    expires_ms = now_ms + min(lifetime_ms or most_ms, most_ms)

    def create() -> str:
        return server.authentication.users.create(
            identity.user,
            now_ms,
            expires_ms=expires_ms,
            administrator=identity.administrator,
            note=f"by {by}",
            own_most=settings.account_tokens,
        )

    token = await run_in_threadpool(create)
    note(request, user=identity.user)
    return answer(OwnToken(token, identity.user, expires_ms), 201)


ROUTES = [
    serve(routes.SHOW_SIGN_IN, show_ways, "administration"),
    serve(routes.SIGN_IN, sign_in, "administration"),
    serve(routes.MAKE_TOKEN, make_token, "administration"),
    serve(routes.MAKE_CODE, make_code, "administration"),
]

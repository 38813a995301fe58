"""What a browser signs in with: codes of one-time addresses, and passwords of accounts, which are
examined by PAM in a process of its own. Guesses are bounded for each account and each address.
"""

import hashlib
import ipaddress
import secrets
import subprocess
import sys
import time
from typing import Final

import msgspec

from fairshare.errors import FairshareError
from fairshare.server.access import pam
from fairshare.server.access.tokens import Identity
from fairshare.this_machine import account_named
from fairshare.wording import cause

CODE_S: Final = 120.0
"""How long a one-time address is valid."""
CODES_PER_USER: Final = 3
_MOST_CODES: Final = 10_000

ATTEMPTS: Final = 10
"""The most wrong passwords of one account, and from one address, within `WINDOW_S`."""
WINDOW_S: Final = 900.0
_MOST_KEYS: Final = 10_000

_PAM_S: Final = 60.0


class Codes:
    """The codes of one-time addresses that are not used yet, by their hashes, the oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[float, Identity]] = {}

    def issue(self, identity: Identity) -> str:
        """A code for a caller; of one user only the latest few stay valid."""
        mine = [code for code, (_, owner) in self._waiting.items() if owner.user == identity.user]
        for old in mine[: max(0, len(mine) + 1 - CODES_PER_USER)]:
            del self._waiting[old]
        if len(self._waiting) >= _MOST_CODES:
            del self._waiting[next(iter(self._waiting))]
        code = secrets.token_urlsafe(32)
        self._waiting[_hash(code)] = (time.monotonic() + CODE_S, identity)
        return code

    def redeem(self, code: str) -> Identity | None:
        """The caller that a code was made for; None for one that is unknown, used or too old."""
        until_s, identity = self._waiting.pop(_hash(code), (0.0, None))
        return identity if time.monotonic() < until_s else None


class Attempts:
    """The wrong passwords of the last `WINDOW_S`, by account and by address."""

    def __init__(self) -> None:
        self._known: dict[str, list[float]] = {}

    def begin(self, *keys: str) -> float:
        """Count an attempt as wrong, until `succeed`; if there were too many, the seconds after
        which there may be another, and it does not count."""
        now_s = time.monotonic()
        wait_s = 0.0
        for key in keys:
            recent = [at_s for at_s in self._known.pop(key, []) if at_s > now_s - WINDOW_S]
            if recent:
                self._known[key] = recent
            if len(recent) >= ATTEMPTS:
                wait_s = max(wait_s, recent[-ATTEMPTS] + WINDOW_S - now_s)
        if not wait_s:
            for key in keys:
                self._known.setdefault(key, []).append(now_s)
        while len(self._known) > _MOST_KEYS:
            del self._known[next(iter(self._known))]
        return wait_s

    def succeed(self, *keys: str) -> None:
        """The attempt that began last was right: it does not count."""
        for key in keys:
            recent = self._known.pop(key, [])[:-1]
            if recent:
                self._known[key] = recent


def network_of(address: str) -> str:
    """The address whose guesses count together: of IPv6 the /64, all of which one host may have,
    and one for this machine, whose accounts may call from any of 127.0.0.0/8.

    >>> network_of("fd00::1:2"), network_of("10.0.0.1"), network_of("unix:1000")
    ('fd00::/64', '10.0.0.1', 'unix:1000')
    >>> network_of("127.0.0.9"), network_of("::1"), network_of("::ffff:10.0.0.1")
    ('loopback', 'loopback', '10.0.0.1')
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback:
        return "loopback"
    if ip.version == 4:
        return str(ip)
    return str(ipaddress.ip_network((int(ip), 64), strict=False))


def account_of_password(service: str, user: str, password: str, address: str) -> str | None:
    """The account whose password this is, as PAM names it; None if it is wrong, or root's, which
    does not sign in with one. Takes seconds. Raises FairshareError where PAM cannot be asked, and
    AccountsUnavailable."""
    account = account_named(user)
    if account is not None and account.pw_uid == 0:
        return None
    question = msgspec.json.encode(pam.Question(service, user, password, address))
    try:
        asked = subprocess.run(
            [sys.executable, "-I", "-m", pam.__name__],
            input=question,
            capture_output=True,
            timeout=_PAM_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise FairshareError(f"PAM did not answer within {_PAM_S:g} s") from None
    except OSError as error:
        raise FairshareError(f"PAM was not asked: {cause(error)}") from error
    if asked.returncode == pam.WRONG:
        return None
    if asked.returncode:
        words = asked.stderr.decode(errors="replace").strip() or f"exit code {asked.returncode}"
        raise FairshareError(f"PAM was not asked: {words}")
    account = account_named(asked.stdout.decode().strip())
    return None if account is None or account.pw_uid == 0 else account.pw_name


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()

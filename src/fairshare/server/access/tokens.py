"""The tokens of users and of drivers.

Those of users are made, listed and revoked in the state directory, which only its owner can read;
only a hash of each is stored. A token is `fst_NAME_SECRET`: the name is the key in the list, the
secret has 256 random bits, so a plain SHA-256 of it is as good as a slow hash. The server reads the
file again when it changes.

By its token a driver proves that it is the master of its application: `fsd_APPLICATION_CODE`, where
the number finds the application, and the code is a message authentication code over it and its
attempt. So the server keeps no list of them, and those issued before a restart stay valid. The
token of an ended attempt is refused.
"""

import base64
import contextlib
import fcntl
import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import msgspec

from fairshare.core.model.identifiers import ApplicationId
from fairshare.errors import FairshareError
from fairshare.server.state_directory import SECRET_BYTES, read_private, write_file

FILE = "tokens.json"
PREFIX = "fst_"
_FORM = re.compile(r"fst_([a-z0-9]{8})_([A-Za-z0-9_-]{43})")
DRIVER_PREFIX = "fsd_"
_DRIVER_FORM = re.compile(r"fsd_([0-9]{1,19})_([A-Za-z0-9_-]{43})")
_INSIDE = re.compile(r"(fst_[a-z0-9]{8}_|fsd_[0-9]+_)[A-Za-z0-9_-]+")


class Identity(msgspec.Struct, frozen=True):
    """An authenticated caller. `proof` says by which credential (`token 1a2b3c4d`, `proxy
    10.0.0.1`, `driver`).

    `application` is set for a driver: it may only act on its own application.
    """

    user: str
    administrator: bool = False
    proof: str = ""
    application: ApplicationId | None = None


class TokensUnreadable(FairshareError):
    """No token can be checked. The message is for administrators of the server only: it contains
    the path of the file."""


class UserToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stored data of a token. `expires_ms` None: never. `own`: its user has made it."""

    name: str
    user: str
    sha256: str
    created_ms: int
    expires_ms: int | None = None
    administrator: bool = False
    note: str = ""
    own: bool = False


class UserTokens:
    """The tokens of one state directory."""

    def __init__(self, state_directory: Path) -> None:
        self.path = state_directory / FILE
        self._stamp: tuple[int, int, int] | None = None
        self._known: dict[str, UserToken] = {}

    def create(
        self,
        user: str,
        now_ms: int,
        *,
        expires_ms: int | None = None,
        administrator: bool = False,
        note: str = "",
        own_most: int = 0,
    ) -> str:
        """Make a token for a user; the returned text is not stored. Raises FairshareError.

        With `own_most` the user makes it, may have so many of these, and loses the oldest of more.
        """
        if not user.strip() or not user.isprintable():
            raise FairshareError(f"{user!r} is not the name of a user")
        with self._changing():
            known = self._load()
            name = secrets.token_hex(4)
            while name in known:
                name = secrets.token_hex(4)
            text = f"{PREFIX}{name}_{secrets.token_urlsafe(32)}"
            token = UserToken(
                *(name, user, _hash(text), now_ms, expires_ms, administrator, note, own_most > 0)
            )
            self._write({**_without_old(known, user, now_ms, own_most), name: token})
        return text

    def listed(self) -> list[UserToken]:
        """All of them, the oldest first."""
        return sorted(self._load().values(), key=lambda token: (token.created_ms, token.name))

    def revoke(self, name: str) -> None:
        """Revoke a token. Raises FairshareError if there is none."""
        with self._changing():
            known = dict(self._load())
            if known.pop(name, None) is None:
                raise FairshareError(f"there is no token {name!r}: `fairshare admin token list`")
            self._write(known)

    def identify(
        self, text: str, now_ms: int, *, own: bool = True, others: bool = True
    ) -> Identity | None:
        """The user of a token; None for one that is unknown, revoked or expired, or of a kind that
        is not taken: `own` ones, which their users have made, and `others`."""
        form = _FORM.fullmatch(text)
        if form is None:
            return None
        token = self._load().get(form.group(1))
        # The comparison takes as long for an unknown name as for a wrong secret.
        kept = token.sha256 if token is not None else "0" * 64
        if not hmac.compare_digest(kept, _hash(text)) or token is None:
            return None
        if token.expires_ms is not None and now_ms >= token.expires_ms:
            return None
        if not (own if token.own else others):
            return None
        return Identity(token.user, token.administrator, f"token {token.name}")

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Read, change and write under a lock: a lost revocation would leave a token valid. The
        lock is on the directory, so that no lock file remains."""
        folder = self.path.parent
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise FairshareError(f"cannot open {folder}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            self._stamp = None  # two files of the same moment may have equal stamps
            yield
        finally:
            os.close(descriptor)

    def _load(self) -> dict[str, UserToken]:
        try:
            found = self.path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp != self._stamp:
                tokens = msgspec.json.decode(read_private(self.path), type=list[UserToken])
                self._known = {token.name: token for token in tokens}
                self._stamp = stamp
        except FileNotFoundError:
            self._known, self._stamp = {}, None
        except OSError as error:
            raise TokensUnreadable(f"cannot read {self.path}: {error.strerror}") from error
        except FairshareError as error:
            raise TokensUnreadable(str(error)) from error
        except msgspec.DecodeError as error:
            raise TokensUnreadable(
                f"{self.path} is damaged ({error}): delete it and make new tokens"
            ) from error
        return self._known

    def _write(self, tokens: dict[str, UserToken]) -> None:
        write_file(self.path, msgspec.json.encode(list(tokens.values())) + b"\n")


def masked(text: str) -> str:
    """A text without the secrets of any tokens in it.

    >>> masked("GET /fst_0a1b2c3d_" + "s" * 43)
    'GET /fst_0a1b2c3d_...'
    >>> masked("GET /fsd_7_" + "s" * 43)
    'GET /fsd_7_...'
    """
    return _INSIDE.sub(r"\1...", text) if PREFIX in text or DRIVER_PREFIX in text else text


def _without_old(
    tokens: dict[str, UserToken], user: str, now_ms: int, own_most: int
) -> dict[str, UserToken]:
    """The tokens without what gives way to a further one of a user's own: expired ones that users
    have made, and the user's oldest beyond `own_most` with the new one."""
    if not own_most:
        return tokens
    kept = {
        name: token
        for name, token in tokens.items()
        if not token.own or token.expires_ms is None or now_ms < token.expires_ms
    }
    mine = [token for token in kept.values() if token.own and token.user == user]
    mine.sort(key=lambda token: token.created_ms)
    for token in mine[: max(0, len(mine) + 1 - own_most)]:
        del kept[token.name]
    return kept


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class DriverTokens:
    """Makes and checks tokens with one secret (at least `SECRET_BYTES` random bytes)."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError(f"a secret of {len(secret)} bytes is shorter than {SECRET_BYTES}")
        self._secret = secret

    def issue(self, application: ApplicationId, attempt: int) -> str:
        """The token of one attempt; it is safe in a header or a variable."""
        message = f"driver/{application}/{attempt}".encode()
        code = hmac.new(self._secret, message, hashlib.sha256).digest()
        shown = base64.urlsafe_b64encode(code).rstrip(b"=").decode()
        return f"{DRIVER_PREFIX}{application}_{shown}"

    def accepts(self, token: str, application: ApplicationId, attempt: int) -> bool:
        """Whether the token is that of this attempt; compared in constant time."""
        return hmac.compare_digest(token.encode(), self.issue(application, attempt).encode())


def named_application(token: str) -> ApplicationId | None:
    """The application that a driver's token names; None for anything else.

    >>> named_application("fsd_7_" + "c" * 43), named_application("abc")
    (7, None)
    """
    found = _DRIVER_FORM.fullmatch(token)
    return int(found[1]) if found else None

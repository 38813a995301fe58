"""SASL DIGEST-MD5 as Hadoop logs in with tokens, both sides; bytes in, bytes out.

The user name is the token's identifier in base64, the password the token's password in base64; the
only quality of protection is `auth`: later frames are plain. Sources: RFC 2831; Hadoop 3.4.1,
security.SaslRpcServer.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from secrets import token_urlsafe

from fairshare.errors import FairshareError

MECHANISM = "DIGEST-MD5"
METHOD = "TOKEN"
PROTOCOL = ""
SERVER_ID = "default"

_REALM = "default"
_DIGEST_URI = f"{PROTOCOL}/{SERVER_ID}"
_FIRST_USE = "00000001"
_LONGEST_MESSAGE_BYTES = 16_384
_DIRECTIVE = re.compile(r'\s*([A-Za-z0-9-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]*))\s*(?:,|$)')


class WrongLogin(FairshareError):
    """The other side did not prove that it holds the token. The message says why."""


class ServerLogin:
    """One attempt of a client to log in; its nonce is used once."""

    def __init__(self) -> None:
        self._nonce = token_urlsafe(24)

    def challenge(self) -> bytes:
        """What the server asks first."""
        return (
            f'realm="{_REALM}",nonce="{self._nonce}",charset=utf-8,algorithm=md5-sess,qop="auth"'
        ).encode()

    def accept(
        self, answer: bytes, password_of: Callable[[bytes], bytes | None]
    ) -> tuple[bytes, bytes]:
        """The identifier of the token, and the proof for the client that we know its password.

        `password_of` gives the password of an identifier, None if the token is not valid.
        Raises WrongLogin.
        """
        directives = _directives(answer)
        expected = {"realm": _REALM, "nonce": self._nonce, "digest-uri": _DIGEST_URI}
        expected |= {"nc": _FIRST_USE}
        for name, value in expected.items():
            if directives.get(name) != value:
                raise WrongLogin(f"DIGEST-MD5: {name} is not {value}")
        if directives.get("qop", "auth") != "auth":
            raise WrongLogin("DIGEST-MD5: qop is not auth; hadoop.rpc.protection must be so")
        try:
            identifier = b64decode(directives.get("username", ""), validate=True)
        except (NotBase64, ValueError):
            raise WrongLogin("DIGEST-MD5: the user name is not base64") from None
        password = password_of(identifier)
        if password is None:
            raise WrongLogin("the token is not valid, or its key is no longer known")
        client_nonce = directives.get("cnonce", "")
        secret = _secret(directives["username"], _base64(password), self._nonce, client_nonce)
        proof = _proof(secret, self._nonce, client_nonce, "AUTHENTICATE")
        if not hmac.compare_digest(proof.encode(), directives.get("response", "").encode()):
            raise WrongLogin("the password of the token is wrong")
        own_proof = _proof(secret, self._nonce, client_nonce, "")
        return identifier, b"rspauth=" + own_proof.encode()


class ClientLogin:
    """A login at a server with one token."""

    def __init__(self, identifier: bytes, password: bytes) -> None:
        self._user = _base64(identifier)
        self._password = _base64(password)
        self._expected = b""

    def answer(self, challenge: bytes) -> bytes:
        """The answer to the server's challenge. Raises WrongLogin if it is not one of Hadoop's."""
        given = _directives(challenge)
        nonce, realm = given.get("nonce", ""), given.get("realm", _REALM)
        if not nonce or "auth" not in given.get("qop", "auth").split(","):
            raise WrongLogin("the server's challenge has no nonce, or does not offer qop auth")
        client_nonce = token_urlsafe(24)
        secret = _secret(self._user, self._password, nonce, client_nonce, realm)
        proof = _proof(secret, nonce, client_nonce, "AUTHENTICATE")
        self._expected = b"rspauth=" + _proof(secret, nonce, client_nonce, "").encode()
        return (
            f'charset=utf-8,username="{self._user}",realm="{realm}",nonce="{nonce}",'
            f'nc={_FIRST_USE},cnonce="{client_nonce}",digest-uri="{_DIGEST_URI}",'
            f"response={proof},qop=auth"
        ).encode()

    def verify(self, token: bytes) -> None:
        """Raises WrongLogin unless the server knows the token's password, too."""
        if not self._expected or not hmac.compare_digest(token, self._expected):
            raise WrongLogin("the server does not know the token's password")


def _directives(message: bytes) -> dict[str, str]:
    """`name=value` pairs, quoted or not, in any order, each at most once."""
    if len(message) > _LONGEST_MESSAGE_BYTES:
        raise WrongLogin(f"DIGEST-MD5: a message of {len(message)} bytes is too long")
    try:
        text = message.decode()
    except UnicodeDecodeError:
        raise WrongLogin("DIGEST-MD5: the message is not UTF-8") from None
    directives: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _DIRECTIVE.match(text, at)
        if match is None or match[1] in directives:
            raise WrongLogin("DIGEST-MD5: the message cannot be read")
        quoted, plain = match[2], match[3]
        directives[match[1]] = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        at = match.end()
    return directives


def _secret(user: str, password: str, nonce: str, client_nonce: str, realm: str = _REALM) -> str:
    """The hash of what both know: H(A1) of RFC 2831, section 2.1.2.1."""
    known = hashlib.md5(f"{user}:{realm}:{password}".encode(), usedforsecurity=False).digest()
    return _hash(known + f":{nonce}:{client_nonce}".encode())


def _proof(
    secret: str, nonce: str, client_nonce: str, verb: str, digest_uri: str = _DIGEST_URI
) -> str:
    """`response` of the client (verb AUTHENTICATE) and `rspauth` of the server (no verb)."""
    call = _hash(f"{verb}:{digest_uri}".encode())
    return _hash(f"{secret}:{nonce}:{_FIRST_USE}:{client_nonce}:auth:{call}".encode())


def _hash(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _base64(data: bytes) -> str:
    return b64encode(data).decode()

"""Tokens: identifiers, passwords, and files of tokens in Hadoop's own (Writable) form.

A password is the HMAC-SHA1 of the identifier's bytes with a master key. A file of tokens (`HDTS`)
is what a launch context carries. Sources: Hadoop 3.4.1, security.token.SecretManager,
security.Credentials, security.token.Token, io.WritableUtils.
"""

import hmac
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from fairshare.errors import FairshareError
from fairshare.yarn.rpc.wire.messages import (
    AMRMTokenIdentifierProto,
    ContainerTokenIdentifierProto,
    NMTokenIdentifierProto,
    TokenProto,
)

if TYPE_CHECKING:
    from fairshare.yarn.rpc.wire.messages import Message

AMRM_TOKEN = "YARN_AM_RM_TOKEN"  # noqa: S105
NM_TOKEN = "NMToken"  # noqa: S105
CONTAINER_TOKEN = "ContainerToken"  # noqa: S105

IDENTIFIERS: dict[str, Any] = {
    AMRM_TOKEN: AMRMTokenIdentifierProto,
    NM_TOKEN: NMTokenIdentifierProto,
    CONTAINER_TOKEN: ContainerTokenIdentifierProto,
}
"""The message whose bytes are the identifier, by kind of token."""

_HEADER = b"HDTS\0"


class BadCredentials(FairshareError):
    """Bytes that are not a file of tokens. The message says where."""


class Token(Struct, frozen=True):
    """An identifier with its password. `service` is where it is used (`IP:port`), or empty."""

    identifier: bytes
    password: bytes
    kind: str
    service: str = ""

    def message(self) -> TokenProto:
        """It as a TokenProto."""
        return TokenProto(
            identifier=self.identifier,
            password=self.password,
            kind=self.kind,
            service=self.service,
        )


class Credentials(Struct):
    """Tokens and secrets by their aliases."""

    tokens: dict[str, Token] = field(default_factory=dict)
    secrets: dict[str, bytes] = field(default_factory=dict)


def password(key: bytes, identifier: bytes) -> bytes:
    """The password of a token that is signed with a master key."""
    return hmac.digest(key, identifier, "sha1")


def signed(kind: str, identifier: "Message", key: bytes, service: str = "") -> Token:
    """A token of this identifier message (see IDENTIFIERS)."""
    data = identifier.SerializeToString()
    return Token(data, password(key, data), kind, service)


def token_of(message: TokenProto) -> Token:
    """The token of a TokenProto."""
    return Token(message.identifier, message.password, message.kind, message.service)


def write_vint(value: int) -> bytes:
    """Hadoop's variable-length integer: one byte from -112 to 127, else a prefix and 1 to 8."""
    if -112 <= value <= 127:
        return value.to_bytes(1, signed=True)
    prefix = -112
    if value < 0:
        value, prefix = ~value, -120
    size = (value.bit_length() + 7) // 8
    return (prefix - size).to_bytes(1, signed=True) + value.to_bytes(size)


class _Reader:
    """Reads a file of tokens; never past its end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise BadCredentials(f"{length} bytes at byte {self._at} of {len(self._data)}")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def vint(self) -> int:
        first = int.from_bytes(self.take(1), signed=True)
        if first >= -112:
            return first
        negative = first < -120
        value = int.from_bytes(self.take(-(first + (120 if negative else 112))))
        return ~value if negative else value

    def block(self) -> bytes:
        return self.take(self.vint())

    def text(self) -> str:
        try:
            return self.block().decode()
        except UnicodeDecodeError:
            raise BadCredentials(f"no UTF-8 before byte {self._at}") from None

    def token(self) -> Token:
        return Token(self.block(), self.block(), self.text(), self.text())

    def count(self) -> int:
        number = self.vint()
        if not 0 <= number <= len(self._data):
            raise BadCredentials(f"a number of {number} entries before byte {self._at}")
        return number


def _block(data: bytes) -> bytes:
    return write_vint(len(data)) + data


def read_token(data: bytes) -> Token:
    """A token in its writable form, as service data of MapReduce's shuffle has it."""
    return _Reader(data).token()


def write_token(token: Token) -> bytes:
    """The reverse of `read_token`."""
    return b"".join(
        _block(part)
        for part in (token.identifier, token.password, token.kind.encode(), token.service.encode())
    )


def read_credentials(data: bytes) -> Credentials:
    """The tokens and secrets of a launch context, which may be empty. Raises BadCredentials.

    Only the writable form is read (format 0), which is what Hadoop's clients put there.
    """
    if not data:
        return Credentials()
    if not data.startswith(_HEADER):
        raise BadCredentials("tokens must begin with HDTS and version 0")
    reader = _Reader(data)
    reader.take(len(_HEADER))
    tokens = {reader.text(): reader.token() for _ in range(reader.count())}
    secrets = {reader.text(): reader.block() for _ in range(reader.count())}
    return Credentials(tokens, secrets)


def write_credentials(credentials: Credentials) -> bytes:
    """The reverse of `read_credentials`."""
    parts = [_HEADER, write_vint(len(credentials.tokens))]
    for alias, token in credentials.tokens.items():
        parts += _block(alias.encode()), write_token(token)
    parts.append(write_vint(len(credentials.secrets)))
    for alias, secret in credentials.secrets.items():
        parts += _block(alias.encode()), _block(secret)
    return b"".join(parts)

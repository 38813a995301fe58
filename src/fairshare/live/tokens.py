"""Owns the tokens by which a driver proves that it is the master of its application.

A token is a message authentication code over the application and its attempt, so the server keeps
no list of tokens, and those that it gave out before a restart go on working. The token of an
attempt that is over opens nothing. It must not know how a token travels.
"""

import base64
import hashlib
import hmac

from fairshare.model.identifiers import ApplicationId

SECRET_BYTES = 32


class DriverTokens:
    """Makes and checks tokens with one secret (at least `SECRET_BYTES` random bytes)."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError(f"a secret of {len(secret)} bytes is shorter than {SECRET_BYTES}")
        self._secret = secret

    def issue(self, application: ApplicationId, attempt: int) -> str:
        """The token of one attempt: 43 characters that may stand in a header or a variable."""
        message = f"driver/{application}/{attempt}".encode()
        code = hmac.new(self._secret, message, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(code).rstrip(b"=").decode()

    def accepts(self, token: str, application: ApplicationId, attempt: int) -> bool:
        """Whether the token is that of this attempt; how long it takes does not tell how near."""
        return hmac.compare_digest(token.encode(), self.issue(application, attempt).encode())

"""The tokens by which a driver proves that it is the master of its application.

A token is `fsd_APPLICATION_CODE`: the number finds the application, the code is a message
authentication code over it and its attempt. So the server keeps no list of tokens, and tokens
issued before a restart stay valid. The token of an ended attempt is refused.

In earlier servers a token was the code alone; drivers that they started keep theirs.
"""

import base64
import hashlib
import hmac
import re

from fairshare.core.model.identifiers import ApplicationId

SECRET_BYTES = 32
PREFIX = "fsd_"
_FORM = re.compile(r"fsd_([0-9]{1,19})_")


class DriverTokens:
    """Makes and checks tokens with one secret (at least `SECRET_BYTES` random bytes)."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < SECRET_BYTES:
            raise ValueError(f"a secret of {len(secret)} bytes is shorter than {SECRET_BYTES}")
        self._secret = secret

    def issue(self, application: ApplicationId, attempt: int) -> str:
        """The token of one attempt; it is safe in a header or a variable."""
        return f"{PREFIX}{application}_{self.code(application, attempt)}"

    def code(self, application: ApplicationId, attempt: int) -> str:
        """What proves it: 43 characters."""
        message = f"driver/{application}/{attempt}".encode()
        code = hmac.new(self._secret, message, hashlib.sha256).digest()
        return base64.urlsafe_b64encode(code).rstrip(b"=").decode()

    def accepts(self, token: str, application: ApplicationId, attempt: int) -> bool:
        """Whether the token is that of this attempt; compared in constant time."""
        named = named_application(token)
        code = token if named is None else token[token.index("_", len(PREFIX)) + 1 :]
        expected = self.code(application, attempt)
        right = hmac.compare_digest(code.encode(), expected.encode())
        return right and named in (None, application)


def named_application(token: str) -> ApplicationId | None:
    """The application that a token names; None for one of an earlier server, or nonsense.

    >>> named_application("fsd_7_abc"), named_application("abc")
    (7, None)
    """
    found = _FORM.match(token)
    return int(found[1]) if found else None

"""The grammar of where a notice about an application goes, and of when.

    target = "https://HOST/..." | "http://HOST/..."    a webhook: a POST of JSON
           | "mailto:ADDRESS"                          a mail
           | "cmd:LINE"                                a shell line, run as the application's user
    when   = "end" | "failed" | "start"

Errors are ValueErrors that say what to write.
"""

import re
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from fairshare.documents.bounds import LONGEST_TARGET

HOW_TO_WRITE: Final = "write https://HOST/PATH, mailto:ann@example.org or 'cmd:LINE'"

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_ADDRESS: Final = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9.-]{1,190}"

Kind = Literal["webhook", "mail", "command"]


def parse_target(text: str) -> tuple[Kind, str]:
    """The kind of a target, and its URL, address or line. Raises ValueError.

    >>> parse_target("mailto:ann@example.org"), parse_target("cmd:touch done")
    (('mail', 'ann@example.org'), ('command', 'touch done'))
    """
    if len(text) > LONGEST_TARGET:
        raise ValueError(
            f"a target has at most {LONGEST_TARGET} characters, and this one {len(text)}"
        )
    if any(ord(character) < 32 or ord(character) == 127 for character in text):
        raise ValueError(f"{text!r} holds a control character: {HOW_TO_WRITE}")
    scheme, _, rest = text.partition(":")
    if scheme == "mailto":
        if not re.fullmatch(_ADDRESS, rest):
            raise ValueError(f"{rest!r} is not a mail address: {HOW_TO_WRITE}")
        return "mail", rest
    if scheme == "cmd":
        if not rest.strip():
            raise ValueError(f"{text!r} names no command: {HOW_TO_WRITE}")
        return "command", rest
    if scheme in ("http", "https"):
        _check_url(text)
        return "webhook", text
    raise ValueError(f"{text!r} cannot be notified: {HOW_TO_WRITE}")


def _check_url(text: str) -> None:
    try:
        parts = urlsplit(text)
        known = parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        known = None
    if not known or not text.isascii() or " " in text or "\\" in text:
        raise ValueError(f"{text!r} is not a URL: {HOW_TO_WRITE}")
    path = parts.path
    while (decoded := unquote(path)) != path:  # as servers behind one another may
        path = decoded
    if any(one.partition(";")[0] in (".", "..") for one in re.split(r"[/\\]", path)):
        raise ValueError(f"{text!r}: the path of a webhook has no . and no ..")
    if parts.username is not None or parts.fragment:
        raise ValueError(f"{text!r}: a webhook has neither a user nor a fragment (#)")


def shown_target(text: str) -> str:
    """A target for a log or a message: of a webhook only the host, as paths often hold a secret.

    >>> shown_target("https://hooks.example.org/T0/secret")
    'https://hooks.example.org/...'
    """
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc}/..." if parts.netloc else text

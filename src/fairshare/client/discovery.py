"""Owns what a client knows from its surroundings: which server to ask, and for whom.

The server is FAIRSHARE_URL, else the address in the state directory: a server writes its URL into
the file `url` there. That directory is FAIRSHARE_STATE or `~/.local/state/fairshare`. Nothing here
talks to a server.
"""

import getpass
import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from fairshare.client.errors import START_ONE, ServerUnreachable

USER_VARIABLE = "FAIRSHARE_USER"
URL_VARIABLE = "FAIRSHARE_URL"
STATE_VARIABLE = "FAIRSHARE_STATE"
TOKEN_VARIABLE = "FAIRSHARE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
APPLICATION_VARIABLE = "FAIRSHARE_APPLICATION_ID"


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a server of this user keeps what it must remember."""
    named = environment.get(STATE_VARIABLE)
    return Path(named or "~/.local/state/fairshare").expanduser()


def find_url(environment: Mapping[str, str] = os.environ) -> str:
    """The URL of the server to talk to; raises ServerUnreachable when none is known."""
    named = environment.get(URL_VARIABLE)
    if named:
        return checked_url(named, URL_VARIABLE)
    file = state_directory(environment) / "url"
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise ServerUnreachable(
            f"no server is known ({file} {reason}): {START_ONE}, or set {URL_VARIABLE}"
        ) from error
    return checked_url(text, str(file))


def published_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """What the state directory says now, where a server that took over writes its address; None
    where there is nothing to read."""
    try:
        text = (state_directory(environment) / "url").read_text(encoding="utf-8").strip()
        return checked_url(text, "url")
    except (OSError, ServerUnreachable):
        return None


def checked_url(text: str, where: str) -> str:
    """The URL without a slash at its end; raises ServerUnreachable when it is no URL.

    >>> checked_url("http://127.0.0.1:8188/", "FAIRSHARE_URL")
    'http://127.0.0.1:8188'
    """
    advice = f"{where} says {text!r}, which is no address of a server: write http://HOST:PORT"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ServerUnreachable(advice) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ServerUnreachable(advice)
    return text.rstrip("/")


def is_loopback(url: str) -> bool:
    """Whether a URL means this machine, where no proxy is to be asked."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def own_user(environment: Mapping[str, str] = os.environ) -> str | None:
    """FAIRSHARE_USER, which containers have from their application, else who runs this program.

    None if this machine has no name for that user: then the server decides.
    """
    try:
        return environment.get(USER_VARIABLE) or getpass.getuser()
    except (KeyError, OSError):
        return None

"""What a client knows from its surroundings: which server to ask, for whom, with which token.

The server is FAIRSHARE_URL, else the address in the state directory: a server writes its URL into
the file `url` there, and the path of its Unix socket, which is preferred, into `socket`. That
directory is FAIRSHARE_STATE or `~/.local/state/fairshare`. Without either it is the server of this
machine, at `/run/fairshare/fairshare.sock`. Clients write the address of a socket `unix:PATH`. The
token is FAIRSHARE_TOKEN, else the content of `~/.config/fairshare/token`. Of servers on several
hosts, FAIRSHARE_URL has all addresses, with commas between them. Nothing here talks to a server.
"""

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from fairshare.client.errors import START_ONE, ServerUnreachable, TokenUnusable

USER_VARIABLE = "FAIRSHARE_USER"
URL_VARIABLE = "FAIRSHARE_URL"
STATE_VARIABLE = "FAIRSHARE_STATE"
TOKEN_VARIABLE = "FAIRSHARE_TOKEN"  # noqa: S105 - the name of a variable, not a secret
APPLICATION_VARIABLE = "FAIRSHARE_APPLICATION_ID"
UNIX = "unix:"
"""Begins the address of a Unix socket."""
SOCKET = Path("/run/fairshare/fairshare.sock")
"""The Unix socket of the server of this machine, if it has one."""
_MOST_CHARACTERS = 4096


def state_directory(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a server of this user keeps what it must remember."""
    named = environment.get(STATE_VARIABLE)
    return Path(named or "~/.local/state/fairshare").expanduser()


def token_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a user keeps a token: below XDG_CONFIG_HOME, else ~/.config."""
    home = environment.get("XDG_CONFIG_HOME", "")
    # What is not absolute does not count, as the XDG specification wants it.
    folder = Path(home) if home.startswith("/") else Path("~/.config").expanduser()
    return folder / "fairshare" / "token"


def checked_token(text: str, where: str) -> str:
    """A token without the blanks and line ends around it; raises TokenUnusable, never showing it.

    >>> checked_token(" fst_1_2\\r\\n", "FAIRSHARE_TOKEN")
    'fst_1_2'
    """
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise TokenUnusable(f"{where} holds no token, which is one word of ASCII")
    return token


def find_token(environment: Mapping[str, str] = os.environ) -> str | None:
    """The token that says who calls: FAIRSHARE_TOKEN, else what the file holds; None: neither.

    Raises TokenUnusable for a file that others can read or that is another user's: who reads it can
    act in this user's name.
    """
    named = environment.get(TOKEN_VARIABLE)
    if named:
        return checked_token(named, TOKEN_VARIABLE)
    path = token_file(environment)
    try:
        with path.open(encoding="ascii") as file:
            status = os.fstat(file.fileno())
            text = file.read(_MOST_CHARACTERS + 1).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise TokenUnusable(f"{path} holds no token, which is one word of ASCII") from error
    except OSError as error:
        raise TokenUnusable(
            f"cannot read {path}: {error.strerror}; set {TOKEN_VARIABLE}, or mend the file"
        ) from error
    if status.st_uid != os.geteuid():
        raise TokenUnusable(
            f"{path} belongs to another user ({status.st_uid}): a token is its owner's alone"
        )
    if stat.S_IMODE(status.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        raise TokenUnusable(
            f"others can read or change {path}, and so act in your name: chmod 600 {path}, and have"
            " the token revoked if others may have seen it"
        )
    if not text or len(text.split()) != 1 or len(text) > _MOST_CHARACTERS:
        raise TokenUnusable(f"{path} holds no token: one word is needed, as it was printed")
    return text


def find_url(environment: Mapping[str, str] = os.environ) -> str:
    """The URL of the server to talk to; raises ServerUnreachable when none is known."""
    return find_urls(environment)[0]


def find_urls(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The URLs of the servers of which one leads; raises ServerUnreachable when none is known."""
    named = environment.get(URL_VARIABLE)
    return checked_urls(named, URL_VARIABLE) if named else (_published(environment),)


def _published(environment: Mapping[str, str]) -> str:
    """The URL that the state directory, or this machine, says."""
    directory = state_directory(environment)
    file = directory / "url"
    local = None
    with contextlib.suppress(OSError):
        local = _checked_socket(Path(os.fsdecode((directory / "socket").read_bytes().strip())))
    if local is None and not environment.get(STATE_VARIABLE) and not file.exists():
        local = _checked_socket(SOCKET)
    if local is not None:
        return f"{UNIX}{local}"
    try:
        text = file.read_text(encoding="utf-8").strip()
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise ServerUnreachable(
            f"no server is known ({file} {reason}): {START_ONE}, or set {URL_VARIABLE}"
        ) from error
    return checked_url(text, str(file))


def _checked_socket(path: Path) -> Path | None:
    """The path, if there is a socket of root's or of this user's."""
    try:
        status = path.stat()
    except OSError:
        return None
    ours = status.st_uid in (0, os.geteuid())
    return path if stat.S_ISSOCK(status.st_mode) and ours else None


def published_url(environment: Mapping[str, str] = os.environ) -> str | None:
    """What the state directory says now, where a server that took over writes its address; None
    where there is nothing to read."""
    try:
        text = (state_directory(environment) / "url").read_text(encoding="utf-8").strip()
        return checked_url(text, "url")
    except (OSError, ServerUnreachable):
        return None


def checked_url(text: str, where: str) -> str:
    """The URL without a slash at its end; raises ServerUnreachable when it is not a URL.

    >>> checked_url("http://127.0.0.1:8188/", "FAIRSHARE_URL")
    'http://127.0.0.1:8188'
    """
    advice = f"{where} says {text!r}, which is not the address of a server: write http://HOST:PORT"
    if text.startswith(UNIX):
        if not text.startswith(f"{UNIX}/"):
            raise ServerUnreachable(f"{where} says {text!r}: write {UNIX}/PATH for a Unix socket")
        return text
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ServerUnreachable(advice) from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise ServerUnreachable(advice)
    return text.rstrip("/")


def checked_urls(text: str, where: str) -> tuple[str, ...]:
    """The URLs, with commas between them; raises ServerUnreachable.

    >>> checked_urls("http://host1:8088/, http://host2:8088", "FAIRSHARE_URL")
    ('http://host1:8088', 'http://host2:8088')
    """
    if text.startswith(UNIX):
        return (checked_url(text, where),)
    return tuple(checked_url(one.strip(), where) for one in text.split(","))


def is_loopback(url: str) -> bool:
    """Whether a URL means this machine, where no proxy is to be asked."""
    if url.startswith(UNIX):
        return True
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def own_user(environment: Mapping[str, str] = os.environ) -> str | None:
    """FAIRSHARE_USER, which containers have from their application, else who runs this program.

    None if this machine has no name for that user: then the server decides.
    """
    import getpass  # which only a call in the name of a user needs

    try:
        return environment.get(USER_VARIABLE) or getpass.getuser()
    except (KeyError, OSError):
        return None


class Server:
    """The server that a client talks to, and in whose name.

    Without `url` it is found by FAIRSHARE_URL or in the state directory. Raises ServerUnreachable
    and TokenUnusable. `elsewhere` tells where others may have taken over: at the further addresses
    that the caller chose. Else they are looked up: for an address that the state directory gave,
    and in containers, whose server has given them its own.
    """

    def __init__(self, url: str | None, token: str | None) -> None:
        urls = checked_urls(url, "the given URL") if url else find_urls()
        self.url = urls[0]
        self.token = checked_token(token, "the given token") if token else find_token()
        chosen = url or (os.environ.get(URL_VARIABLE) and not os.environ.get(APPLICATION_VARIABLE))

        def elsewhere() -> Iterable[str]:
            published = None if chosen else published_url()
            return urls if published is None else (*urls, published)

        self.elsewhere: Callable[[], Iterable[str]] = elsewhere

    def user(self) -> str | None:
        """The user name to send. A token identifies its user, and so does a Unix socket: with these
        only another name is sent."""
        if self.token is None and not self.url.startswith(UNIX):
            return own_user()
        return os.environ.get(USER_VARIABLE)

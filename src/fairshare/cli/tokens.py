"""`fairshare admin token`: creates, lists and revokes users' tokens.

Tokens are stored in the server's state directory. The server need not run; a running server notices
changes at once.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from fairshare.cli.lists import Shown, list_options, print_list
from fairshare.cli.options import DURATION, default_directory
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.client.discovery import is_loopback
from fairshare.errors import FairshareError

if TYPE_CHECKING:
    from fairshare.server.access.tokens import UserTokens


class ShownToken(msgspec.Struct, frozen=True):
    """What may be seen of a token."""

    name: str
    user: str
    administrator: bool
    created_ms: int
    expires_ms: int | None
    note: str


def _day(at_ms: int | None) -> str:
    if at_ms is None:
        return "never"
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1_000))


COLUMNS: tuple[Shown[ShownToken], ...] = (
    Shown("Name", whole=True, of=lambda one: one.name),
    Shown("User", of=lambda one: one.user),
    Shown("Administrator", of=lambda one: "yes" if one.administrator else "no"),
    Shown("Created", whole=True, of=lambda one: _day(one.created_ms)),
    Shown("Expires", whole=True, of=lambda one: _day(one.expires_ms)),
    Shown("Note", of=lambda one: one.note),
)


def _state(verb: Callable[..., None]) -> Callable[..., None]:
    """Add `--conf` and `--state`, which determine the server's state directory."""
    conf = click.option(
        "--conf",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="The server's configuration directory: its fairshare.toml may name --state.",
    )
    state = click.option(
        "--state",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="FAIRSHARE_STATE",
        help="The server's state directory. [default: that of --conf, or of the running server]",
    )
    return conf(state(verb))


@click.group("token")
def token() -> None:
    """Create, list and revoke users' authentication tokens.

    They apply to a server with `tokens = true` under `[authentication]` in its fairshare.toml.
    """


@token.command("create")
@click.argument("user")
@click.option(
    "--admin",
    "administrator",
    is_flag=True,
    help="Gives administrator rights on the whole cluster.",
)
@click.option(
    "--expires", type=DURATION, metavar="TIME", help="How long the token is valid, such as 90d."
)
@click.option("--note", default="", help="A note about its purpose.")
@_state
def create(
    user: str,
    administrator: bool,
    expires: int | None,
    note: str,
    conf: Path | None,
    state: Path | None,
) -> None:
    """Create a token for USER, and print it. It is not shown again.

    It is valid for the server of one state directory, which is printed on stderr: that of --conf or
    --state, which need not exist yet; without them, of the server that runs on this machine.
    """
    from fairshare.server.shared.takeover import visiting
    from fairshare.server.state_directory import open_state_directory

    place, switched_on = _place(conf, state)
    _writable(place)
    now_ms = time.time_ns() // 1_000_000
    directory = open_state_directory(place)
    tokens = _tokens(directory.path)
    with visiting(directory.path):
        made = tokens.create(
            user,
            now_ms,
            expires_ms=None if expires is None else now_ms + expires,
            administrator=administrator,
            note=note,
        )
    click.echo(made)
    click.echo(f"kept in {tokens.path}", err=True)
    if directory.identity() is None:
        click.echo(
            f"warning: no server has kept its state in {directory.path} so far. The token opens"
            f" only a server that is started with --state {directory.path} or with a fairshare.toml"
            " that names this directory; of one that runs, `fairshare status` names its own",
            err=True,
        )
    if not switched_on:
        click.echo(
            f"warning: {conf}/fairshare.toml does not say `tokens = true` below [authentication]:"
            " a server with this configuration requires no tokens",
            err=True,
        )


@token.command("list")
@_state
@list_options
def list_tokens(conf: Path | None, state: Path | None, form: str) -> None:
    """List all tokens by name, without their secrets."""
    tokens = [
        ShownToken(**{name: getattr(kept, name) for name in ShownToken.__struct_fields__})
        for kept in _tokens(_existing(conf, state)).listed()
    ]
    print_list(
        form,
        tokens,
        ShownToken,
        COLUMNS,
        answer=lambda: {"tokens": tokens},
        nothing="There are no tokens.",
    )


@token.command("revoke")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_state
def revoke(names: tuple[str, ...], conf: Path | None, state: Path | None) -> None:
    """Revoke tokens at once."""
    from fairshare.server.shared.takeover import visiting

    place = _existing(conf, state)
    tokens = _tokens(place)
    with visiting(place):
        for name in names:
            tokens.revoke(name)
            click.echo(f"revoked {name}")


def _tokens(state_directory: Path) -> "UserTokens":
    from fairshare.server.access.tokens import UserTokens

    return UserTokens(state_directory)


def _place(conf: Path | None, state: Path | None) -> tuple[Path, bool]:
    """The state directory that a server would use, and whether it requires tokens, if known.

    As with `serve`, --state and FAIRSHARE_STATE override fairshare.toml. Without any of them it is
    that of the server that runs on this machine, else that of the configuration which `init` and
    `serve` use by default, else the default one if it exists.
    """
    from fairshare.server.settings import Overrides, read_settings
    from fairshare.server.state_directory import DEFAULT_STATE_DIRECTORY, StateDirectory

    if conf is None and state is None:
        with contextlib.suppress(FairshareError), Client() as client:
            if is_loopback(client.url):
                return Path(client.cluster().state_directory), True
        conf = default_directory() if (default_directory() / "fairshare.toml").exists() else None
    if conf is not None:
        settings = read_settings(conf, Overrides(state_directory=state))
        return settings.state_directory, settings.authentication.tokens
    # Programs of executors make this directory, too.
    if state is None and StateDirectory(DEFAULT_STATE_DIRECTORY.expanduser()).identity() is None:
        raise Failure(
            "no server runs on this machine, and none has kept its state where it does by default:"
            " name the server's configuration directory with --conf, or its state directory with"
            " --state"
        )
    return (state or DEFAULT_STATE_DIRECTORY).expanduser(), True


def _writable(place: Path) -> None:
    """Raise Failure where only another account makes tokens."""
    if place.exists() and place.stat().st_uid != os.geteuid() != 0:
        raise Failure(
            f"only the account that runs the server makes tokens, and {place} is not yours: ask an"
            " administrator for one. On the server's machine, verbs need none where the server has"
            " a Unix socket, and `fairshare login` prints one of your own"
        )


def _existing(conf: Path | None, state: Path | None) -> Path:
    place, _ = _place(conf, state)
    if not place.is_dir():
        raise Failure(
            f"there is no directory {place}: name the server's with --conf or --state;"
            " `fairshare status` says which a running server has"
        )
    return place

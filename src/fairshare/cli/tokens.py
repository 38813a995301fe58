"""Owns `fairshare admin token`: makes, lists and revokes the tokens of users.

They stand in the server's state directory, and a server that runs sees the change at once; it needs
not run.
"""

import time
from collections.abc import Callable
from pathlib import Path

import click
from rich.text import Text

from fairshare.cli.options import DURATION, json_option
from fairshare.cli.tables import Column, open_console, print_all, print_json, table
from fairshare.cli.verbs import Failure


def _state(verb: Callable[..., None]) -> Callable[..., None]:
    """`--conf` and `--state`, by which the server's own state directory is found."""
    conf = click.option(
        "--conf",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="The server's configuration directory: its fairshare.toml may name the state's.",
    )
    state = click.option(
        "--state",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="FAIRSHARE_STATE",
        help="The server's state directory. [default: that of --conf, ~/.local/state/fairshare]",
    )
    return conf(state(verb))


@click.group("token")
def token() -> None:
    """Make, list and revoke the tokens by which users prove who they are.

    They count for a server with `tokens = true` below `[authentication]` in its fairshare.toml.
    """


@token.command("create")
@click.argument("user")
@click.option("--admin", "administrator", is_flag=True, help="It administers the whole cluster.")
@click.option("--expires", type=DURATION, metavar="TIME", help="It counts for so long, as in 90d.")
@click.option("--note", default="", help="What it is for.")
@_state
def create(
    user: str,
    administrator: bool,
    expires: int | None,
    note: str,
    conf: Path | None,
    state: Path | None,
) -> None:
    """Make a token for USER, and print it. It is not shown again.

    It counts for the server of one state directory, which is told on stderr: name the one with
    which the server is started, by --conf or --state. It may be one that is still to be.
    """
    from fairshare.live.access.tokens import FILE, UserTokens
    from fairshare.live.state_directory import open_state_directory

    place, switched_on = _place(conf, state)
    now_ms = time.time_ns() // 1_000_000
    directory = open_state_directory(place)
    tokens = UserTokens(directory.path)
    click.echo(
        tokens.create(
            user,
            now_ms,
            expires_ms=None if expires is None else now_ms + expires,
            administrator=administrator,
            note=note,
        )
    )
    click.echo(f"kept in {directory.path / FILE}", err=True)
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
            " a server with this configuration asks nobody for a token",
            err=True,
        )


@token.command("list")
@_state
@json_option
def list_tokens(conf: Path | None, state: Path | None, as_json: bool) -> None:
    """List all tokens: their names, not what opens the door."""
    from fairshare.live.access.tokens import UserTokens

    tokens = UserTokens(_existing(conf, state)).listed()
    if as_json:
        known = ("name", "user", "administrator", "created_ms", "expires_ms", "note")
        print_json({"tokens": [{key: getattr(one, key) for key in known} for one in tokens]})
        return
    if not tokens:
        click.echo("There are no tokens.")
        return
    console = open_console()
    columns = (
        Column("Name", whole=True),
        Column("User"),
        Column("Administrator"),
        Column("Created", whole=True),
        Column("Expires", whole=True),
        Column("Note"),
    )
    rows: list[list[str | Text]] = [
        [
            one.name,
            one.user,
            "yes" if one.administrator else "no",
            _day(one.created_ms),
            "never" if one.expires_ms is None else _day(one.expires_ms),
            one.note,
        ]
        for one in tokens
    ]
    print_all(console, table(console, columns, rows))


@token.command("revoke")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_state
def revoke(names: tuple[str, ...], conf: Path | None, state: Path | None) -> None:
    """Let tokens open nothing any more, from now on."""
    from fairshare.live.access.tokens import UserTokens

    tokens = UserTokens(_existing(conf, state))
    for name in names:
        tokens.revoke(name)
        click.echo(f"revoked {name}")


def _place(conf: Path | None, state: Path | None) -> tuple[Path, bool]:
    """The state directory that a server would use, and whether it asks for tokens as far as known.

    As with `serve`, --state and FAIRSHARE_STATE stand before fairshare.toml.
    """
    from fairshare.live.settings import Overrides, read_settings
    from fairshare.live.state_directory import DEFAULT_STATE_DIRECTORY

    if conf is None:
        return (state or DEFAULT_STATE_DIRECTORY).expanduser(), True
    settings = read_settings(conf, Overrides(state_directory=state))
    return settings.state_directory.expanduser(), settings.authentication.tokens


def _existing(conf: Path | None, state: Path | None) -> Path:
    place, _ = _place(conf, state)
    if not place.is_dir():
        raise Failure(
            f"there is no directory {place}: name the server's with --conf or --state;"
            " `fairshare status` says which a running server has"
        )
    return place


def _day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1_000))

"""Owns `fairshare admin token`: makes, lists and revokes the tokens of users.

They stand in the server's state directory, and a server that runs sees the change at once; it needs
not run.
"""

import time
from pathlib import Path

import click
from rich.text import Text

from fairshare.cli.options import DURATION
from fairshare.cli.tables import Column, open_console, print_all, table

_state = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="FAIRSHARE_STATE",
    default=Path("~/.local/state/fairshare"),
    help="The server's state directory. [default: ~/.local/state/fairshare]",
)


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
def create(user: str, administrator: bool, expires: int | None, note: str, state: Path) -> None:
    """Make a token for USER, and print it. It is not shown again."""
    from fairshare.live.access.tokens import UserTokens
    from fairshare.live.state_directory import open_state_directory

    now_ms = time.time_ns() // 1_000_000
    tokens = UserTokens(open_state_directory(state).path)
    click.echo(
        tokens.create(
            user,
            now_ms,
            expires_ms=None if expires is None else now_ms + expires,
            administrator=administrator,
            note=note,
        )
    )


@token.command("list")
@_state
def list_tokens(state: Path) -> None:
    """List all tokens: their names, not what opens the door."""
    from fairshare.live.access.tokens import UserTokens

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
        for one in UserTokens(state.expanduser()).listed()
    ]
    print_all(console, table(console, columns, rows))


@token.command("revoke")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_state
def revoke(names: tuple[str, ...], state: Path) -> None:
    """Let tokens open nothing any more, from now on."""
    from fairshare.live.access.tokens import UserTokens

    tokens = UserTokens(state.expanduser())
    for name in names:
        tokens.revoke(name)
        click.echo(f"revoked {name}")


def _day(at_ms: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_ms / 1_000))

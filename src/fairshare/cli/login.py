"""`fairshare login` prints a token of the caller's own account, `fairshare open` an address that
signs a browser in once.

The address has its code in the fragment, which browsers send to no server, and the page removes it
at once. It is printed, since all accounts see the arguments of a program that would open it.
"""

import getpass
import os
import socket
import time
from urllib.parse import urlsplit

import click

from fairshare.cli.options import DURATION, json_option, print_json, with_client
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.client.discovery import UNIX, find_token, is_loopback, token_file
from fairshare.wording import cause, plain


@click.command()
@click.option(
    "--expires",
    type=DURATION,
    metavar="TIME",
    help="How long the token is valid, such as 7d. [default: as long as the server allows]",
)
@click.option(
    "--user",
    metavar="U",
    help="The account on the server's machine, for a password. [default: your login name]",
)
@click.option(
    "--keep",
    is_flag=True,
    help="Store the token in ~/.config/fairshare/token, which only you can read and"
    " verbs do, and print nothing.",
)
@with_client
@json_option
def login(client: Client, expires: int | None, user: str | None, keep: bool, as_json: bool) -> None:
    """Print a token for your account, for other machines and for the pages.

    On the server's machine its Unix socket names your account. From elsewhere the command asks for
    the account's password, if the server takes passwords (pam_service in fairshare.toml).

    A token is valid for a limited time. The server keeps the latest few of each account.
    """
    local = client.url.startswith(UNIX)
    if local and keep:
        raise click.UsageError("on this machine verbs need no token: --keep is for another one")
    if local and user:
        raise click.UsageError("the Unix socket says who you are: --user is for a password")
    if local:
        made = client.make_token(expires)
    else:
        _check_way(client)
        name = user or getpass.getuser()
        password = click.prompt(
            f"Password of {plain(name)} at {client.url}", hide_input=True, err=True
        )
        made = client.sign_in(name, password, expires)
    if keep:
        _keep(made.token)
        return
    if as_json:
        print_json({"token": made.token, "user": made.user, "expires_ms": made.expires_ms})
        return
    click.echo(made.token)
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(made.expires_ms / 1_000))
    click.echo(
        f"valid for {plain(made.user)} until {until}: paste it into the pages, or set"
        " FAIRSHARE_TOKEN and FAIRSHARE_URL on another machine",
        err=True,
    )


def _check_way(client: Client) -> None:
    """Raise Failure if the server takes no passwords, or if others on the network could read this
    one."""
    url, ways = client.url, client.sign_in_ways()
    if not ways.required:
        raise Failure(f"the server at {url} asks for no proof: a token is not needed")
    if not ways.passwords:
        raise Failure(
            f"the server at {url} takes no passwords: run `fairshare login` on its machine, or have"
            " an administrator set pam_service in [authentication] of fairshare.toml"
        )
    if urlsplit(url).scheme != "https" and not is_loopback(url):
        raise Failure(
            f"the password would cross the network to {url} as plain text: use https, or a tunnel"
            " (ssh -L 8088:127.0.0.1:8088 MACHINE, then FAIRSHARE_URL=http://127.0.0.1:8088)"
        )


def _keep(token: str) -> None:
    """Store the token where only its owner can read it."""
    path = token_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{token}\n")
        draft.replace(path)
    except OSError as error:
        raise Failure(f"cannot write {path}: {cause(error)}") from error
    click.echo(f"stored in {path}", err=True)


@click.command("open")
@click.argument("application", metavar="[APP]", required=False)
@with_client
@json_option
def open_pages(client: Client, application: str | None, as_json: bool) -> None:
    """Print an address that opens the pages in a browser, signed in as you.

    The address works once, within two minutes. With APP it is that of an application.
    """
    if find_token() is not None and client.url.startswith(UNIX):
        raise Failure(
            f"your token (FAIRSHARE_TOKEN, or {token_file()}) hides which account calls: unset it,"
            " or sign in to the page with it"
        )
    path = "/cluster/scheduler"
    if application is not None:
        path = f"/cluster/app/{client.application(application).id}"
    made = client.make_code()
    address = f"{made.url}{path}" + (f"#sign-in={made.code}" if made.code else "")
    if as_json:
        print_json({"address": address, "expires_ms": made.expires_ms})
        return
    click.echo(address)
    port = urlsplit(made.url).port
    if is_loopback(made.url) and port:
        host = socket.gethostname()
        click.echo(f"from another machine, first: ssh -L {port}:127.0.0.1:{port} {host}", err=True)

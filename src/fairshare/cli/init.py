"""Owns the verb `init`, which writes a first configuration for this machine."""

import os
import pwd
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import click

from fairshare.cli.first_configuration import InitOptions, files_of, parse_users
from fairshare.cli.options import GPUS, MEMORY, Whole, checked
from fairshare.cli.verbs import Failure
from fairshare.documents.gpus import GpuSetting
from fairshare.engines.local.gpus.chosen import choose
from fairshare.engines.local.gpus.found import find_gpus
from fairshare.engines.local.machine import default_memory_mb, processors
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.wording import cause, counted

USERS = checked(parse_users, "USERS")
ROOTS_STATE: Final = Path("/var/lib/fairshare")
ROOTS_SOCKET: Final = Path("/run/fairshare/fairshare.sock")
NO_SOCKET: Final = "none"


def default_directory() -> Path:
    """Where the configuration is by default."""
    return Path("/etc/fairshare" if os.geteuid() == 0 else "~/.config/fairshare/conf").expanduser()


@click.command("init")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), required=False)
@click.option(
    "--users",
    metavar="A,B",
    type=USERS,
    help="The users, each with a queue and an equal share. [default: each user that submits]",
)
@click.option(
    "--gpu",
    "--gpus",
    "gpus",
    metavar="G",
    type=GPUS,
    help="The GPUs to assign: auto (all), none, a number, or names: 0,1. [default: auto]",
)
@click.option("--memory", metavar="M", type=MEMORY, help="For containers. [default: four fifths]")
@click.option("--vcores", type=Whole(1), help="For containers. [default: all processors]")
@click.option("--port", type=Whole(1, 65535), help="The port of the server. [default: 8088]")
@click.option(
    "--run-as",
    type=click.Choice(["user", "server"]),
    help="The accounts under which containers run. [default: the users', if you are root]",
)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help=f"The server's state directory. [default: {ROOTS_STATE} for root]",
)
@click.option(
    "--socket",
    metavar="PATH",
    help="A Unix socket on which the kernel identifies callers, or none. [default:"
    f" {ROOTS_SOCKET} for root]",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@click.pass_context
def command(
    context: click.Context,
    directory: Path | None,
    users: tuple[str, ...] | None,
    gpus: GpuSetting | None,
    memory: int | None,
    vcores: int | None,
    port: int | None,
    run_as: str | None,
    state: Path | None,
    socket: str | None,
    force: bool,
) -> None:
    """Write a first configuration for this machine, with which `fairshare serve` works at once.

    DIRECTORY is /etc/fairshare for root, otherwise ~/.config/fairshare/conf. On a terminal and
    without options it asks.

    Run by root, it prepares a server for all users of the machine: containers run under their
    accounts, and the kernel identifies callers. Run by another user, it prepares a personal
    server.
    """
    asked = not any(value for value in context.params.values()) and sys.stdin.isatty()
    if asked:
        directory = Path(click.prompt("Directory", default=str(default_directory())))
        text = click.prompt("Users, such as ann,bob (empty: all)", default="", show_default=False)
        users = USERS(text) if text.strip() else None
        gpus = GPUS(click.prompt("GPUs: auto, none, a number, or names", default="auto"))
    root = os.geteuid() == 0
    as_users = run_as == "user" or (run_as is None and root)
    if socket is None:
        local = ROOTS_SOCKET if as_users else None
    else:
        local = None if socket == NO_SOCKET else Path(socket).absolute()
    if as_users and local is None:
        raise click.UsageError("--run-as user: callers have to be known, so that it needs --socket")
    if as_users:
        _check_accounts(users or ())
    options = InitOptions(
        users=users or (),
        gpus=_checked_gpus(gpus),
        memory_mb=memory or default_memory_mb(None),
        vcores=vcores or processors(),
        memory_given=memory is not None,
        vcores_given=vcores is not None,
        port=port,
        state_directory=state.absolute() if state else ROOTS_STATE if root else None,
        socket=local,
        as_users=as_users,
    )
    target = (directory or default_directory()).expanduser()
    write(target, files_of(options), force=force)
    _print_next_steps(target, options)


def _checked_gpus(wanted: GpuSetting | None) -> GpuSetting:
    """What is written of GPUs; raises Failure for GPUs that are not there."""
    try:
        found = find_gpus()
        choose(wanted or "auto", found, (), os.environ)
    except FairshareError as error:
        raise Failure(str(error)) from error
    if wanted is None:
        return "auto" if found else "none"
    return wanted


def _check_accounts(users: tuple[str, ...]) -> None:
    if os.geteuid() != 0:
        raise click.UsageError(
            "--run-as user: only a server of root's can do so; call this as root"
        )
    for user in users:
        try:
            found = pwd.getpwnam(user)
        except KeyError:
            raise Failure(
                f"there is no account {user!r} on this machine: containers run under their users'"
                " accounts. Make it (useradd), or leave it out of --users"
            ) from None
        if found.pw_uid == 0:
            raise Failure(f"{user!r} is root, and nothing runs as root: leave it out of --users")


def write(directory: Path, files: dict[str, str], *, force: bool) -> None:
    """Write files that a server can be started on: all of them, or none. Raises Failure."""
    there = [name for name in files if (directory / name).exists()]
    if there and not force:
        raise Failure(
            f"{directory} has {' and '.join(there)} already, and nothing was written: name another"
            " directory, or replace them with --force"
        )
    try:
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".init-", dir=directory))
        try:
            for name, text in files.items():
                (draft / name).write_text(text, encoding="utf-8")
                (draft / name).chmod(0o644)
            _check(draft)
            for name in files:
                (draft / name).replace(directory / name)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise Failure(f"cannot write to {directory}: {cause(error)}") from error


def _check(directory: Path) -> None:
    # Imported lazily: they load the schedulers, which `--help` does not need.
    from fairshare.server.settings import Overrides, read_settings
    from fairshare.web.listener import check_exposure

    try:
        check_exposure(read_settings(directory, Overrides()))
    except ConfigurationError as error:
        raise Failure(f"nothing was written: {error}") from error


def _print_next_steps(directory: Path, options: InitOptions) -> None:
    users = counted(len(options.users), "user") if options.users else "every user"
    click.echo(f"{directory}: a configuration for {users} of this machine")
    click.echo(f"start the server:  fairshare serve --conf {directory}")
    if options.as_users:
        click.echo("as a service:      examples/deploy has a systemd unit")
    click.echo(
        f"then{', as a user:' if options.as_users else ':':14} fairshare submit --wait -- hostname"
    )

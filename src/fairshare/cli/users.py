"""`fairshare admin user add`: a queue for a further user, in the allocation file of the Fair
Scheduler. The rest of the file stays as it is.
"""

import shutil
from pathlib import Path
from typing import Final

import click

from fairshare.cli.init import NAME
from fairshare.cli.options import Number, default_directory
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.core.model.queues import ROOT, full_name
from fairshare.errors import AccountsUnavailable, ConfigurationError, FairshareError, InputError
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.settings.draft import DraftForm, Edit
from fairshare.settings.output import write_directory
from fairshare.settings.registry import family_of
from fairshare.this_machine import account_named
from fairshare.wording import cause, plain_lines

LIST: Final = "aclSubmitApps"
"""The setting of a queue with the users that submit to it."""


@click.group("user")
def user() -> None:
    """Add users to a configuration with a queue for each."""


@user.command("add")
@click.argument("name", metavar="USER")
@click.option(
    "--conf",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The server's configuration directory. [default: where `fairshare init` writes one]",
)
@click.option(
    "--parent", metavar="Q", default="root", help="The queue that gets the new one. [default: root]"
)
@click.option(
    "--weight", type=Number(0, 1_000_000, zero=False), metavar="W", help="Its share. [default: 1]"
)
@click.pass_context
def add(
    context: click.Context, name: str, conf: Path | None, parent: str, weight: float | None
) -> None:
    """Add a queue for USER to the allocation file, and have the running server read it.

    Where access lists are in force only USER submits to it, as with `fairshare init --users`. The
    file before is kept as FILE~. If the server cannot use the new file, nothing is changed.
    """
    conf = conf or default_directory()
    if not NAME.fullmatch(name):
        raise click.UsageError(f"{name!r} is not the name of a user")
    settings = read_settings(conf, Overrides())
    assert settings.configuration is not None
    path = settings.configuration.allocation_path
    if path is None or path.absolute().parent != conf.absolute():
        raise Failure(
            f"{conf} has no allocation file: name the server's directory with --conf, or add the"
            " queue by hand where its files are"
        )
    _check_user(name, settings)
    full_parent = full_name(parent)
    form = family_of(settings.scheduler).draft
    if form is None or LIST not in [field.name for field in form.fields]:
        raise Failure(
            f"{path} is not an allocation file of the Fair Scheduler: for the Capacity Scheduler"
            " see fairshare admin config add-queue"
        )
    listed = settings.configuration.acl_enabled
    try:
        text = path.read_bytes().decode()
        written = with_user(form, text, full_parent, name, weight, listed=listed)
    except (OSError, UnicodeDecodeError, InputError) as error:
        raise Failure(f"{path}: {cause(error)}") from error
    try:
        copies = write_directory(
            {path.name: written.encode()},
            conf,
            force=True,
            examine=lambda place: _examine(place, path),
        ).copies
    except OSError as error:
        raise Failure(f"cannot write {path}: {cause(error)}") from error
    click.echo(f"added {full_parent}.{_queue_name(name)} to {path}")
    for copy in copies:
        click.echo(f"the file before: {copy}")
    _reload(context)


def _check_user(name: str, settings: LiveSettings) -> None:
    """Raise Failure for an account that does not exist, if containers run under it."""
    if settings.run_as != "user":
        return
    try:
        account = account_named(name)
    except AccountsUnavailable as error:
        raise Failure(str(error)) from error
    if account is None:
        raise Failure(f"there is no account {name!r} on this machine: make it first (useradd)")
    if account.pw_uid == 0:
        raise Failure(f"{name!r} is root here, and nothing runs as root")


def _queue_name(name: str) -> str:
    return name.replace(".", "_dot_")  # as Hadoop names a user's queue


def with_user(
    form: DraftForm, text: str, parent: str, name: str, weight: float | None, *, listed: bool
) -> str:
    """The allocation file with a queue for a user, as the page of the configuration writes it.
    Raises InputError."""
    parts = {part.queue: part for part in form.read(text).parts}
    queues = {*parts, ROOT}
    full = f"{parent}.{_queue_name(name)}"
    if parent not in queues:
        raise InputError(
            "bad-edit", f"it has no queue {parent}: it has {', '.join(sorted(queues))}"
        )
    marked = parent == ROOT or parts[parent].marked
    if not (marked or any(one.startswith(f"{parent}.") for one in queues)):
        raise InputError(
            "bad-edit",
            f"{parent} takes applications, and would take none any more with a queue in it: name"
            f' another one with --parent, or give {parent} the attribute type="parent"',
        )
    edits = [Edit("add", full)]
    if weight is not None:
        edits.append(Edit("set", full, "weight", str(float(weight))))
    if listed:
        edits.append(Edit("set", full, LIST, name))
    return form.edited(text, edits)


def _examine(staging: Path, path: Path) -> None:
    """Read the configuration with the new file in place of `path`; raises Failure if a server could
    not use it."""
    for file in path.parent.iterdir():
        if file.is_file() and file.name != path.name:
            shutil.copy2(file, staging / file.name)
    (staging / path.name).chmod(path.stat().st_mode & 0o777)
    try:
        read_settings(staging, Overrides())
    except ConfigurationError as error:
        raise Failure(f"nothing was written: {error}") from error


def _reload(context: click.Context) -> None:
    """Have the running server read the file, if there is one."""
    open_client = context.find_root().obj or Client
    try:
        with open_client(None) as client:
            refreshed = client.refresh_queues()
    except FairshareError as error:
        words = str(error).partition("\n")[0]
        click.echo(f"no server has read it yet: {plain_lines(words)}", err=True)
        return
    for problem in refreshed.problems:
        click.echo(plain_lines(str(problem)), err=True)
    click.echo("the server has read it")

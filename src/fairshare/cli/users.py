"""`fairshare admin user add`: a queue for a further user, in the allocation file of the Fair
Scheduler. The rest of the file stays as it is.
"""

import shutil
from pathlib import Path
from typing import Final, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import click

from fairshare.cli.init import NAME
from fairshare.cli.options import default_directory
from fairshare.cli.verbs import Failure
from fairshare.client import Client
from fairshare.errors import AccountsUnavailable, ConfigurationError, FairshareError
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.settings.output import write_directory
from fairshare.this_machine import account_named
from fairshare.wording import cause, plain_lines

_TOP: Final = "allocations"
_QUEUES: Final = ("queue", "pool")


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
    "--weight", type=click.FloatRange(0, min_open=True), metavar="W", help="Its share. [default: 1]"
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
        raise Failure(f"{conf} has no allocation file, into which a queue could be put")
    try:
        before = path.read_bytes()
    except OSError as error:
        raise Failure(f"{path}: {cause(error)}") from error
    _check_user(name, settings)
    full_parent = parent if parent == "root" or parent.startswith("root.") else f"root.{parent}"
    element = queue_of(name, weight, listed=settings.configuration.acl_enabled)
    written = with_queue(before, full_parent, element, path)
    try:
        copies = write_directory(
            {path.name: written}, conf, force=True, examine=lambda place: _examine(place, path)
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


def queue_of(name: str, weight: float | None, *, listed: bool) -> str:
    """The element of a user's queue.

    >>> queue_of("ann", 2, listed=True)
    '<queue name="ann"><weight>2.0</weight><aclSubmitApps>ann</aclSubmitApps></queue>'
    """
    parts = [f"<weight>{float(weight)}</weight>"] if weight is not None else []
    parts += [f"<aclSubmitApps>{escape(name)}</aclSubmitApps>"] if listed else []
    return f"<queue name={quoteattr(_queue_name(name))}>{''.join(parts)}</queue>"


class _Place(NamedTuple):
    """Where the end tag of a queue begins, in bytes; the names of the queues in it; and whether it
    takes no applications, even without any."""

    end: int
    inside: frozenset[str]
    is_parent: bool


def with_queue(document: bytes, parent: str, element: str, path: Path) -> bytes:
    """The document with a further queue before the end of its parent. Raises Failure for a parent
    that it does not have, or that takes applications, and for a queue that it has."""
    places = _places(document, path)
    place = places.get(parent)
    if place is None:
        known = ", ".join(sorted(places))
        raise Failure(f"{path} has no queue {parent}: it has {known}")
    name = element.partition('name="')[2].partition('"')[0]
    if f"{parent}.{name}" in place.inside:
        raise Failure(f"{path} has a queue {parent}.{name} already")
    if not (place.is_parent or place.inside):
        raise Failure(
            f"{parent} takes applications, and would take none any more with a queue in it: name"
            f' another one with --parent, or give {parent} in {path} the attribute type="parent"'
        )
    line_start = document.rfind(b"\n", 0, place.end) + 1
    before = document[line_start : place.end]
    if before.strip():  # the end tag is behind something else
        return document[: place.end] + element.encode() + document[place.end :]
    line = before + b"  " + element.encode() + b"\n"
    return document[:line_start] + line + document[line_start:]


def _places(document: bytes, path: Path) -> dict[str, _Place]:
    """The queues of an allocation file by their full names. What is directly in the file is in
    root, also if it does not write root."""
    parser = expat.ParserCreate()
    names: list[str | None] = []  # of the open elements that are queues, else None
    places: dict[str, _Place] = {}
    inside: dict[str, set[str]] = {"root": set()}
    parents = {"root"}

    def current() -> str:
        return next((name for name in reversed(names) if name), "root")

    def start(tag: str, attributes: dict[str, str]) -> None:
        if not names and tag != _TOP:
            raise Failure(
                f"{path} is not an allocation file: for the Capacity Scheduler see fairshare admin"
                " config add-queue"
            )
        if tag not in _QUEUES or "name" not in attributes:
            names.append(None)
            return
        own = attributes["name"].strip()
        full = "root" if own == "root" and not any(names) else f"{current()}.{own}"
        if full != "root":
            inside[current()].add(full)
        inside.setdefault(full, set())
        if attributes.get("type", "").strip() == "parent":
            parents.add(full)
        names.append(full)

    def end(tag: str) -> None:
        full = names.pop()
        if full is None and not names and "root" not in places:
            full = "root"  # </allocations>
        if full is not None:
            places[full] = _Place(parser.CurrentByteIndex, frozenset(inside[full]), full in parents)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        raise Failure(f"{path}: {error}") from error
    # An empty element has one tag, into which nothing can be put.
    return {
        name: place._replace(inside=frozenset(inside[name]))
        for name, place in places.items()
        if document[place.end : place.end + 2] == b"</"
    }


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

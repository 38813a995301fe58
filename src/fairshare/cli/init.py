"""The verb `init`, which writes a first configuration for this machine, and the text of that
configuration: one machine that its users share equally.
"""

import json
import os
import pwd
import re
import sys
from pathlib import Path
from typing import Final

import click
import msgspec

from fairshare.cli.options import GPUS, MEMORY, Whole, checked, default_directory
from fairshare.cli.systemd_unit import this_program, unit_text
from fairshare.cli.verbs import Failure
from fairshare.documents.gpus import GPU, GpuSetting
from fairshare.engines.local.gpus.chosen import choose
from fairshare.engines.local.gpus.found import find_gpus
from fairshare.engines.local.machine import default_memory_mb, processors
from fairshare.engines.rights import closed_program
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.listener import check_exposure
from fairshare.settings.output import OutputExists, write_directory
from fairshare.settings.shell import ROOTS_RAY_TOKEN, Head, parse_head
from fairshare.wording import cause, counted

STEP_MB: Final = 128
"""The sizes of containers are multiples of it."""
MOST_OF_A_CLUSTER: Final = (16 * 1024 * 1024, 4096)
"""The memory in MB and the vcores of a container where the machines are not known: above those of
any, since a container may not be larger than the largest of them anyway."""
NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,99}")
"""The names of users that can be names of queues, too."""


class InitOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a first configuration is about. Without `users` every user gets a queue. With `socket`
    callers are those whom the kernel names; `as_users`: containers run under their accounts.
    `cluster` is the address of a cluster of machines; empty: this machine alone."""

    users: tuple[str, ...]
    gpus: GpuSetting
    memory_mb: int
    vcores: int
    memory_given: bool = False
    vcores_given: bool = False
    port: int | None = None
    state_directory: Path | None = None
    socket: Path | None = None
    as_users: bool = False
    cluster: str = ""


def parse_users(text: str) -> tuple[str, ...]:
    """The users of an option; raises ValueError.

    >>> parse_users("ann, bob")
    ('ann', 'bob')
    """
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not the name of a user: write names, as in ann,bob")
        if names.count(name) > 1:
            raise ValueError(f"{name} is named twice")
    if not names:
        raise ValueError("name at least one user, as in ann,bob")
    return names


def files_of(options: InitOptions) -> dict[str, str]:
    """The files of the configuration, by name."""
    return {
        "yarn-site.xml": _site(options),
        "fair-scheduler.xml": _allocations(options),
        "fairshare.toml": _shell(options),
    }


def _site(options: InitOptions) -> str:
    memory_mb, vcores = options.memory_mb, options.vcores
    largest = "The largest container: what this machine offers."
    if options.cluster:
        memory_mb, vcores = MOST_OF_A_CLUSTER
        largest = "The largest container. None is larger than the largest machine."
    properties = {
        "yarn.resourcemanager.scheduler.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
            "Users get equal shares; what one does not use, the others have.",
        ),
        "yarn.scheduler.minimum-allocation-mb": (
            STEP_MB,
            "Requests are rounded up to this, in MB.",
        ),
        "yarn.scheduler.increment-allocation-mb": (STEP_MB, ""),
        "yarn.scheduler.maximum-allocation-mb": (
            max(STEP_MB, memory_mb // STEP_MB * STEP_MB),
            largest,
        ),
        "yarn.scheduler.maximum-allocation-vcores": (vcores, ""),
        "yarn.scheduler.fair.assignmultiple": (
            "true",
            "As many containers as fit are started at once.",
        ),
        "yarn.scheduler.fair.dynamic.max.assign": ("false", ""),
        "yarn.scheduler.fair.preemption": (
            "false",
            "With true, containers of users above their share are ended for users below theirs.",
        ),
    }
    # Also without GPUs: what the types of a state directory are, stays.
    properties["yarn.resource-types"] = (GPU, "What is counted beside memory and vcores.")
    if options.as_users:
        properties |= {
            "yarn.acl.enable": ("true", "The access lists of the queues are in force."),
            "yarn.admin.acl": ("root", "The administrators: accounts, a space, and groups."),
        }
    lines = ['<?xml version="1.0"?>', "<!-- Made by `fairshare init`. -->", "<configuration>"]
    for name, (value, why) in properties.items():
        lines += ["", "  <property>", f"    <name>{name}</name>", f"    <value>{value}</value>"]
        if why:
            lines.append(f"    <description>{why}</description>")
        lines.append("  </property>")
    return "\n".join([*lines, "", "</configuration>", ""])


def _allocations(options: InitOptions) -> str:
    lines = [
        '<?xml version="1.0"?>',
        "<!-- Made by `fairshare init`. A queue for each user, with equal shares. A weight of 2 is",
        '     twice the share: <queue name="ann"><weight>2.0</weight></queue> -->',
        "<allocations>",
        "",
    ]
    lines += _queues(options)
    placement = ['    <rule name="user" create="true"/>']
    if options.users:
        placement = ['    <rule name="user" create="false"/>', '    <rule name="reject"/>']
    lines += [
        "  <!-- A share is of memory, vcores or GPUs: of what a user has most of. -->",
        "  <defaultQueueSchedulingPolicy>drf</defaultQueueSchedulingPolicy>",
        "",
        "  <queuePlacementPolicy>",
        *placement,
        "  </queuePlacementPolicy>",
        "",
        "</allocations>",
        "",
    ]
    return "\n".join(lines)


def _queues(options: InitOptions) -> list[str]:
    """The queues of the users. Where callers are known, each submits to its own queue alone, and
    only administrators change the applications of others."""
    # As Hadoop names a user's queue.
    queues = {name: name.replace(".", "_dot_") for name in options.users}
    if not options.as_users:
        return [*(f'  <queue name="{queue}"/>' for queue in queues.values()), ""] if queues else []
    lines = [
        "  <!-- Lists of accounts, a space, and groups. A queue has those of the queues above it,",
        "       too; a space alone means no users. -->",
        '  <queue name="root">',
        *(["    <aclSubmitApps> </aclSubmitApps>"] if queues else []),
        "    <aclAdministerApps> </aclAdministerApps>",
    ]
    for name, queue in queues.items():
        lines.append(f'    <queue name="{queue}"><aclSubmitApps>{name}</aclSubmitApps></queue>')
    return [*lines, "  </queue>", ""]


def _shell(options: InitOptions) -> str:
    lines = ["# Made by `fairshare init`. All keys: docs/configuration.md", ""]
    server: list[str] = []
    if options.port is not None:
        server.append(f"port = {options.port}")
    if options.state_directory is not None:
        server.append(f"state_directory = {_text(str(options.state_directory))}")
    if options.socket is not None:
        server += [
            "# Users of this machine call here, without tokens: the kernel says who they are.",
            f"socket = {_text(str(options.socket))}",
        ]
    if server:
        lines += ["[server]", *server, ""]
    if options.socket is not None:
        lines += [
            "[authentication]",
            "# All others need a token: of `fairshare login`, and for the pages in a browser an",
            "# address of `fairshare open`. tokens = true: those of `fairshare admin token`, too.",
            "socket = true",
            "",
        ]
    lines.append("[engine]")
    if options.as_users:
        lines += ["# Containers run under the accounts of their users.", 'run_as = "user"']
    if options.cluster:
        lines += [
            "# Machines say themselves what they offer: `fairshare node join`.",
            'kind = "ray"',
            "",
            "[ray]",
            f"address = {_text(options.cluster)}",
            f"token_file = {_text(ROOTS_RAY_TOKEN)}",
            "",
        ]
        return "\n".join(lines)
    lines += [
        "# The GPUs of this machine, each assigned to one container.",
        f"gpus = {json.dumps(options.gpus)}",
        *(_COUNTED_ANYWAY if options.gpus == "none" else ()),
        "# What containers get of this machine: by default four fifths of its memory, and all",
        "# processors.",
        f"{'' if options.memory_given else '# '}memory_mb = {options.memory_mb}",
        f"{'' if options.vcores_given else '# '}vcores = {options.vcores}",
        "",
    ]
    return "\n".join(lines)


_COUNTED_ANYWAY: Final = (
    "# They count, so that the server can go on with its state when it has some later.",
    f'resources = {{ "{GPU}" = 0 }}',
)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


USERS = checked(parse_users, "USERS")
ROOTS_STATE: Final = Path("/var/lib/fairshare")
ROOTS_SOCKET: Final = Path("/run/fairshare/fairshare.sock")
NO_SOCKET: Final = "none"


@click.command("init")
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path), required=False)
@click.option(
    "--users",
    metavar="A,B",
    type=USERS,
    help="The users, each with a queue and an equal share; all others are rejected."
    " [default: each user that submits]",
)
@click.option(
    "--gpu",
    "--gpus",
    "gpus",
    metavar="G",
    type=GPUS,
    help="The GPUs to assign: auto (all), none, a number, or names: 0,1. [default: auto]",
)
@click.option(
    "--memory",
    metavar="M",
    type=MEMORY,
    help="The memory of this machine that containers may use. [default: four fifths]",
)
@click.option(
    "--vcores",
    type=Whole(1),
    help="The vcores of this machine that containers may use. [default: all processors]",
)
@click.option("--port", type=Whole(1, 65535), help="The port of the server. [default: 8088]")
@click.option(
    "--run-as",
    type=click.Choice(["user", "server"]),
    help="The accounts under which containers run: their users', or that of the server."
    " [default: user for root]",
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
@click.option(
    "--systemd",
    is_flag=True,
    help="Only print a systemd unit that starts the server on DIRECTORY; write nothing.",
)
@click.option(
    "--cluster",
    type=checked(parse_head),
    metavar="HEAD[:PORT]",
    help="Containers run on the machines of the cluster of HEAD (`fairshare node`).",
)
@click.option("--force", is_flag=True, help="Replace existing files, and keep them as FILE~.")
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
    systemd: bool,
    cluster: Head | None,
    force: bool,
) -> None:
    """Write a first configuration for this machine, with which `fairshare serve` works at once.

    DIRECTORY is /etc/fairshare for root, otherwise ~/.config/fairshare/conf. On a terminal and
    without options it asks.

    Run by root, it prepares a server for all users of the machine: containers run under their
    accounts, and the kernel identifies callers. Run by another user, it prepares a personal
    server.
    """
    root = os.geteuid() == 0
    if systemd:
        target = (directory or default_directory()).expanduser().absolute()
        click.echo(unit_text(this_program(), target, of_root=root), nl=False)
        return
    asked = not any(value for value in context.params.values()) and sys.stdin.isatty()
    if asked:
        directory = Path(click.prompt("Directory", default=str(default_directory())))
        text = click.prompt("Users, such as ann,bob (empty: all)", default="", show_default=False)
        users = USERS(text) if text.strip() else None
        gpus = GPUS(click.prompt("GPUs: auto, none, a number, or names", default="auto"))
    as_users = run_as == "user" or (run_as is None and root)
    if socket is None:
        local = ROOTS_SOCKET if as_users else None
    else:
        local = None if socket == NO_SOCKET else Path(socket).absolute()
    if as_users and local is None:
        raise click.UsageError("--run-as user: callers have to be known, so that it needs --socket")
    if as_users:
        _check_accounts(users or ())
    setting, named_gpus = _checked_gpus(gpus)
    options = InitOptions(
        users=users or (),
        gpus=setting,
        memory_mb=memory or default_memory_mb(None),
        vcores=vcores or processors(),
        memory_given=memory is not None,
        vcores_given=vcores is not None,
        port=port,
        state_directory=state.absolute() if state else ROOTS_STATE if root else None,
        socket=local,
        as_users=as_users,
        cluster=cluster.address if cluster else "",
    )
    if cluster and not as_users:
        raise click.UsageError("--cluster: containers of a cluster run under the users' accounts")
    if cluster and (gpus is not None or memory is not None or vcores is not None):
        raise click.UsageError(
            "--gpus, --memory and --vcores: with --cluster, `fairshare node` says what each machine"
            " offers"
        )
    target = (directory or default_directory()).expanduser()
    copies = _write(target, files_of(options), force=force)
    whose = counted(len(options.users), "user") if options.users else "every user"
    what = f"a configuration for {whose} of this machine"
    if not as_users:
        what = "a configuration for a server whose containers run under its own account"
    click.echo(f"{target}: {what}")
    if copies:
        click.echo(f"the files before:  {' '.join(map(str, copies))}")
    if not cluster:
        click.echo(f"GPUs:              {named_gpus}")
    _print_next_steps(target, options)


def _checked_gpus(wanted: GpuSetting | None) -> tuple[GpuSetting, str]:
    """What is written of GPUs, and what is said of it; raises Failure for GPUs that are not
    there."""
    try:
        found = find_gpus()
        chosen = choose(wanted or "auto", found, (GPU,), os.environ)
    except FairshareError as error:
        raise Failure(str(error)) from error
    if chosen is None:
        return "none", "none are assigned"
    if not chosen.all:
        return wanted or "none", "none found; gpus in fairshare.toml can name them"
    models = ", ".join(dict.fromkeys(gpu.model for gpu in chosen.all if gpu.model))
    return wanted or "auto", f"{len(chosen.all)}{f' ({models})' if models else ''}"


def _check_accounts(users: tuple[str, ...]) -> None:
    if os.geteuid() != 0:
        raise click.UsageError(
            "--run-as user: only a server of root's can do so; call this as root"
        )
    for user in users:
        try:
            account = pwd.getpwnam(user)
        except KeyError:
            raise Failure(
                f"there is no account {user!r} on this machine: containers run under their users'"
                " accounts. Make it (useradd), or leave it out of --users"
            ) from None
        if account.pw_uid == 0:
            raise Failure(f"{user!r} is root, and nothing runs as root: leave it out of --users")


def _write(directory: Path, files: dict[str, str], *, force: bool) -> list[Path]:
    """Write files that a server can be started on: all of them, or none. Gives the copies of those
    that were replaced; raises Failure."""
    try:
        encoded = {name: text.encode() for name, text in files.items()}
        return write_directory(encoded, directory, force=force, examine=_check).copies
    except OutputExists as error:
        raise Failure(f"nothing was written: {error}") from error
    except OSError as error:
        raise Failure(f"cannot write to {directory}: {cause(error)}") from error


def _check(directory: Path) -> None:
    # Imported lazily: they load the schedulers, which `--help` does not need.
    for file in directory.iterdir():
        file.chmod(0o644)  # the accounts of users read it, too
    try:
        check_exposure(read_settings(directory, Overrides(trust_local_users=True)))
    except ConfigurationError as error:
        raise Failure(f"nothing was written: {error}") from error


def _print_next_steps(directory: Path, options: InitOptions) -> None:
    trust = "" if options.as_users or os.geteuid() else " --trust-local-users"
    click.echo(f"start the server:  fairshare serve --conf {directory}{trust}")
    if trust:
        click.echo(
            "Warning: with --trust-local-users every account of this machine can run commands as"
            " root",
            err=True,
        )
    if options.as_users:
        if closed := closed_program():
            click.echo(f"Warning: {closed}", err=True)
        click.echo(
            "as a service:      fairshare init --systemd > /etc/systemd/system/fairshare.service"
        )
    click.echo(
        f"then{', as a user:' if options.as_users else ':':14} fairshare submit --wait -- hostname"
    )

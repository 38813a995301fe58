"""The verb `node`: this machine in a Ray cluster of root's, whose processes a keeper keeps."""

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click

from fairshare.cli.options import DURATION, MEMORY, Whole, checked
from fairshare.cli.systemd_unit import quoted
from fairshare.cli.verbs import Failure
from fairshare.documents.sizes import MEBIBYTE
from fairshare.engines.local import processes
from fairshare.engines.local.machine import default_memory_mb, processors
from fairshare.ray import joined
from fairshare.ray.keeper import END_S, FIXED_PORTS, LOOK_S, Keeper, Offer, kept, ray_variables
from fairshare.settings.shell import ROOTS_RAY_PORT, Head, parse_head
from fairshare.wording import cause

UNIT: Final = Path("/etc/systemd/system/fairshare-node.service")

START_S, ANSWER_S = 60.0, 5.0


def named(text: str) -> tuple[str, str]:
    """NAME=TEXT."""
    name, equals, rest = text.partition("=")
    if not name or not equals or not rest or "," in text:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE")
    return name, rest


def amount(text: str) -> tuple[str, int]:
    """NAME=N."""
    name, number = named(text)
    if not number.isdecimal():
        raise click.BadParameter(f"{text!r} is not NAME=N")
    return name, int(number)


_OPTIONS: Final = (
    click.option("--address", metavar="IP", help="The address by which others reach it."),
    click.option("--cpus", type=Whole(0), help="The vcores that it offers. [default: all]"),
    click.option("--memory", type=MEMORY, help="[default: four fifths of the machine's]"),
    click.option("--gpus", type=Whole(0), help="[default: those that Ray finds]"),
    click.option(
        "--resource",
        "resources",
        type=amount,
        metavar="NAME=N",
        multiple=True,
        help="An amount of a further type; repeatable.",
    ),
    click.option(
        "--label",
        "labels",
        type=named,
        metavar="NAME=TEXT",
        multiple=True,
        help="An attribute of the node; repeatable.",
    ),
    click.option(
        "--service", is_flag=True, help=f"Write {UNIT} for systemd instead, which starts it."
    ),
    click.option(
        "--foreground", is_flag=True, help="Stay, and keep Ray's processes, as the service does."
    ),
)


def _with_options(verb: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        verb = option(verb)
    return verb


@click.group()
def command() -> None:
    """This machine in root's Ray cluster, on which containers run under their users' accounts."""


@command.command("head")
@_with_options
def head(address: str | None, **options: object) -> None:
    """Begin a cluster on this machine, with a new token if there is none.

    Other machines join it with `fairshare node join`; the server has its address in
    [ray] of fairshare.toml. Needs root.
    """
    _check_machine()
    if not joined.TOKEN_FILE.exists():
        joined.TOKEN_FILE.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(joined.TOKEN_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32))
        click.echo(f"made {joined.TOKEN_FILE}: copy it to the other machines, for root alone")
    _begin("", address or _own_address(), options)


@command.command("join")
@click.argument("head", metavar="HEAD[:PORT]", type=checked(parse_head))
@_with_options
def join(head: Head, address: str | None, **options: Any) -> None:
    """Let this machine join the cluster of HEAD.

    Needs root, the file with HEAD's token, and the same versions of fairshare, Ray and Python.
    """
    _check_machine()
    if not joined.TOKEN_FILE.exists():
        raise Failure(
            f"there is no {joined.TOKEN_FILE}, the cluster's token: as root,"
            f" mkdir -p {joined.TOKEN_FILE.parent} && scp {head.host}:{joined.TOKEN_FILE}"
            f" {joined.TOKEN_FILE}"
        )
    try:
        with socket.create_connection(head, ANSWER_S) as probe:
            own = str(probe.getsockname()[0])
    except OSError as error:
        raise Failure(
            f"nothing answers at {head.address} ({cause(error)}): is `fairshare node head` running"
            " there, and does the firewall let this port through?"
        ) from error
    _begin(head.address, address or own, options)


@command.command("leave")
@click.option("--now", is_flag=True, help="Do not wait: running containers are stopped.")
@click.option("--timeout", type=DURATION, help="Wait for containers no longer than this.")
def leave(now: bool, timeout: int | None) -> None:
    """Let this machine leave its cluster, when its containers have ended.

    Meanwhile it takes no new ones. Containers that are stopped run again elsewhere.
    """
    _check_root()
    record = kept()
    if record is None:
        raise Failure("this machine is in no cluster: `fairshare node join HEAD`")
    joined.set_leaving(True)
    try:
        end_s = None if timeout is None else time.monotonic() + timeout / 1000
        while not (now or joined.agents_are_gone()):
            if end_s is not None and time.monotonic() > end_s:
                click.echo("the time is over: running containers are stopped", err=True)
                break
            time.sleep(LOOK_S)
        _end_keeper(record.pid)
        joined.RECORD.unlink(missing_ok=True)
    except KeyboardInterrupt:
        click.echo(
            "it stays. The server has drained it: `fairshare admin undrain` returns it", err=True
        )
        raise
    finally:
        joined.set_leaving(False)
    if UNIT.exists():
        click.echo("systemctl disable fairshare-node   # else it joins at the next boot")


@command.command("list")
def list_nodes() -> None:
    """List the machines of this machine's cluster, as Ray sees them."""
    _check_root()
    record = kept()
    if record is None:
        raise Failure("this machine is in no cluster: `fairshare node join HEAD`")
    rows = [
        (
            node.node_manager_hostname,
            node.node_manager_address,
            "ALIVE" if node.state == 0 else "DEAD",
            f"{node.resources_total.get('CPU', 0):g}",
            f"{int(node.resources_total.get('memory', 0)) // MEBIBYTE}",
            f"{node.resources_total.get('GPU', 0):g}",
        )
        for node in _nodes(record.head)
    ]
    table = [("Host", "Address", "State", "CPUs", "Memory MB", "GPUs"), *sorted(rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _nodes(head: str) -> list[Any]:
    """What the head says of all nodes; raises Failure."""
    os.environ.update(ray_variables({}))
    try:
        socket.create_connection(parse_head(head), ANSWER_S).close()
        raylet: Any = import_module("ray._raylet")  # compiled
        client = raylet.GcsClient(address=head)
        return list(client.get_all_node_info(timeout=ANSWER_S).values())
    except Exception as error:
        words = str(error).partition("\n")[0]
        raise Failure(f"the head of the cluster at {head} does not answer: {words}") from error


# -- this machine ---------------------------------------------------------------------------------


def _check_root() -> None:
    if os.geteuid() != 0:
        raise Failure("`fairshare node` needs root, whose cluster it is")


def _check_machine() -> None:
    _check_root()
    if find_spec("ray") is None:
        raise Failure(
            f"Ray is not installed here: {sys.executable} -m pip install 'fairshare[ray]'"
        )
    try:
        joined.make_directory()
        token = joined.TOKEN_FILE.stat() if joined.TOKEN_FILE.exists() else None
    except OSError as error:
        raise Failure(f"cannot use {joined.DIRECTORY}: {cause(error)}") from error
    if token is not None and (token.st_uid != 0 or token.st_mode & 0o077):
        raise Failure(
            f"{joined.TOKEN_FILE} must be root's alone: chown root and chmod 600 it; if others have"
            " read it, make a new one on all machines"
        )


def _own_address() -> str:
    """The address of this machine's name, which others use."""
    try:
        addresses = {str(place[4][0]) for place in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        addresses = set()
    outer = sorted(ip for ip in addresses if not ip.startswith(("127.", "::1", "fe80")))
    if not outer:
        raise Failure(
            "the name of this machine has no address of a network: name one, --address IP"
        )
    return outer[0]


def _begin(head: str, address: str, options: dict[str, Any]) -> None:
    offer = Offer(
        head,
        address,
        processors() if options["cpus"] is None else options["cpus"],
        default_memory_mb(None) if options["memory"] is None else options["memory"],
        options["gpus"],
        dict(options["resources"]),
        dict(options["labels"]),
    )
    words = [sys.executable, "-P", "-m", "fairshare", "node", *offer.words(), "--foreground"]
    if options["service"]:
        text = UNIT_TEXT.format(line=" ".join(map(quoted, words)))
        try:
            UNIT.write_text(text)
        except OSError as error:
            raise Failure(f"cannot write {UNIT}: {cause(error)}") from error
        click.echo("systemctl daemon-reload && systemctl enable --now fairshare-node")
        return
    record = kept()
    if record is not None:
        raise Failure(f"this machine is in the cluster of {record.head} already")
    _check_ports(offer)
    joined.set_leaving(False)
    if options["foreground"]:
        raise SystemExit(Keeper(offer).run())
    _in_background(offer, words)


def _check_ports(offer: Offer) -> None:
    """Raise Failure where another program listens: others of the cluster send the token there."""
    ports = [*FIXED_PORTS.values(), *([] if offer.head else [ROOTS_RAY_PORT])]
    for port in ports:
        family = socket.AF_INET6 if ":" in offer.address else socket.AF_INET
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((offer.address, port))
            except OSError as error:
                raise Failure(
                    f"port {port} of {offer.address} cannot be used: {cause(error)}"
                ) from error


def _in_background(offer: Offer, words: list[str]) -> None:
    """Start the keeper, whose command line has these words, and wait until the raylet listens."""
    with joined.LOG.open("ab") as log:
        begin = log.tell()
        keeper = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
        )
    end_s = time.monotonic() + START_S
    while not _is_joined(offer):
        if keeper.poll() is not None or time.monotonic() > end_s:
            with contextlib.suppress(ProcessLookupError):
                keeper.terminate()
            with joined.LOG.open("rb") as log:
                log.seek(begin)
                last = log.read().decode(errors="replace").strip()[-2_000:]
            raise Failure(f"Ray does not start; {joined.LOG} says:\n{last}")
        time.sleep(LOOK_S)
    click.echo(f"{socket.gethostname()} is in the cluster of {offer.cluster}")


def _is_joined(offer: Offer) -> bool:
    """Whether this machine's raylet listens, and is known to the head."""
    own = offer.address, FIXED_PORTS["node-manager-port"]
    try:
        socket.create_connection(own, ANSWER_S).close()
        nodes = _nodes(offer.cluster)
    except (OSError, Failure):
        return False
    return any(one.state == 0 for one in nodes if one.node_manager_address == offer.address)


UNIT_TEXT: Final = """[Unit]
Description=This machine in a cluster of fairshare
Wants=network-online.target
After=network-online.target
# The head may be down for longer than systemd would try.
StartLimitIntervalSec=0

[Service]
ExecStart={line}
Restart=on-failure
RestartSec=5
Delegate=yes
KillMode=mixed
TimeoutStopSec=60
TasksMax=infinity
LimitNOFILE=1048576

[Install]
WantedBy=multi-user.target
"""


def _end_keeper(pid: int) -> None:
    """End the keeper, which ends Ray's processes; raises Failure if it does not."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    end_s = time.monotonic() + 2 * END_S
    while processes.is_alive(pid):
        if time.monotonic() > end_s:
            raise Failure(f"process {pid}, which keeps Ray's processes, does not end")
        time.sleep(LOOK_S)

"""The verb `doctor`: whether this machine and its configuration are fit for a server, and whether
the server that runs is well. Each finding says what to do. It changes nothing.
"""

import contextlib
import ctypes
import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

import click
import msgspec

from fairshare import __version__
from fairshare.cli.options import default_directory, print_json
from fairshare.client import Client, Cluster
from fairshare.client.discovery import STATE_VARIABLE, URL_VARIABLE, find_url
from fairshare.client.errors import ServerUnreachable
from fairshare.documents.gpus import GPU
from fairshare.engines.local import machine, private_mounts
from fairshare.engines.local.gpus.chosen import choose
from fairshare.engines.local.gpus.found import find_gpus
from fairshare.engines.local.hierarchies import Mounts, own_mounts
from fairshare.engines.rights import check_rights, closed_program
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.server.disk import MB, inodes_of, room_of
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.server.web.listener import PortInUse, bind, check_exposure, open_root
from fairshare.settings.engines import runs_here
from fairshare.settings.linting import lint
from fairshare.wording import cause, counted, plain

State = Literal["ok", "warning", "error"]
_COLOURS: Final[dict[State, str]] = {"ok": "green", "warning": "yellow", "error": "red"}
_LATE_MS: Final = 5_000
_UNSYNCHRONIZED: Final = 5
"""What adjtimex(2) returns for a clock that nothing adjusts (TIME_ERROR)."""


class Finding(msgspec.Struct, frozen=True):
    """What one check found, and what to do."""

    check: str
    state: State
    message: str
    remedy: str = ""


@click.command()
@click.option(
    "--conf",
    type=click.Path(file_okay=False, path_type=Path),
    help="The server's configuration directory. [default: where `fairshare init` writes one]",
)
@click.option("--url", metavar="URL", help="The server's URL, instead of the one found.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
@click.pass_context
def command(context: click.Context, conf: Path | None, url: str | None, as_json: bool) -> None:
    """Examine this machine, its configuration and its server, and say what to do.

    It looks at the interpreter, control groups, accounts, processors, GPUs, private places, the
    disk, the socket, the port, access lists, the time, further packages and the pages in a browser.
    It changes nothing, and works without a server. Run it under the account of the server: root's
    sees more. Exits with 1 if there is an error.
    """
    open_client = context.find_root().obj or Client
    findings = list(examine(conf or default_directory(), open_client, url))
    if as_json:
        counts = {f"{state}s": _count(findings, state) for state in ("error", "warning")}
        print_json({"findings": msgspec.to_builtins(findings), **counts})
    else:
        colour = False if os.environ.get("NO_COLOR") else None
        for finding in findings:
            head = click.style(f"{finding.state:8}", fg=_COLOURS[finding.state])
            click.echo(f"{head} {finding.check:14} {plain(finding.message)}", color=colour)
            if finding.remedy:
                click.echo(f"{'':24}{plain(finding.remedy)}")
        errors, warnings = _count(findings, "error"), _count(findings, "warning")
        click.echo(f"{counted(errors, 'error')}, {counted(warnings, 'warning')}")
    if _count(findings, "error"):
        raise SystemExit(1)


def _count(findings: list[Finding], state: str) -> int:
    return sum(one.state == state for one in findings)


def examine(conf: Path, open_client: type[Client], url: str | None) -> Iterator[Finding]:
    """All findings, in the order in which a server needs what they are about."""
    settings, findings = _configuration(conf)
    yield from findings
    cluster: Cluster | None = None
    if url is None and URL_VARIABLE not in os.environ and settings is not None:
        with contextlib.suppress(ServerUnreachable):  # its own, before the one that clients find
            url = find_url({STATE_VARIABLE: str(settings.state_directory)})
    try:
        with open_client(url) as client:
            cluster = client.cluster()
            yield from _server(client, cluster)
    except FairshareError as error:
        words = str(error).partition("\n")[0]
        start = f"fairshare serve --conf {conf} --background"
        yield Finding("server", "warning", words, f"if one shall run here: {start}")
    yield _interpreter(settings)
    if cluster is None:
        yield _groups(own_mounts())
    if settings is not None:
        yield from _of_settings(settings, running=cluster is not None)
    yield _time(cluster)
    yield _packages()


def _configuration(conf: Path) -> tuple[LiveSettings | None, list[Finding]]:
    """The settings, if a server can start with them, and what lint and the start say."""
    if not conf.is_dir():
        init = f"`fairshare init` writes one, or name it with --conf (now {conf})"
        return None, [Finding("configuration", "warning", "there is none here", init)]
    findings = []
    try:
        problems = lint(conf)
        errors = [one for one in problems if one.severity == "error"]
        if errors:
            more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
            words = f"{errors[0]}{more}"
            return None, [Finding("configuration", "error", words, f"fairshare lint {conf}")]
        settings = read_settings(conf, Overrides(trust_local_users=True))
        check_exposure(settings)
    except (FairshareError, ConfigurationError) as error:
        words = str(error).partition("\n")[0]
        return None, [Finding("configuration", "error", words, f"fairshare lint {conf}")]
    if problems:
        words = f"{conf} has {counted(len(problems), 'likely mistake')}"
        findings.append(Finding("configuration", "warning", words, f"fairshare lint {conf}"))
    else:
        findings.append(Finding("configuration", "ok", f"{conf}: {settings.scheduler}"))
    for warning in settings.warnings:
        if warning.rule == "more-memory-than-the-machine":
            findings.append(Finding("configuration", "warning", warning.message))
    return settings, findings


def _server(client: Client, cluster: Cluster) -> Iterator[Finding]:
    words = f"{client.url}, fairshare {cluster.version}, {counted(cluster.nodes, 'node')}"
    if cluster.version != __version__:
        remedy = "use the client that came with the server, or restart the server"
        yield Finding("server", "warning", f"{words}; this is {__version__}", remedy)
    else:
        yield Finding("server", "ok", words)
    if cluster.disk_problem:
        yield Finding("server", "error", cluster.disk_problem, "make room on the disk")
    if cluster.safe_mode:
        yield Finding("server", "warning", "safe mode is on", "fairshare admin safe-mode off")
    error = client.configuration().error
    if error is not None:
        words = f"the file on the disk cannot be used: {error.message}"
        yield Finding("server", "error", words, "mend it: the last good one is in force")
    for node in client.nodes():
        yield from _node(node.name, node.state, node.attributes)
        if used := [gpu.name for gpu in node.gpus if gpu.elsewhere]:
            words = f"{node.name}: {', '.join(used)} used outside of fairshare, and not assigned"
            yield Finding("GPUs", "warning", words, "nvidia-smi or rocm-smi lists the processes")


def _node(name: str, state: str, attributes: dict[str, str]) -> Iterator[Finding]:
    """How limits are enforced on a node of this machine, and whether it takes containers."""
    if state != "RUNNING":
        undrain = f"fairshare admin undrain {name}, if that is over"
        yield Finding("nodes", "warning", f"{name} is {state}", undrain)
    memory, processes = attributes.get("memory-limit"), attributes.get("process-limit")
    if memory is None:
        return  # another machine's
    weak = [
        f"{what} {how}"
        for what, how in (("memory-limit", memory), ("process-limit", processes))
        if how in ("watch", "off")
    ]
    if weak:
        words = f"{name} has {', '.join(weak)}: {attributes.get('limits-note', 'no control group')}"
        yield Finding("control groups", "warning", words, _DELEGATE)
    else:
        yield Finding("control groups", "ok", f"{name}: {memory}")


_DELEGATE: Final = (
    "run it as root, by the systemd unit of `fairshare init --systemd`, or by systemd-run --user"
    " --scope -p Delegate=yes fairshare serve"
)


def _groups(mounts: Mounts) -> Finding:
    """Whether a server started here could make control groups; nothing is tried."""
    places = [*mounts.v1.get("memory", ())[:1], *mounts.v2[:1]]
    open_ones = [place for place in places if os.access(place, os.W_OK)]
    if not places:
        return Finding("control groups", "warning", "none are mounted", _DELEGATE)
    if not open_ones:
        words = f"{places[0]} cannot be written: memory would be checked once a second"
        return Finding("control groups", "warning", words, _DELEGATE)
    return Finding("control groups", "ok", f"{open_ones[0]} can be written")


def _interpreter(settings: LiveSettings | None) -> Finding:
    as_users = settings is None or settings.run_as == "user"
    if os.geteuid() == 0 and as_users and (closed := closed_program()):
        what, _, remedy = closed.rpartition(". ")
        return Finding("interpreter", "error", what, remedy)
    return Finding("interpreter", "ok", f"{sys.executable} (Python {sys.version.split()[0]})")


def _of_settings(settings: LiveSettings, *, running: bool) -> Iterator[Finding]:
    """What a server with these settings needs of this machine."""
    yield from _accounts(settings)
    if runs_here(settings.engine):
        yield _processors(settings)
    yield _gpus(settings)
    if settings.private_tmp and (problem := private_mounts.problem(settings.state_directory)):
        remedy = "private_tmp = false in [engine], or what is missing"
        yield Finding("private /tmp", "error", problem, remedy)
    yield _disk(settings)
    if settings.socket is not None:
        yield _socket(Path(settings.socket), running=running)
    if not running:
        yield _port(settings)
    yield _browser(settings)


def _accounts(settings: LiveSettings) -> Iterator[Finding]:
    if settings.run_as != "user":
        if problem := open_root(settings):
            remedy = (
                'run_as = "user", as `fairshare init` writes it, another account, or'
                " `fairshare serve --trust-local-users` if this is meant"
            )
            yield Finding("accounts", "error", problem, remedy)
            return
        whose = "root's" if os.geteuid() == 0 else "the server's"
        yield Finding("accounts", "ok", f"containers run under {whose} own account")
        return
    try:
        if os.geteuid() == 0:
            check_rights()
        else:
            words = 'run_as = "user" needs a server of root'
            yield Finding("accounts", "warning", words, "run doctor and the server as root")
            return
    except OSError as error:
        words = f"this process cannot act as users: {cause(error)}"
        remedy = "start the server with all capabilities of root"
        yield Finding("accounts", "error", words, remedy)
        return
    configuration = settings.configuration
    if configuration is not None and not configuration.acl_enabled:
        words = "yarn.acl.enable is off: users can put work into the queues of others"
        remedy = "set it to true, with yarn.admin.acl and lists, as `fairshare init` writes them"
        yield Finding("access lists", "warning", words, remedy)
    else:
        yield Finding("access lists", "ok", "in force")
    yield Finding("accounts", "ok", "containers run under the accounts of their users")


def _processors(settings: LiveSettings) -> Finding:
    count, worth = machine.processors(), settings.node_manager.vcores_per_core
    total = None if settings.vcores is None else settings.vcores * settings.nodes
    if settings.own_processors and machine.are_processors(total, worth):
        words = f"each container has as many of the {count} as it has vcores"
    else:
        vcores = machine.vcores_of(count, worth) if total is None else total
        words = f"containers share the {count}, which are {counted(vcores, 'vcore')}"
    return Finding("processors", "ok", words)


def _gpus(settings: LiveSettings) -> Finding:
    try:
        there = find_gpus()
        chosen = choose(settings.gpus, there, settings.types.names or (GPU,), os.environ)
    except FairshareError as error:
        return Finding("GPUs", "error", str(error), "change gpus in [engine] of fairshare.toml")
    if chosen is None and there:
        words = f"{counted(len(there), 'GPU')} found, and none is assigned"
        return Finding("GPUs", "warning", words, 'set gpus = "auto" in [engine]')
    if chosen is None or not chosen.all:
        wants = settings.gpus not in ("none", "auto")
        remedy = "is the driver loaded? nvidia-smi and rocm-smi say more" if wants else ""
        return Finding("GPUs", "error" if wants else "ok", "none found", remedy)
    return Finding("GPUs", "ok", f"{counted(len(chosen.all), 'GPU')} assigned")


def _disk(settings: LiveSettings) -> Finding:
    wanted = settings.state_directory
    place = next((one for one in (wanted, *wanted.parents) if one.exists()), Path("/"))
    try:
        free, size = room_of(place)
        inodes, all_inodes = inodes_of(place)
    except OSError as error:
        return Finding("disk", "error", f"{place} cannot be seen: {cause(error)}")
    least = (settings.limits.free_mb or 256) * MB
    words = f"{wanted}: {free // MB:,} MB of {size // MB:,} free"
    if free < least or (all_inodes and inodes < (settings.limits.free_inodes or 10_000)):
        remedy = "make room, or name another state_directory: with so little nothing is admitted"
        return Finding("disk", "error", f"{words}, {inodes:,} inodes", remedy)
    if not os.access(place, os.W_OK):
        return Finding("disk", "warning", f"{place} cannot be written by this account")
    return Finding("disk", "ok", words)


def _socket(path: Path, *, running: bool) -> Finding:
    try:
        found = path.stat()
    except FileNotFoundError:
        state: State = "error" if running else "ok"
        return Finding("socket", state, f"{path} is not there{'' if running else ' yet'}")
    except OSError as error:
        return Finding("socket", "error", f"{path}: {cause(error)}")
    if not stat.S_ISSOCK(found.st_mode):
        return Finding("socket", "error", f"{path} is not a socket", "move it away")
    for folder in path.parents:
        if not folder.stat().st_mode & stat.S_IXOTH:
            words = f"{folder} is closed to other accounts, who cannot reach {path.name} in it"
            return Finding("socket", "warning", words, f"chmod o+x {folder}, or another socket")
    return Finding("socket", "ok", str(path))


def _port(settings: LiveSettings) -> Finding:
    try:
        bind(settings.host, settings.port).close()
    except PortInUse as error:
        what, _, remedy = str(error).partition(": ")
        return Finding("port", "error", what, remedy)
    except FairshareError as error:
        return Finding("port", "error", str(error), "change host and port in [server]")
    return Finding("port", "ok", f"{settings.host}:{settings.port} is free")


def _browser(settings: LiveSettings) -> Finding:
    scheme = "http" if settings.certificate is None else "https"
    url = f"{scheme}://{settings.host}:{settings.port}"
    given = settings.authentication
    if given.required and not (given.tokens or given.account_tokens or given.proxies):
        remedy = "set account_tokens or tokens = true in [authentication], and restart"
        return Finding(
            "browser", "warning", f"{url}: the pages need a token, and tokens are off", remedy
        )
    return Finding(
        "browser", "ok", f"{url} (from elsewhere: ssh -L {settings.port}:{url[7:]} HOST)"
    )


def _time(cluster: Cluster | None) -> Finding:
    now_ms = time.time_ns() // 1_000_000
    if cluster is not None and abs(now_ms - cluster.now_ms) > _LATE_MS:
        apart_s = abs(now_ms - cluster.now_ms) // 1_000
        words = f"the clocks of this machine and of the server are {apart_s} s apart"
        return Finding("time", "warning", words, "timedatectl set-ntp true, on both")
    with contextlib.suppress(AttributeError, OSError):
        if ctypes.CDLL(None).adjtimex(ctypes.create_string_buffer(512)) == _UNSYNCHRONIZED:
            words = "the kernel says that nothing adjusts the clock"
            return Finding("time", "warning", words, "timedatectl set-ntp true")
    return Finding("time", "ok", time.strftime("%Y-%m-%d %H:%M:%S %z"))


_EXTRAS: Final = {"ray": "ray", "hadoop": "google.protobuf", "mcp": "mcp"}
_PROGRAMS: Final = ("podman", "docker", "apptainer")


def _packages() -> Finding:
    """What else programs may use; nothing of it is needed."""
    there: list[str] = []
    missing: list[str] = []
    for extra, module in _EXTRAS.items():
        try:
            known = find_spec(module) is not None
        except ModuleNotFoundError:
            known = False
        (there if known else missing).append(extra)
    images = [name for name in _PROGRAMS if shutil.which(name)]
    words = ", ".join([*there, *images]) or "none"
    install = "".join(
        f"; for {one}: {sys.executable} -m pip install 'fairshare[{one}]'" for one in missing
    )
    return Finding("packages", "ok", f"further ones: {words}{install}")

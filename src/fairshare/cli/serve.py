"""The verb `serve`, which runs the scheduler on this machine until it is stopped, also in the
background: then it waits until the server listens or fails.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from fairshare.cli.options import (
    GPUS,
    MEMORY,
    MOST_NODES,
    Whole,
    default_directory,
    scheduler_option,
)
from fairshare.cli.shutdown import what_runs_on
from fairshare.cli.verbs import Failure, WrongFiles
from fairshare.client.discovery import UNIX, find_url
from fairshare.documents.gpus import GpuSetting
from fairshare.engines.protocol import LONG_AGO
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.runtime.journal.files import holder_of
from fairshare.server.engines import local_engine
from fairshare.server.recovered import Recovered, restore
from fairshare.server.server import LiveServer
from fairshare.server.settings import LiveSettings, Overrides, read_settings
from fairshare.server.shared.leading import LeadingState
from fairshare.server.shared.takeover import wait_to_lead
from fairshare.server.web.listener import AttachedServer, check_exposure, serve
from fairshare.settings.engines import ENGINES, runs_here
from fairshare.settings.registry import all_families
from fairshare.this_machine import full_disk
from fairshare.wording import counted, failed_call

WRONG_CONFIGURATION = 2
STANDBY_INTERVAL_S = 0.2
_ENGINES = "; ".join(f"{one.name}, {one.where}" for one in ENGINES.values())


class WrongConfiguration(WrongFiles):
    """The server has not started because of its configuration; another attempt is useless."""

    exit_code = WRONG_CONFIGURATION


@click.command()
@click.option(
    "--conf",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The configuration directory: yarn-site.xml, fair-scheduler.xml or capacity-scheduler.xml,"
    " fairshare.toml ... [default: where `fairshare init` writes one]",
)
@click.option("--host", help="The address to listen on. [default: as configured, or 127.0.0.1]")
@click.option("--listen", metavar="HOST:PORT", help="Address and port: 0.0.0.0:8088.")
@click.option("--port", type=Whole(0, 65535), help="The port; 0: any free port. [default: 8088]")
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    envvar="FAIRSHARE_STATE",
    help="The directory of journal, logs and results. [default: FAIRSHARE_STATE, the"
    " configuration, or ~/.local/state/fairshare]",
)
@click.option(
    "--nodes",
    type=Whole(1, MOST_NODES),
    help="The number of nodes into which this machine is divided.",
)
@click.option("--memory-mb", type=MEMORY, help="The memory of each node: 2048, 2g.")
@click.option("--vcores", type=Whole(1), help="The vcores of each node.")
@click.option(
    "--gpus",
    type=GPUS,
    metavar="G",
    help="The GPUs of this machine to assign, each to one container: auto (all), none, a number,"
    " or names: 0,1. [default: none]",
)
@scheduler_option(sorted(all_families()))
@click.option(
    "--engine",
    type=click.Choice(list(ENGINES)),
    help=f"Where containers run: {_ENGINES}. [default: local]",
)
@click.option(
    "--ray-address",
    metavar="A",
    help="The head of the Ray cluster, HOST:PORT. [default: one that runs on this machine]",
)
@click.option(
    "--hadoop/--no-hadoop",
    default=None,
    help="Serve Hadoop's own clients (yarn, spark-submit) on YARN's ports. [default: if"
    " fairshare[hadoop] is installed]",
)
@click.option(
    "--stop-containers/--keep-containers",
    default=False,
    help="End containers with the server, or let them continue for the next server to take over."
    " [default: let them continue]",
)
@click.option(
    "--trust-local-users",
    is_flag=True,
    envvar="FAIRSHARE_TRUST_LOCAL_USERS",
    help="Start also where every account of this machine can run commands as root: a server of root"
    " whose containers run under its account, for callers without proof.",
)
@click.option(
    "--standby",
    is_flag=True,
    help="Wait until no other server uses the state, then take over; on another host if"
    " the state is shared.",
)
@click.option(
    "--background",
    is_flag=True,
    help="Return as soon as the server listens, and keep it running: print the command"
    " that ends it. A server that does not start gives its messages and its exit"
    " code.",
)
@click.pass_context
def command(
    context: click.Context,
    conf: Path | None,
    host: str | None,
    listen: str | None,
    port: int | None,
    state: Path | None,
    nodes: int | None,
    memory_mb: int | None,
    vcores: int | None,
    gpus: GpuSetting | None,
    scheduler: str | None,
    engine: str | None,
    ray_address: str | None,
    hadoop: bool | None,
    stop_containers: bool,
    trust_local_users: bool,
    standby: bool,
    background: bool,
) -> None:
    """Run the scheduler on this machine.

    Reads a configuration directory as Hadoop does, and fairshare.toml in it. The server continues
    from the journal in the state directory, and takes over containers that an earlier server left
    running. Ctrl-C and SIGTERM shut it down cleanly. Containers continue then, unless
    --stop-containers is given.

    With --standby a second server on the same machine waits until the first one ends, for whatever
    reason, and continues at once with its applications and containers; clients find it through the
    state directory. It needs another port, or --port 0. If fairshare.toml shares the state in a
    database ([state] url), the second server may be on another host.
    """
    conf = _configuration(conf)
    if background:
        if standby:
            raise click.UsageError("--background and --standby: give one of both")
        start_server(options_of(context, "background"))
        return
    # Imported lazily, so that `--help` does not load a web server.
    if listen is not None:
        host, port = _host_and_port(listen, host, port)
    overrides = Overrides(
        host=host,
        port=port,
        state_directory=state,
        nodes=nodes,
        memory_mb=memory_mb,
        vcores=vcores,
        gpus=gpus,
        scheduler=scheduler,
        stop_containers=stop_containers,
        engine=engine,
        hadoop=hadoop,
        ray_address=ray_address,
        trust_local_users=trust_local_users,
    )
    try:
        settings = read_settings(conf, overrides)
        for problem in settings.warnings:
            click.echo(str(problem), err=True)
        check_exposure(settings)
        setup = import_module(ENGINES[settings.engine].setup)
        make = setup.prepared(settings)
        place = settings.state_directory
        answer = partial(setup.serve_as_standby, settings)
        if settings.run_as == "user":
            # Users can traverse the state directory: they must not have access to new files in it.
            os.umask(0o077)
        if settings.state.url is None:
            if standby:
                asyncio.run(_wait_as_standby(place, answer))
            with _naming_a_full_disk(place):
                asyncio.run(_run(make))
            return
        with _naming_a_full_disk(place):
            leading = asyncio.run(_lead(settings, answer, standby=standby))
        with contextlib.closing(leading), _naming_a_full_disk(place):
            # What the former server stored may be newer than what was read above.
            make = setup.prepared(read_settings(conf, overrides))
            asyncio.run(_run(make))
    except ConfigurationError as error:
        raise WrongConfiguration(error) from error


def _configuration(given: Path | None) -> Path:
    conf = given or default_directory()
    if not conf.is_dir():
        raise click.UsageError(
            f"there is no configuration directory {conf}: name one with --conf, or write a first"
            " one with `fairshare init`"
        )
    return conf


@contextlib.contextmanager
def _naming_a_full_disk(state_directory: Path) -> Iterator[None]:
    """Say first that the disk is full if something fails on it, whose error may name a consequence
    alone."""
    try:
        yield
    except FairshareError as error:
        full = full_disk(state_directory)
        if not full or full in str(error):
            raise
        raise Failure(f"{full}. {error}") from error
    except OSError as error:
        full = full_disk(state_directory)
        if not full:
            raise
        raise Failure(f"{full}. {failed_call(error)}") from error


async def _run(make: "Callable[[], tuple[LiveServer, Sequence[AttachedServer]]]") -> None:
    server, attached = make()
    await serve(server, lambda url: click.echo(f"listening on {url}"), attached)
    if any(server.left_running):
        click.echo(what_runs_on(*server.left_running))


def _host_and_port(listen: str, host: str | None, port: int | None) -> tuple[str, int]:
    if host is not None or port is not None:
        raise click.UsageError("--listen says both: leave --host and --port out")
    name, colon, number = listen.rpartition(":")
    if not colon or not name or not number.isdigit() or int(number) > 65535:
        raise click.UsageError(f"--listen {listen}: write HOST:PORT, as in 127.0.0.1:8088")
    return name, int(number)


async def _wait_as_standby(
    state_directory: Path,
    serve_as_standby: Callable[[Callable[[], str]], contextlib.AbstractAsyncContextManager[None]],
) -> None:
    """Return when the server that uses the directory has ended, or if none does.

    The kernel releases the lock when the process that holds it ends.
    """
    holder = holder_of(state_directory)
    if holder is None:
        return
    active = holder.address
    async with serve_as_standby(lambda: active):
        click.echo(f"standing by for {holder}")
        while (holder := holder_of(state_directory)) is not None:
            active = holder.address
            await asyncio.sleep(STANDBY_INTERVAL_S)


async def _lead(
    settings: LiveSettings,
    serve_as_standby: Callable[[Callable[[], str]], contextlib.AbstractAsyncContextManager[None]],
    *,
    standby: bool,
) -> LeadingState:
    """Return when this server leads those of all hosts."""
    assert settings.state.url is not None
    return await wait_to_lead(
        settings.state.url,
        settings.state_directory,
        settings.state.takeover_s,
        standby=standby,
        serve_as_standby=serve_as_standby,
        give_up=partial(_stop_what_runs, settings),
        recovered=lambda journal: Recovered(settings.scheduler, settings.types, *restore(journal)),
        say=partial(click.echo, err=True),
    )


def _stop_what_runs(settings: LiveSettings) -> None:
    """Stop the containers that an earlier server has left on this machine: the server that leads
    has given them up, and may run their tasks again."""
    place = settings.state_directory
    if not runs_here(settings.engine) or not (place / "containers").is_dir():
        return
    engine = local_engine(settings, place)
    engine.start(lambda report: None, launched=lambda application, container: LONG_AGO)
    running = engine.running()
    engine.close(stop_containers=True)
    if running:
        click.echo(
            f"stopped {counted(len(running), 'container')} that an earlier server has left here:"
            " the server that leads has given them up",
            err=True,
        )


READY = "listening on "


def options_of(context: click.Context, *without: str) -> list[str]:
    """The command line of the given parameters, except those named in `without`."""
    words: list[str] = []
    for parameter in context.command.params:
        value: Any = context.params.get(parameter.name or "")
        if value is None or parameter.name in without:
            continue
        if isinstance(value, bool):
            flags = parameter.opts if value else parameter.secondary_opts
            words += flags[:1]  # an option without an opposite is left out
            continue
        if isinstance(value, tuple):
            value = ",".join(value) + ","  # one name alone remains a name
        words += [parameter.opts[0], str(value)]
    return words


def start_server(options: list[str]) -> None:
    """Start `fairshare serve` in a session of its own, and return when it listens.

    If the server fails, exits with the server's messages and exit code.
    """
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            # -P: never imports modules from the current directory, above all not as root.
            [sys.executable, "-P", "-m", "fairshare", "serve", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        assert process.stdout is not None
        try:
            with process.stdout as output:
                ready = (line.strip() for line in output if line.startswith(READY))
                line = next(ready, "")  # empty if it has ended before
        except BaseException:
            process.terminate()
            raise
        code = process.wait() if not line else 0
        errors.seek(0)
        click.echo(errors.read(), err=True, nl=False)
    if not line:
        raise SystemExit(code or 1)
    url = line.removeprefix(READY).split()[0]
    click.echo(f"{line} (process {process.pid}); {how_it_ends(url)}")
    process.returncode = 0  # it keeps running: Popen must neither wait for it nor warn


def how_it_ends(url: str) -> str:
    """The command that ends the server at `url`, with `--url` if it is not the default server.

    >>> "shutdown --url http://127.0.0.1:8188`" in how_it_ends("http://127.0.0.1:8188")
    True
    """
    try:
        known = find_url()
    except FairshareError:
        known = ""
    if known == url or known.startswith(UNIX):
        return "`fairshare shutdown` ends it"
    return (
        f"`fairshare shutdown --url {url}` ends it; other verbs take --url too, or set"
        " FAIRSHARE_STATE to its state directory"
    )

"""The verb `jupyter`: a notebook server in a container under a queue's share."""

import contextlib
import os
import re
import shutil
import socket
import time
from urllib.parse import urlsplit

import click
import msgspec

from fairshare.cli import submit
from fairshare.cli.options import DURATION, with_client, without_dashes
from fairshare.cli.placement_notes import print_differences
from fairshare.cli.run import Endings, exit_code
from fairshare.cli.shell import command as shell
from fairshare.cli.surroundings import with_caller
from fairshare.cli.verbs import Failure
from fairshare.client import Client, Submission
from fairshare.client.caller import runs_here, shares_files
from fairshare.engines.protocol import IDLE_VARIABLE
from fairshare.errors import FairshareError
from fairshare.wording import plain_lines

_URL = re.compile(r"https?://\S+[?&]token=\S+")
_PAUSE_S = 0.2
IN_SHELL = f'"${{{IDLE_VARIABLE}:-3600}}"'


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command_line", metavar="[--] [ARGUMENT]...", nargs=-1)
@click.option(
    "--idle",
    metavar="T",
    type=DURATION,
    help="End kernels, and then the server, that are idle for this time. [default: the queue's]",
)
@with_client
def command(
    client: Client, command_line: tuple[str, ...], idle: int | None, **options: object
) -> None:
    """Run a notebook server in a container of your queue, and print its URL.

    It runs the Jupyter of your environment, or of --venv or --conda, with ARGUMENTs. It may be
    preempted, with the time of --grace to save, and then starts again with a new URL. Ctrl-C ends
    it.
    """
    options = submit.given_options(options)
    options = submit.completed(client, {"name": "jupyter", **options})
    submission = submit.from_command(("jupyter", "lab"), {**options, "max_attempts": 1})
    submission = with_caller(client, submission, options, whole=True)
    program = _program(submission) if shares_files(client.cluster()) else "jupyter-lab"
    if idle is None:
        # The engine gives containers the time of their queue; the shell passes it on.
        start: tuple[str, ...] = (
            "sh",
            "-c",
            f'exec "$0" {_idle_arguments(IN_SHELL)} "$@"',
            program,
        )
    else:
        start = (program, *_idle_arguments(str(max(1, idle // 1000))).split())
    arguments = (*start, "--no-browser", *without_dashes(command_line))
    tasks = tuple(msgspec.structs.replace(one, arguments=arguments) for one in submission.tasks)
    with Endings() as endings:
        submission = msgspec.structs.replace(submission, tasks=tasks)
        application = client.submit(submission)
        print_differences(client, submission, application)
        raise click.exceptions.Exit(_follow(client, application, endings))


command.params += [one for one in shell.params if one.name not in ("url", "command_line")]


def _idle_arguments(seconds: str) -> str:
    return (
        f"--ServerApp.shutdown_no_activity_timeout={seconds}"
        f" --MappingKernelManager.cull_idle_timeout={seconds}"
    )


def _program(submission: Submission) -> str:
    """The program of Jupyter that the container will find; raises Failure if there is none."""
    path = submission.tasks[0].environment.get("PATH", os.environ.get("PATH", ""))
    for program in ("jupyter-lab", "jupyter-notebook"):
        if shutil.which(program, path=path):
            return program
    raise Failure(
        "Jupyter is not installed in this environment: pip install jupyterlab, or name another one"
        " with --venv or --conda"
    )


def tunnel_to(url: str, node: str, *, here: bool) -> str:
    """What to run on another machine to open a URL of the loopback interface; empty if it can be
    opened there as it is. `node` is the host of the container's node; `here`: it is this machine.

    >>> tunnel_to("http://localhost:8889/lab?token=1", "gpu2", here=False)
    'from another machine, first: ssh -L 8889:localhost:8889 gpu2'
    """
    parts = urlsplit(url)
    if parts.hostname not in ("localhost", "127.0.0.1") or not parts.port:
        return ""
    host = socket.gethostname() if here else node
    return f"from another machine, first: ssh -L {parts.port}:localhost:{parts.port} {host}"


def _follow(client: Client, application: str, endings: Endings) -> int:
    """Print the URL of each attempt until the application is over; returns the exit code."""
    here = runs_here(client.cluster())
    shown: set[str] = set()
    reported: set[str] = set()
    ended = False
    while True:
        if endings.number and not ended:
            ended = True
            with contextlib.suppress(FairshareError):  # it is over
                client.kill(application, "`fairshare jupyter` was ended.")
        details = client.application(application)
        containers = client.containers(application)
        for container in containers:
            if container.state == "RUNNING" and container.id not in shown:
                log = client.log(container.id, "stderr").decode(errors="replace")
                if (url := _URL.search(log)) is not None:
                    shown.add(container.id)
                    click.echo(plain_lines(url[0]))
                    hosts = {one.name: one.host for one in client.nodes()}
                    host = hosts.get(container.node) or container.node
                    if tunnel := tunnel_to(url[0], host, here=here):
                        click.echo(plain_lines(tunnel), err=True)
        if details.over:
            if not shown and containers:
                log = client.log(containers[-1].id, "stderr").decode(errors="replace")
                click.echo(plain_lines(log), err=True, nl=False)
            return exit_code(details, containers, endings.number)
        for container in containers:
            if container.over and container.id not in reported:
                reported.add(container.id)
                why = container.diagnostics.partition("\n")[0] or "it has ended"
                click.echo(plain_lines(f"{why}; it begins again when there is room"), err=True)
        time.sleep(_PAUSE_S)

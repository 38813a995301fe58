"""The verb `shell`: a terminal in a container under a queue's share, which ends with it."""

import contextlib
import os
import time

import click
import msgspec

from fairshare.cli import submit
from fairshare.cli.options import with_client, without_dashes
from fairshare.cli.placement_notes import print_differences
from fairshare.cli.run import Endings
from fairshare.cli.surroundings import with_caller
from fairshare.cli.terminals import converse, on_terminal
from fairshare.cli.verbs import Failure
from fairshare.cli.work_options import names_of, options_without
from fairshare.client import Client
from fairshare.client.discovery import Server
from fairshare.client.sessions import open_session
from fairshare.errors import FairshareError
from fairshare.wording import plain_lines

SHELL = ("/bin/sh", "-c", 'exec "${SHELL:-/bin/sh}"')
"""The shell of the container's account."""

PATIENT_S = 2.0
_PAUSE_S = 0.1
_END_S = 3.0
"""How long an application may take to be over after its terminal."""


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command_line", metavar="[--] [COMMAND [ARGUMENT]...]", nargs=-1)
@with_client
def command(client: Client, command_line: tuple[str, ...], **options: object) -> None:
    """Open a terminal in a container of your queue.

    It runs your shell, or COMMAND, as `fairshare submit` would: with the memory, processors and
    GPUs that you request. It may be preempted, after a warning. It ends when you exit it, when it
    is idle for too long, and when its connection is lost for too long (see `fairshare attach`).
    The exit code is that of the shell.
    """
    if not on_terminal():
        raise Failure("standard input and output are not a terminal: use fairshare run")
    options = submit.given_options(options)
    options = submit.completed(client, options)
    submission = submit.from_command(without_dashes(command_line) or SHELL, options)
    submission = with_caller(client, submission, options, whole=True)
    term = {"TERM": os.environ["TERM"]} if "TERM" in os.environ else {}
    tasks = tuple(
        msgspec.structs.replace(
            group, terminal=True, max_attempts=1, environment={**term, **group.environment}
        )
        for group in submission.tasks
    )
    submission = msgspec.structs.replace(submission, tasks=tasks)
    with Endings() as endings:
        application = client.submit(submission)
        print_differences(client, submission, application)
        container = _running(client, application, endings)
    try:
        session = open_session(Server(client.url, None), container, "terminal")
    except FairshareError:
        with contextlib.suppress(FairshareError):
            client.kill(application, "`fairshare shell` could not attach to it.")
        raise
    with session:
        code = converse(session, terminal=True)
        if session.lost:
            click.echo(f"fairshare attach {application}", err=True)
            raise click.exceptions.Exit(code)
    _end(client, application)
    raise click.exceptions.Exit(code)


# What one terminal is not: several tasks, a driver, or a command with files of its own.
_OF_ONE_TASK = ("time_limit_ms", "time_ms", "hosts", "nodelist", "racks")
_OF_TASKS = tuple(name for name in names_of("tasks") if name not in _OF_ONE_TASK)
command.params += options_without(
    *(*_OF_TASKS, *names_of("way", "driver"), "output", "error", "input", "image", "mounts")
)


def _running(client: Client, application: str, endings: Endings) -> str:
    """Wait for the container; returns its id. Raises Failure if there will be none."""
    began_s, reported = time.monotonic(), False
    while True:
        details = client.application(application)
        for container in client.containers(application):
            if container.state == "RUNNING":
                return container.id
        if details.over:
            raise Failure(
                plain_lines(f"{application} ended as {details.state}: {details.diagnostics}")
            )
        if endings.number:
            client.kill(application, "`fairshare shell` was ended before it began.")
            raise click.exceptions.Exit(128 + endings.number)
        if not reported and time.monotonic() - began_s > PATIENT_S:
            reported = True
            click.echo(f"waiting: fairshare why {application}", err=True)
        time.sleep(_PAUSE_S)


def _end(client: Client, application: str) -> None:
    """A preempted one would begin again, without a user."""
    end_s = time.monotonic() + _END_S
    with contextlib.suppress(FairshareError):
        while not client.application(application).over:
            if time.monotonic() > end_s:
                client.kill(application, "Its terminal was closed.")
                return
            time.sleep(_PAUSE_S)

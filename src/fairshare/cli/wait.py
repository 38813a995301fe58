"""Owns the verb `wait`, which waits for the ends of applications."""

import time

import click
import msgspec

from fairshare.cli.exit_codes import FAILED, code_of
from fairshare.cli.options import DURATION, json_option, print_json, with_client
from fairshare.cli.progress import Waiting
from fairshare.cli.tables import open_output
from fairshare.client import Application, Client


@click.command()
@click.argument("applications", metavar="APP...", nargs=-1, required=True)
@click.option(
    "--timeout", "timeout_ms", metavar="T", type=DURATION, help="The maximum time to wait: 10m."
)
@with_client
@json_option
def command(
    client: Client, applications: tuple[str, ...], timeout_ms: int | None, as_json: bool
) -> None:
    """Wait until applications have ended, and print the final state of each.

    The exit code is 0 if all of them finished; that of the command for a single application with a
    single task; 1 if one failed, was killed, or has not ended within the timeout; and 130 after
    Ctrl-C, which leaves them running.
    """
    until_s = None if timeout_ms is None else time.monotonic() + timeout_ms / 1_000
    # A wrong name is refused at once, not after hours of waiting for the others.
    names = dict.fromkeys(client.application(name).id for name in applications)
    ended: list[Application] = []
    try:
        for name in names:
            ended.append(end_of(client, name, until_s))
            if not as_json:
                click.echo(f"{name} {ended[-1].state}")
    finally:
        if as_json:
            print_json({"applications": msgspec.to_builtins(ended)})
    if len(ended) == 1:
        raise click.exceptions.Exit(code_of(ended[0], client.containers(ended[0].id)))
    if any(one.state != "FINISHED" for one in ended):
        raise click.exceptions.Exit(FAILED)


def end_of(client: Client, name: str, until_s: float | None) -> Application:
    """The application when it has ended; raises WaitTimedOut."""
    current = client.application(name)
    if current.over:
        return current
    left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
    with Waiting(open_output(stderr=True)) as waiting:
        for current in client.watch(name, left_s):
            waiting.show(current)
    return current

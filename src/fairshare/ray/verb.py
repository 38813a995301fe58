"""The verb `ray`: `fairshare ray job` is Ray's own command line with the address of this cluster
and the caller's token, and with options for what Ray has no words for.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

import click

from fairshare.cli.verbs import Failure
from fairshare.client.discovery import UNIX, Server, published_url
from fairshare.client.exchange import NotConnected, OtherAccount, check_server

OWN = ("queue", "workers", "more", "memory", "vcores", "gpus", "label", "priority", "lifetime")
"""The options of `submit` that become metadata (ray/web/jobs.py)."""

METADATA = "--metadata-json"


class PassedOn(click.Command):
    """A command whose words are all another program's, `--` among them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, ["--", *args])


@click.group()
def command() -> None:
    """Ray's job command line, for this cluster."""


@command.command("job", cls=PassedOn, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def job(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Run `ray job ARGUMENTS` with this server's address and your token.

    `submit` also takes --queue Q, --workers N, --more N, --memory M, --vcores V, --gpus G (of each
    worker), --label L, --priority P and --lifetime T. Needs fairshare[ray] on this machine.

    \b
      fairshare ray job submit --queue root.ml --workers 4 --working-dir . -- python train.py
      fairshare ray job status ID       also logs, stop, delete, list
    """
    if arguments in ((), ("-h",), ("--help",)):
        click.echo(context.get_help())
        return
    if find_spec("ray") is None:
        raise Failure("Ray is not installed here: pip install 'fairshare[ray]'")
    server = http_server()
    try:
        check_server(server.url)  # Ray's client sends it the token
    except OtherAccount as error:
        raise Failure(str(error)) from error
    except NotConnected:  # Ray's client says so
        pass
    words = [*arguments]
    if words[:1] == ["submit"]:
        words = with_metadata(words, server.user())
    environment = environment_for(server, os.environ)
    line = (sys.executable, "-P", "-m", "ray.scripts.scripts", "job", *words)
    os.execve(sys.executable, line, environment)  # noqa: S606


def http_server() -> Server:
    """The server by its HTTP address: Ray's client speaks to no Unix socket."""
    server = Server(None, None)
    if not server.url.startswith(UNIX):
        return server
    address = published_url()
    if address is None:
        raise Failure(
            f"Ray's client cannot use the Unix socket {server.url.removeprefix(UNIX)}: set"
            " FAIRSHARE_URL=http://HOST:PORT, and FAIRSHARE_TOKEN to a token"
        )
    return Server(address, server.token)


def environment_for(server: Server, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which Ray's command line finds the server, with whose token."""
    variables = {**environment, "RAY_API_SERVER_ADDRESS": server.url}
    if server.token and "RAY_JOB_HEADERS" not in environment:
        variables["RAY_JOB_HEADERS"] = json.dumps({"Authorization": f"Bearer {server.token}"})
    if environment.get("SSL_CERT_FILE"):
        variables.setdefault("REQUESTS_CA_BUNDLE", environment["SSL_CERT_FILE"])
    return variables


def with_metadata(words: Sequence[str], user: str | None) -> list[str]:
    """The words of `submit` with our options as metadata, which --metadata-json may complete."""
    end = words.index("--") if "--" in words else len(words)
    ours, theirs, metadata = {}, [], ""
    options = iter(words[:end])
    for word in options:
        name, equals, value = word.partition("=")
        key = name.removeprefix("--")
        if not name.startswith("--") or not (key in OWN or name == METADATA):
            theirs.append(word)
            continue
        text = value if equals else next(options, None)
        if text is None:
            raise click.UsageError(f"{name} needs a value")
        if name == METADATA:
            metadata = text
        else:
            ours[f"fairshare.{key}"] = text
    if user is not None:
        ours.setdefault("fairshare.user", user)
    if metadata:
        try:
            ours = json.loads(metadata) | ours
        except (ValueError, TypeError) as error:
            raise click.UsageError(f"{METADATA}: {metadata!r} is not a JSON object") from error
    more = [f"{METADATA}={json.dumps(ours)}"] if ours else []
    return [*theirs[:1], *more, *theirs[1:], *words[end:]]

"""`fairshare yarn`: YARN's command line over its REST interface, for any cluster.

Each command of Hadoop's `yarn` has a module with the function `run(call, words)`, which returns
the exit code. This module finds the command and the ResourceManager. Operations that Hadoop only
supports over its binary protocol are refused with a reason.
"""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import click
import httpx

from fairshare.client.discovery import own_user
from fairshare.yarn.cli.calls import Call
from fairshare.yarn.cli.manager import ResourceManager, find_addresses

COMMANDS = {
    "application": ("application", "Lists, reports, kills, moves and changes applications."),
    "applicationattempt": ("attempt", "Lists and reports attempts of an application."),
    "container": ("container", "Lists, reports and signals containers."),
    "queue": ("queue", "Reports queues."),
    "node": ("node", "Lists and reports nodes."),
    "rmadmin": ("rmadmin", "Administers: queues, node labels, sizes of nodes."),
    "top": ("top", "Watches the cluster and its applications."),
    "cluster": ("cluster", "Lists node labels and node attributes."),
    "logs": ("logs", "Prints the output of containers."),
    "schedulerconf": ("schedulerconf", "Changes the Capacity Scheduler's configuration."),
    "version": ("version", "Prints the release of the server."),
}
"""Each command with its module and its line in the help."""

_ALSO = {"app": "application"}


def _list_commands() -> str:
    width = max(map(len, COMMANDS))
    return "\n".join(f"  {name:{width}}  {text}" for name, (_, text) in COMMANDS.items())


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    add_help_option=False,
    epilog="\b\nCommands:\n" + _list_commands(),
)
@click.argument("words", metavar="COMMAND [-OPTION [VALUE]]...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Hadoop's `yarn` command over REST, for a fairshare server or a real YARN cluster.

    \b
    --url URL          the ResourceManager's web address
    --config DIR       the directory of Hadoop's files, instead of HADOOP_CONF_DIR
    -D NAME=VALUE      a property, instead of that of yarn-site.xml

    These options may be anywhere. `COMMAND -help` explains a command.
    """
    generic = _Generic(words)
    name = (
        _ALSO.get(generic.words[0].lower(), generic.words[0].lower()) if generic.words else "-help"
    )
    if name.lstrip("-") in ("help", "h"):
        click.echo(context.get_help())
        return
    if name not in COMMANDS:
        raise click.UsageError(
            f"there is no command {generic.words[0]!r}; these are: {', '.join(COMMANDS)}"
        )
    transport = context.find_root().obj
    code = run_command(
        name, generic, transport if isinstance(transport, httpx.BaseTransport) else None
    )
    if code:
        raise click.exceptions.Exit(code)


class _Generic:
    """The options of all commands, and the words of the command itself."""

    def __init__(self, words: Sequence[str]) -> None:
        self.url: str | None = None
        self.directory: Path | None = None
        self.properties: dict[str, str] = {}
        self.words: list[str] = []
        waiting = list(words)
        while waiting:
            word = waiting.pop(0)
            name, divider, value = word.partition("=")
            if name in ("--url", "--config", "-D"):
                if not divider and not waiting:
                    raise click.UsageError(f"{name} needs a value")
                given = value if divider else waiting.pop(0)
                self._take(name, given)
            elif word.startswith("-D") and divider:
                self._take("-D", word[2:])
            else:
                self.words.append(word)

    def _take(self, name: str, value: str) -> None:
        if name == "--url":
            self.url = value
        elif name == "--config":
            self.directory = Path(value)
            if not (self.directory / "yarn-site.xml").is_file():
                raise click.UsageError(f"--config {value}: there is no yarn-site.xml in it")
        else:
            key, divider, text = value.partition("=")
            if not divider:
                raise click.UsageError(f"-D {value}: write NAME=VALUE")
            self.properties[key] = text


def run_command(name: str, options: _Generic, transport: httpx.BaseTransport | None) -> int:
    """Run one command; returns its exit code."""

    def open_manager() -> ResourceManager:
        addresses = find_addresses(options.url, options.directory, options.properties, os.environ)
        # A token identifies its user.
        user = None if addresses.token else os.environ.get("HADOOP_USER_NAME") or own_user()
        return ResourceManager(addresses, user, transport)

    call = Call(open_manager)
    try:
        code: int = import_module(f"fairshare.yarn.cli.{COMMANDS[name][0]}").run(
            call, options.words[1:]
        )
    finally:
        call.close()
    return code

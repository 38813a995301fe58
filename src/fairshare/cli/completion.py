"""The completion of `fairshare` in shells: the verb `completion`, which prints the script of a
shell, and the values of the running server: applications, queues, users, tags and nodes.

The names of a verb's parameters say which values it takes, so verbs do not mention completion. A
server that is away or slow completes nothing, without a message.
"""

import signal
from collections.abc import Callable, Iterable
from types import FrameType
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from fairshare.cli.verbs import COMPLETION_VARIABLE
from fairshare.errors import FairshareError

if TYPE_CHECKING:
    from fairshare.client import Client

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print a completion script for a shell: verbs, options, queues and applications.

    \b
    bash: eval "$(fairshare completion bash)"        in ~/.bashrc
    zsh:  eval "$(fairshare completion zsh)"         in ~/.zshrc, after compinit
    fish: fairshare completion fish | source         in ~/.config/fish/config.fish
    """
    completer = get_completion_class(shell)
    assert completer is not None  # click knows these three
    root = click.get_current_context().find_root().command
    # Without the check of the version of a shell that need not be here.
    click.echo(ShellComplete.source(completer(root, {}, "fairshare", COMPLETION_VARIABLE)))


LONGEST_S = 2.0
MOST = 200
"""The most applications that are offered."""

ALL_STATES = ("status", "logs", "history", "resubmit", "why", "wait")
"""Verbs that also take applications that have ended."""

Source = Callable[["Client", click.Context], Iterable[CompletionItem]]


def add_completions(command: click.Command) -> click.Command:
    """Let the parameters of a command, and of those below it, complete values of the server."""
    if isinstance(command, click.Group):
        for part in command.commands.values():
            add_completions(part)
    for parameter in command.params:
        source = SOURCES.get(parameter.name or "")
        if source is not None and not getattr(parameter, "is_flag", False):
            words = _Words(source)
            setattr(parameter, "shell_complete", words)  # noqa: B010 - a method of click's
    return command


class _Words:
    """Completes one parameter from the server's answer."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __call__(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        from fairshare.client import Client  # a shell that starts prints the script alone

        before = signal.signal(signal.SIGALRM, _late)
        signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
        try:
            open_client = context.find_root().obj or Client
            with open_client(context.params.get("url")) as client:
                items = list(self._source(client, context))
        except (FairshareError, OSError, ValueError):
            return []
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        return [item for item in items if item.value.startswith(incomplete)]


def _late(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def _applications(client: "Client", context: click.Context) -> Iterable[CompletionItem]:
    every = context.info_name in ALL_STATES
    state = None if every else "PENDING,RUNNING"
    for one in client.applications(state=state, limit=MOST):
        words = f"{one.state} {one.user} {one.queue} {one.name}"
        for value in (one.id, str(int(one.id.rpartition("_")[2]))):
            yield CompletionItem(value, help=words)


def _queues(client: "Client", context: click.Context) -> Iterable[CompletionItem]:
    for queue in client.queues():
        if queue.leaf:
            yield CompletionItem(queue.name.removeprefix("root."))
            yield CompletionItem(queue.name)


def _users(client: "Client", context: click.Context) -> Iterable[CompletionItem]:
    return _sorted(one.user for one in client.applications(limit=MOST))


def _tags(client: "Client", context: click.Context) -> Iterable[CompletionItem]:
    return _sorted(tag for one in client.applications(limit=MOST) for tag in one.tags)


def _nodes(client: "Client", context: click.Context) -> Iterable[CompletionItem]:
    return _sorted(node.name for node in client.nodes())


def _sorted(values: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(value) for value in sorted(set(values))]


SOURCES: dict[str, Source] = {
    "application": _applications,
    "applications": _applications,
    "target": _applications,
    "queue": _queues,
    "user": _users,
    "tag": _tags,
    "tags": _tags,
    "hosts": _nodes,
    "nodes": _nodes,
}
"""What a parameter of that name completes."""

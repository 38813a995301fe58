"""Owns the verb `completion`, which prints what makes a shell complete `fairshare`."""

import click
from click.shell_completion import ShellComplete, get_completion_class

from fairshare.cli.verbs import COMPLETION_VARIABLE

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
    found = get_completion_class(shell)
    assert found is not None  # click knows these three
    root = click.get_current_context().find_root().command
    # Without the check of the version of a shell that need not be here.
    click.echo(ShellComplete.source(found(root, {}, "fairshare", COMPLETION_VARIABLE)))

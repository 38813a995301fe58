"""Owns the table of verbs, and what becomes of an error: one sentence and an exit code.

    0    it worked
    1    it did not: refused, not found, an application that failed
    2    the command line is wrong
    3    no server
    130  Ctrl-C

A verb is one module of this room that exports a click command named `command`, and one row here.
The module is imported when the verb is used, so that `fairshare --help` is quick; a verb whose
module is not installed is not there.
"""

import difflib
import errno
from importlib import import_module
from importlib.util import find_spec
from typing import IO, Any

import click

from fairshare import __version__
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.wording import failed_call

VERBS = {
    "serve": ("fairshare.cli.serve", "Run the scheduler on this machine."),
    "check": ("fairshare.cli.check", "Check scenarios, the unit tests of a configuration."),
    "submit": ("fairshare.cli.submit", "Hand in an application."),
    "mapreduce": ("fairshare.cli.mapreduce", "Run a MapReduce job over files."),
    "status": ("fairshare.cli.status", "Show the cluster, or one application."),
    "why": ("fairshare.cli.why", "Say why an application waits, and what would start it."),
    "apps": ("fairshare.cli.apps", "List applications."),
    "queues": ("fairshare.cli.queues", "Show the queues, their shares and their use."),
    "nodes": ("fairshare.cli.nodes", "List nodes."),
    "logs": ("fairshare.cli.logs", "Print what containers have written."),
    "kill": ("fairshare.cli.kill", "End applications."),
    "move": ("fairshare.cli.move", "Put an application into another queue."),
    "stop-container": ("fairshare.cli.stop_container", "End containers; their tasks run again."),
    "top": ("fairshare.cli.top", "Watch queues, applications and nodes."),
    "admin": ("fairshare.cli.admin", "Administer a running server."),
    "shutdown": ("fairshare.cli.shutdown", "End the server."),
    "simulate": ("fairshare.cli.simulate", "Run a workload under a configuration, in no time."),
    "record": ("fairshare.cli.record", "Record what scenarios do, to compare two schedulers."),
    "replay": ("fairshare.cli.replay", "Decide a server's journal again, and compare."),
    "backup": ("fairshare.cli.backup", "Copy the record of a server, of one that runs too."),
    "lint": ("fairshare.cli.lint", "Point out what a configuration probably did not mean."),
    "convert": (
        "fairshare.cli.convert",
        "Make a Capacity Scheduler configuration of a Fair Scheduler one.",
    ),
    "yarn": ("fairshare.cli.yarn", "Speak as YARN's command line does, to any cluster."),
    "demo": ("fairshare.cli.demo", "Show the scheduler at work."),
}
"""Verb: its module and what `fairshare --help` says of it."""

INTERRUPTED = 130


class Verbs(click.Group):
    """The group of all verbs that are installed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb, (module, _) in VERBS.items() if find_spec(module)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module, _ = VERBS.get(cmd_name, ("", ""))
        if not module or not find_spec(module):
            return None
        command: click.Command = import_module(module).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0]
        if not verb.startswith("-") and self.get_command(ctx, verb) is None:
            near = difflib.get_close_matches(verb, self.list_commands(ctx), 1)
            advice = f"did you mean {near[0]}?" if near else "`fairshare --help` lists them."
            ctx.fail(f"there is no verb {verb!r}; {advice}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(verb, VERBS[verb][1]) for verb in self.list_commands(ctx)]
        with formatter.section("Verbs"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except FairshareError as error:
            raise failure_of(error) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # who read the output has enough; click ends quietly
                raise
            raise Failure(failed_call(error)) from error
        except KeyboardInterrupt as error:
            raise click.exceptions.Exit(INTERRUPTED) from error


class Failure(click.ClickException):
    """The end of a verb that did not work: a message on stderr and exit code 1."""


class WrongFiles(Failure):
    """What is wrong with files, all of it. A problem of a configuration says by itself that it is
    an error, behind its place; any other one gets the word before it."""

    def __init__(self, error: ConfigurationError) -> None:
        from fairshare.cli.cells import plain_lines

        super().__init__(plain_lines(str(error)))
        self.says_so = hasattr(next(iter(error.problems), None), "severity")

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on stderr."""
        if self.says_so:
            click.echo(self.format_message(), file=file, err=file is None)
        else:
            super().show(file)


class NoServer(Failure):
    """Nobody answers."""

    exit_code = 3


def failure_of(error: FairshareError) -> Failure:
    """What an error becomes on the command line."""
    # Not imported above: they bring the HTTP library along, which `--help` has no use for.
    from fairshare.cli.cells import plain_lines
    from fairshare.cli.refusals import explained
    from fairshare.client.errors import ServerUnreachable

    if isinstance(error, ConfigurationError):
        return WrongFiles(error)
    message = explained(plain_lines(str(error)))
    return NoServer(message) if isinstance(error, ServerUnreachable) else Failure(message)


@click.command(
    cls=Verbs,
    subcommand_metavar="VERB [ARGUMENT]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Each verb explains itself: fairshare VERB --help",
)
@click.version_option(__version__, message="fairshare %(version)s")
def fairshare() -> None:
    """Share one machine or a cluster fairly, as Hadoop's schedulers do.

    The server is the one at FAIRSHARE_URL, else that of this user on this machine: it writes its
    address into its state directory (FAIRSHARE_STATE, ~/.local/state/fairshare).

    Exit codes: 0 it worked, 1 it did not, 2 wrong command line, 3 no server, 130 Ctrl-C.
    """

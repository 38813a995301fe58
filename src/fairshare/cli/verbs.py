"""The table of verbs, and the conversion of errors to a message and an exit code.

    0    success
    1    failure: refused, not found, or the application failed
    2    the command line is wrong
    3    no server
    130  Ctrl-C

A verb is a click command, and one row here with its module, which exports it as `command`, or by
the name after a colon. The module is imported when the verb is used, so that `fairshare --help` is
fast; a verb whose module is not installed is not available.
"""

import errno
import gc
import os
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import PathFinder
from typing import IO, Any, Final

import click

from fairshare import __path__, __version__
from fairshare.cli.examples import show_examples
from fairshare.errors import ConfigurationError, FairshareError
from fairshare.wording import failed_call, plain_lines

SECTIONS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Start": {
        "init": ("fairshare.cli.init", "Write a first configuration for this machine."),
        "serve": ("fairshare.cli.serve", "Run the scheduler on this machine."),
        "doctor": (
            "fairshare.cli.doctor",
            "Examine this machine and its server, and say what to do.",
        ),
        "demo": ("fairshare.demo.demonstration", "Show the scheduler at work."),
        "completion": (
            "fairshare.cli.completion",
            "Print a completion script for bash, zsh or fish.",
        ),
    },
    "Run something": {
        "submit": ("fairshare.cli.submit", "Submit an application."),
        "run": ("fairshare.cli.run", "Run a command in a container, as if it ran in your shell."),
        "shell": ("fairshare.cli.shell", "Open a terminal in a container."),
        "jupyter": ("fairshare.cli.jupyter", "Run a notebook server in a container."),
        "mapreduce": ("fairshare.mapreduce.verb", "Run a MapReduce job over files."),
        "cron": ("fairshare.cli.cron", "Submit an application on a cron schedule."),
        "resubmit": (
            "fairshare.cli.wait:resubmit",
            "Submit an ended application, or its failed tasks, again.",
        ),
    },
    "See what happens": {
        "apps": ("fairshare.cli.apps", "List applications."),
        "status": ("fairshare.cli.status", "Show the cluster, or one application."),
        "why": ("fairshare.cli.why", "Explain why an application waits, and what would start it."),
        "eta": ("fairshare.lab.verbs.eta", "Estimate when an application starts and ends."),
        "queues": ("fairshare.cli.queues", "Show the queues, their shares and their usage."),
        "nodes": ("fairshare.cli.nodes", "List nodes."),
        "top": ("fairshare.cli.top", "Watch queues, applications and nodes."),
        "logs": ("fairshare.cli.logs", "Print the output of containers."),
        "wait": ("fairshare.cli.wait", "Wait until applications have ended."),
        "attach": (
            "fairshare.cli.terminals:attach",
            "Follow a running application, with its terminal.",
        ),
        "exec": ("fairshare.cli.terminals:exec_command", "Run a command in a running container."),
    },
    "Change what waits or runs": {
        "kill": ("fairshare.cli.orders:kill", "Kill applications."),
        "hold": (
            "fairshare.cli.orders:hold",
            "Let applications start no further tasks until they are released.",
        ),
        "release": ("fairshare.cli.orders:release", "Release held applications."),
        "requeue": ("fairshare.cli.orders:requeue", "Run applications again from the beginning."),
        "move": ("fairshare.cli.orders:move", "Move an application to another queue."),
        "update": (
            "fairshare.cli.update",
            "Change the time limit, size or name of an application.",
        ),
        "priority": ("fairshare.cli.orders:priority", "Change the priority of an application."),
        "stop-container": (
            "fairshare.cli.orders:stop_container",
            "Stop containers; their tasks run again.",
        ),
    },
    "Sign in elsewhere": {
        "login": ("fairshare.cli.login:login", "Print a token for your account."),
        "open": (
            "fairshare.cli.login:open_pages",
            "Print an address that opens the pages, signed in as you.",
        ),
    },
    "Look back": {
        "history": ("fairshare.cli.history", "List ended applications of the last months."),
        "report": ("fairshare.cli.history:report", "Sum the usage by users, queues or months."),
        "ledger": (
            "fairshare.lab.verbs.ledger",
            "Sum up what queues were owed, and by which causes.",
        ),
        "at": (
            "fairshare.lab.verbs.at",
            "Show queues, applications or a reason as of a past moment.",
        ),
    },
    "Administer": {
        "admin": ("fairshare.cli.admin", "Administer a running server."),
        "reserve": (
            "fairshare.cli.reserve",
            "Promise resources to a queue for a deadline or a course.",
        ),
        "node": ("fairshare.ray.node", "Let this machine join a cluster of several machines."),
        "shutdown": ("fairshare.cli.shutdown", "Shut down the server."),
        "backup": ("fairshare.cli.backup", "Copy the journal of a server, which may be running."),
        "migrate-state": (
            "fairshare.cli.migrate_state",
            "Move a server's state to a PostgreSQL database, or back.",
        ),
        "replay": (
            "fairshare.lab.verbs.replay",
            "Rebuild a state from a server's journal, and verify it.",
        ),
    },
    "Configurations and what they would do": {
        "lint": ("fairshare.cli.lint", "Report errors and likely mistakes in a configuration."),
        "check": (
            "fairshare.lab.verbs.scenarios:check_command",
            "Check scenarios, the unit tests of a configuration.",
        ),
        "convert": (
            "fairshare.lab.verbs.convert",
            "Convert a Fair Scheduler configuration for the Capacity Scheduler.",
        ),
        "simulate": ("fairshare.lab.verbs.simulate", "Simulate a workload under a configuration."),
        "compare": ("fairshare.lab.verbs.compare", "Compare simulations, also as a page."),
        "plan": (
            "fairshare.lab.verbs.plan",
            "Simulate a server's history with a new configuration.",
        ),
        "branch": (
            "fairshare.lab.verbs.branch",
            "Simulate from a past or the present moment on, and show what comes of it.",
        ),
        "export-case": (
            "fairshare.lab.verbs.export_case",
            "Write a decision of a server as a scenario, for a report of a defect.",
        ),
        "record": (
            "fairshare.lab.verbs.scenarios:record_command",
            "Record the events of scenarios, to compare schedulers.",
        ),
    },
    "Other systems' command lines, and assistants": {
        "mcp": ("fairshare.cli.mcp", "Answer an assistant's questions (Model Context Protocol)."),
        "yarn": ("fairshare.yarn.cli", "YARN's command line, for any cluster."),
        "ray": ("fairshare.ray.verb", "Ray's job command line, for this cluster."),
    },
}
"""The verbs by what one wants to do, each with its module and its line in `fairshare --help`."""

VERBS: Final = {verb: row for section in SECTIONS.values() for verb, row in section.items()}

MEANT: Final = {
    "drain": "admin drain",
    "undrain": "admin undrain",
    "decommission": "admin decommission",
    "labels": "admin labels",
    "user": "admin user",
    "sbatch": "submit",
    "srun": "run",
    "salloc": "shell",
    "sattach": "attach",
    "sstat": "status",
    "sdiag": "status",
    "sacctmgr": "admin",
    "squeue": "apps",
    "scancel": "kill",
    "sacct": "history",
    "sinfo": "nodes",
    "sprio": "why",
    "sreport": "report",
    "sshare": "queues",
    "scontrol": "update, hold, release, requeue, move or status",
    "seff": "history",
    "qsub": "submit",
    "qstat": "apps",
    "qdel": "kill",
    "qhold": "hold",
    "qrls": "release",
    "qalter": "update",
    "qhost": "nodes",
    "bsub": "submit",
    "bjobs": "apps",
    "bkill": "kill",
    "bhist": "history",
    "bhosts": "nodes",
    "bqueues": "queues",
    "bstop": "hold",
    "bresume": "release",
    "bmod": "update",
    "condor_submit": "submit",
    "condor_q": "apps",
    "condor_rm": "kill",
    "gbatch": "submit",
    "gqueue": "apps",
    "gcancel": "kill",
    "ginfo": "nodes",
    "gjob": "status, attach, hold, release or update",
    "gstats": "report",
    "gflowd": "serve",
    "cancel": "kill",
    "stop": "kill",
    "jobs": "apps",
    "ps": "apps",
    "ls": "apps",
    "list": "apps",
    "delete": "kill",
    "rm": "kill",
    "queue": "queues",
    "log": "logs",
    "output": "logs",
    "tail": "logs",
    "result": "logs",
    "pause": "hold",
    "suspend": "hold",
    "resume": "release",
    "restart": "requeue",
    "start": "serve",
    "info": "status",
    "show": "status",
    "describe": "status",
    "usage": "report",
    "who": "apps or report",
    "users": "report",
    "gpus": "nodes",
    "ssh": "exec or shell",
    "notebook": "jupyter",
    "config": "admin",
    "token": "login",
    "help": "--help",
    "version": "--version",
}
"""Words of other schedulers and of shells, and the verb for each."""

INTERRUPTED = 130

COMPLETION_VARIABLE = "_FAIRSHARE_COMPLETE"
"""The variable in which a shell asks for completions, as click has it."""


def verb_of(name: str) -> click.Command:
    """The command of a verb, whose module is imported now."""
    module, _, attribute = VERBS[name][0].partition(":")
    command: click.Command = getattr(import_module(module), attribute or "command")
    return command


class Verbs(click.Group):
    """The group of all verbs that are installed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [verb for verb in VERBS if _is_installed(verb)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if not _is_installed(cmd_name):
            return None
        command = verb_of(cmd_name)
        show_examples(command, cmd_name)
        if not gc.isenabled():  # `main` left it to this place
            gc.freeze()  # what is imported stays to the end
            gc.enable()
        if COMPLETION_VARIABLE in os.environ:
            from fairshare.cli.completion import add_completions

            return add_completions(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        verb = args[0]
        if not verb.startswith("-") and self.get_command(ctx, verb) is None:
            near = MEANT.get(verb) or nearest(verb, self.list_commands(ctx))
            advice = f"did you mean {near}?" if near else "`fairshare --help` lists them."
            ctx.fail(f"there is no verb {verb!r}; {advice}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, VERBS))
        for title, verbs in SECTIONS.items():
            rows = [
                (verb.ljust(width), line)
                for verb, (_, line) in verbs.items()
                if _is_installed(verb)
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except FairshareError as error:
            raise failure_of(error) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # the pipe's reader has ended; click exits quietly
                raise
            raise Failure(failed_call(error)) from error
        except MemoryError as error:
            raise Failure("this needs more memory than there is") from error
        except UnicodeEncodeError as error:  # of the command line, a variable or a file
            near = error.object[max(0, error.start - 20) : error.end + 20]
            raise Failure(
                f"{near!r} is not text in {error.encoding.upper()}, as names, commands and"
                " variables have to be"
            ) from error
        except KeyboardInterrupt as error:
            raise click.exceptions.Exit(INTERRUPTED) from error


def _is_installed(verb: str) -> bool:
    if verb not in VERBS:
        return False
    # `importlib.util.find_spec` would import the packages above the module.
    _, *packages, module = VERBS[verb][0].partition(":")[0].split(".")
    folders = ["/".join((folder, *packages)) for folder in __path__]
    return PathFinder.find_spec(module, folders) is not None


def nearest(word: str, known: Sequence[str], least: float = 0.6) -> str | None:
    """The known word that is most like a wrong one, and at least so much like it; None if none is.

    >>> nearest("aps", ("apps", "nodes")), nearest("zzz", ("apps", "nodes"))
    ('apps', None)
    """
    import difflib  # which only a wrong word needs

    return next(iter(difflib.get_close_matches(word, known, 1, least)), None)


class Failure(click.ClickException):
    """The failure of a verb: a message on stderr and exit code 1."""


class WrongFiles(Failure):
    """All problems of files. A problem of a configuration contains the word "error" after its
    place; other problems are prefixed with it."""

    def __init__(self, error: ConfigurationError) -> None:
        super().__init__(plain_lines(str(error)))
        self.says_so = hasattr(next(iter(error.problems), None), "severity")

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on stderr."""
        if self.says_so:
            click.echo(self.format_message(), file=file, err=file is None)
        else:
            super().show(file)


class NoServer(Failure):
    """No server answers."""

    exit_code = 3


def failure_of(error: FairshareError) -> Failure:
    """The failure to report for an error."""
    # Imported lazily: it loads the HTTP library, which `--help` does not need.
    from fairshare.client.errors import ServerUnreachable

    if isinstance(error, ConfigurationError):
        return WrongFiles(error)
    message = plain_lines(str(error))
    return NoServer(message) if isinstance(error, ServerUnreachable) else Failure(message)


@click.command(
    cls=Verbs,
    subcommand_metavar="VERB [ARGUMENT]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Help for a verb: fairshare VERB --help",
)
@click.version_option(__version__, message="fairshare %(version)s")
def fairshare() -> None:
    """Share one machine or a cluster fairly, as Hadoop's schedulers do.

    The server is the one at FAIRSHARE_URL, otherwise the current user's server on this machine,
    which writes its address into its state directory (FAIRSHARE_STATE, ~/.local/state/fairshare).

    Exit codes: 0 success, 1 failure, 2 wrong command line, 3 no server, 130 Ctrl-C.
    """

"""What the command line takes along of the shell in which a command is submitted, and what it does
not: the lines of a script that mean something to another scheduler.
"""

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import click

from fairshare.cli.cells import plain_lines
from fairshare.client import Client, Submission
from fairshare.client.caller import exported, runs_here, taken_along, this_caller
from fairshare.client.python_environments import (
    PythonEnvironment,
    conda,
    of_interpreter,
    virtualenv,
)
from fairshare.documents.output_names import check_pattern
from fairshare.wording import counted

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_DIRECTIVE: Final = rb"(?m)^#(?:SBATCH|PBS|BSUB)(?=[ \t])|^#\$(?=[ \t]+-)"
_MOST_READ: Final = 65_536

NEW = "new"
"""The directory that means a new one for each container; one of this name is `./new`."""


def chosen_directory(options: Mapping[str, Any]) -> str | None:
    """The absolute directory of `--directory`; None: not given, or a new one."""
    directory = options.get("directory", NEW)
    return None if directory == NEW else str(Path(directory).expanduser().absolute())


def chosen_files(options: Mapping[str, Any]) -> dict[str, Any]:
    """The absolute names of `--output`, `--error` and `--input`; raises UsageError."""
    names = {name: options[name] for name in ("output", "error", "input") if name in options}
    for option, name in names.items():
        try:
            check_pattern(name)
        except ValueError as error:
            raise click.UsageError(f"--{option}: {error}") from error
    return {name: str(Path(text).expanduser().absolute()) for name, text in names.items()}


def chosen_environment(options: Mapping[str, Any]) -> PythonEnvironment | None:
    """What `--python`, `--venv` or `--conda` means; raises NotHere, and UsageError for several."""
    names = [name for name in ("python", "venv", "conda") if name in options]
    if len(names) > 1:
        raise click.UsageError("--python, --venv and --conda: give one of them")
    if "venv" in options:
        return virtualenv(options["venv"])
    if "conda" in options:
        return conda(options["conda"])
    return of_interpreter(options["python"]) if names else None


def with_caller(
    client: Client, submission: Submission, options: Mapping[str, Any], *, of_file: bool
) -> Submission:
    """The submission with what it takes along; raises NotHere.

    Only a server on this machine gets it without an option that says so. A job file names its
    directories itself.
    """
    here = runs_here(client.cluster())
    variables = exported(options.get("export", "default" if here else "none"))
    environment = chosen_environment(options)
    if "image" in options and environment is not None:
        raise click.UsageError("--python, --venv and --conda: an image has a Python of its own")
    if environment is not None:
        if here:
            environment.check()
        submission = environment.started_by(submission)
        variables |= environment.variables(variables)
    caller = this_caller() if here else None
    current = "directory" not in options and not of_file
    into_images = "export" in options
    return taken_along(submission, caller, variables, directory=current, into_images=into_images)


def report_directives(command_line: tuple[str, ...]) -> None:
    """Print on stderr that lines for another scheduler in the script are not read: Slurm, PBS, LSF
    or Grid Engine would take them for options."""
    for word in command_line[:2]:  # train.sh, or bash train.sh
        path = Path(word).expanduser()
        with contextlib.suppress(OSError):
            if not path.is_file():
                continue
            with path.open("rb") as file:
                found = re.findall(_DIRECTIVE, file.read(_MOST_READ))
            if found:
                what = f"{counted(len(found), 'line')} with {found[0].decode()}"
                line = (
                    f"{word} has {what}, which fairshare does not read: give options instead, such"
                    " as --memory 4g --vcores 2 --gpus 1 --time-limit 2h --array"
                    " 1-10 (docs/how-to/from-slurm.md)"
                )
                click.echo(plain_lines(line), err=True)
                return

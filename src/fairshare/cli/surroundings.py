"""What the command line takes along of the shell in which a command is submitted, and what it does
not: the lines of a script that mean something to another scheduler.

To run a command in a virtualenv, in a conda environment or with a Python means variables.
Activation scripts of packages do not run.
"""

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from fairshare.api.work import Command
from fairshare.cli.user_defaults import defaults_file
from fairshare.client import Client, Submission
from fairshare.client.caller import (
    exported,
    private_variables,
    shares_files,
    taken_along,
    this_caller,
)
from fairshare.client.discovery import own_user
from fairshare.client.errors import NotHere
from fairshare.documents.output_names import check_pattern
from fairshare.this_machine import account_named
from fairshare.wording import counted, plain_lines

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


STANDARD_PATH = "/usr/local/bin:/usr/bin:/bin"
"""Before which the environment's programs come, if no PATH is taken along."""

_PYTHONS = ("python", "python3")


class PythonEnvironment(msgspec.Struct, frozen=True):
    """A Python with the programs beside it. `name` is for messages."""

    name: str
    python: Path
    own: dict[str, str] = {}
    replaces: bool = False  # whether commands that begin with `python` run it

    def check(self) -> None:
        """Raise NotHere unless this process can run the interpreter."""
        if not self.python.is_file() or not os.access(self.python, os.X_OK):
            raise NotHere(f"{self.name}: {self.python} is not a program that can be run")

    def variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The variables that put it in front of an environment."""
        path = environment.get("PATH") or STANDARD_PATH
        return {**self.own, "PATH": f"{self.python.parent}:{path}"}

    def started_by(self, submission: Submission) -> Submission:
        """The submission, whose commands that begin with `python` run the interpreter by path: its
        name may be another one, such as python3.12."""
        if not self.replaces:
            return submission

        def replaced(command: Command) -> Command:
            if not command.arguments or command.arguments[0] not in _PYTHONS:
                return command
            arguments = (str(self.python), *command.arguments[1:])
            return msgspec.structs.replace(command, arguments=arguments)

        tasks = tuple(map(replaced, submission.tasks))
        driver = None if submission.driver is None else replaced(submission.driver)
        return msgspec.structs.replace(submission, tasks=tasks, driver=driver)


def of_interpreter(text: str) -> PythonEnvironment:
    """A Python by its path, or by its name in PATH; raises NotHere."""
    import shutil  # with all compressions, which only this needs

    path = text if "/" in text else shutil.which(text)
    if path is None:
        raise NotHere(f"--python {text}: there is no such program in PATH; write its path")
    # Not resolved: the interpreter of a virtualenv is a link, beside which its packages are.
    python = Path(path).expanduser().absolute()
    prefix = python.parent.parent
    own = {"VIRTUAL_ENV": str(prefix)} if (prefix / "pyvenv.cfg").exists() else {}
    return PythonEnvironment(f"--python {text}", python, own, replaces=True)


def virtualenv(text: str) -> PythonEnvironment:
    """A virtualenv by its directory."""
    directory = Path(text).expanduser().absolute()
    python = directory / "bin" / "python"
    return PythonEnvironment(f"--venv {text}", python, {"VIRTUAL_ENV": str(directory)})


def conda(text: str, environment: Mapping[str, str] = os.environ) -> PythonEnvironment:
    """A conda environment by its path, or by its name; raises NotHere."""
    if "/" in text:
        directory = Path(text).expanduser().absolute()
    else:
        known = {path.name: path for path in _conda_environments(environment)}
        if text not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise NotHere(
                f"--conda {text}: there is no conda environment of this name (known: {listed});"
                " write its path"
            )
        directory = known[text]
    variables = {
        "CONDA_PREFIX": str(directory),
        "CONDA_DEFAULT_ENV": text,
        "CONDA_SHLVL": "1",
    }
    return PythonEnvironment(f"--conda {text}", directory / "bin" / "python", variables)


def _conda_environments(environment: Mapping[str, str]) -> Iterator[Path]:
    """The directories of conda's environments, those found first last."""
    try:
        lines = (Path.home() / ".conda" / "environments.txt").read_text().splitlines()
    except (OSError, UnicodeDecodeError, RuntimeError):
        lines = []
    yield from (Path(line.strip()) for line in lines if line.strip())
    folders = []
    for variable in ("CONDA_ENVS_PATH", "CONDA_ENVS_DIRS"):
        folders += [Path(one) for one in environment.get(variable, "").split(os.pathsep) if one]
    roots = []
    if program := environment.get("CONDA_EXE"):
        roots.append(Path(program).parent.parent)
    if root := environment.get("MAMBA_ROOT_PREFIX"):
        roots.append(Path(root))
    folders += [root / "envs" for root in roots]
    for folder in folders:
        if folder.is_dir():
            yield from (one for one in folder.iterdir() if (one / "bin").is_dir())
    if active := environment.get("CONDA_PREFIX"):
        yield Path(active)


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
    client: Client,
    submission: Submission,
    options: Mapping[str, Any],
    *,
    of_file: bool = False,
    whole: bool = False,
) -> Submission:
    """The submission with what it takes along; raises NotHere.

    Only a server on this machine gets it without an option that says so. A job file names its
    directories itself. With `whole` all variables come along by default, of which only those of
    other commands are recorded; but not to another account, which could read the secrets of this.
    """
    here = shares_files(client.cluster())
    owner = account_named(submission.user or own_user() or "")
    whole = whole and here and (owner is None or owner.pw_uid == os.geteuid())
    whole = whole and options.get("export", "all") == "all" and "image" not in options
    wanted = "default" if whole else options.get("export", "default" if here else "none")
    variables = exported(wanted)
    if "export" not in options:
        variables |= {
            name: os.environ[name] for name in options.get("exported", ()) if name in os.environ
        }
    private = private_variables() if whole else {}
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
    return taken_along(
        submission,
        caller,
        variables,
        directory=current,
        into_images=into_images,
        private=private,
    )


NEEDED: Final = (
    *(
        "AWS_PROFILE",
        "COMET_API_KEY",
        "DISPLAY",
        "HF_HOME",
        "HF_TOKEN",
        "HTTPS_PROXY",
        "HTTP_PROXY",
    ),
    *("KAGGLE_CONFIG_DIR", "MLFLOW_TRACKING_URI", "NEPTUNE_API_TOKEN", "NO_PROXY", "NLTK_DATA"),
    *("SSH_AUTH_SOCK", "TORCH_HOME", "WANDB_API_KEY", "WANDB_MODE", "XDG_CACHE_HOME"),
    *("http_proxy", "https_proxy", "no_proxy"),
)
"""Variables that programs may need and that do not come along by default: some are secret."""


def report_left_out(options: Mapping[str, Any]) -> None:
    """Tell a user at a terminal once which known variables of the shell do not come along."""
    passed_on = {*dict(options.get("environment", ())), *options.get("exported", ())}
    names = [name for name in NEEDED if name in os.environ and name not in passed_on]
    if names and "export" not in options and sys.stderr.isatty():
        click.echo(
            f"not passed on: {', '.join(names)} (pass --env NAME, or list them under export in"
            f" {defaults_file()})",
            err=True,
        )


def report_directives(command_line: tuple[str, ...]) -> None:
    """Print on stderr that lines for another scheduler in the script are not read: Slurm, PBS, LSF
    or Grid Engine would take them for options."""
    for word in command_line[:2]:  # train.sh, or bash train.sh
        path = Path(word).expanduser()
        with contextlib.suppress(OSError):
            if not path.is_file():
                continue
            with path.open("rb") as file:
                marks = re.findall(_DIRECTIVE, file.read(_MOST_READ))
            if marks:
                what = f"{counted(len(marks), 'line')} with {marks[0].decode()}"
                line = f"{word} has {what}, which fairshare does not read" + (
                    f": `fairshare submit {word}` does"
                    if marks[0] == b"#SBATCH"
                    else ": give options instead, such as --memory 4g --vcores 2 --gpus 1"
                    " --time-limit 2h --array 1-10 (docs/how-to/from-slurm.md)"
                )
                click.echo(plain_lines(line), err=True)
                return

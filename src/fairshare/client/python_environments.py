"""What it means to run a command in a virtualenv, in a conda environment, or with a Python:
variables. Activation scripts of packages do not run.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from fairshare.api.work import Command, Submission
from fairshare.client.errors import NotHere

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

    found = text if "/" in text else shutil.which(text)
    if found is None:
        raise NotHere(f"--python {text}: there is no such program in PATH; write its path")
    # Not resolved: the interpreter of a virtualenv is a link, beside which its packages are.
    python = Path(found).expanduser().absolute()
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
    directory = Path(text).expanduser().absolute() if "/" in text else _named(text, environment)
    own = {
        "CONDA_PREFIX": str(directory),
        "CONDA_DEFAULT_ENV": text,
        "CONDA_SHLVL": "1",
    }
    return PythonEnvironment(f"--conda {text}", directory / "bin" / "python", own)


def _named(name: str, environment: Mapping[str, str]) -> Path:
    known = {path.name: path for path in _conda_environments(environment)}
    if name not in known:
        listed = ", ".join(sorted(known)) or "none"
        raise NotHere(
            f"--conda {name}: there is no conda environment of this name (known: {listed}); write"
            " its path"
        )
    return known[name]


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

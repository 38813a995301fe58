"""What a Ray program is given in its containers: its size, and the job that it may be.

Both are options in JSON, the last argument of a command line, and so are part of the application's
submission. What runs them is `fairshare.ray`.
"""

import shlex
from typing import Any, Final, TypeVar, cast

import msgspec

from fairshare.api.values import EMPTY
from fairshare.api.work import EndSignal

DEFAULT_GRACE_MS: Final = 10_000

Form = TypeVar("Form")

_PYTHON: Final = 'python=$(command -v "$0" || echo python3); exec "$python" -m {module} "$@"'
_PROGRAM: Final = _PYTHON.format(module="fairshare.ray.program")
_ENDED: Final = "the program ended with exit code "
_JOB: Final = _PYTHON.format(module="fairshare.ray.job")


class Program(msgspec.Struct, frozen=True):
    """What is run: with `workers` that start together, and up to `more` while there is room."""

    workers: int
    more: int
    resources: dict[str, int]
    gang_timeout_ms: int
    command: tuple[str, ...]
    grace_ms: int = DEFAULT_GRACE_MS
    """From the warning of a worker to its end; a worker is warned by SIGTERM."""
    end_signal: EndSignal = EndSignal(name="TERM")
    """How the program itself is warned, in its own container."""


def container_signal(name: str = "TERM") -> EndSignal:
    """The signal of a container in which Ray runs: its own processes must not get it."""
    return EndSignal(name=cast(Any, name), first_process=True)


class Job(msgspec.Struct, frozen=True, omit_defaults=True):
    """A job of Ray's job interface: a line for the shell, and the files that it needs.

    `runtime_env` is that of the request without `env_vars`, which are the `variables` of the
    container's environment. `packages` has the SHA-256 of each package, by its URI.
    """

    submission_id: str
    entrypoint: str
    metadata: dict[str, str] = EMPTY
    runtime_env: dict[str, Any] = EMPTY
    packages: dict[str, str] = EMPTY
    variables: tuple[str, ...] = ()


def ended_with(code: int) -> str:
    """The diagnostics of an application whose program has ended; empty if it succeeded.

    >>> ended_with(3), exit_code_of(ended_with(3)), exit_code_of("killed by ann")
    ('the program ended with exit code 3', 3, None)
    """
    return f"{_ENDED}{code}" if code else ""


def exit_code_of(diagnostics: str) -> int | None:
    """The exit code in such diagnostics; None in others."""
    code = diagnostics.removeprefix(_ENDED)
    return int(code) if code != diagnostics and code.lstrip("-").isdecimal() else None


def program_arguments(program: Program, python: str) -> tuple[str, ...]:
    """The command line of a program's driver, which runs with a Python of its node: the given one,
    if it is there."""
    return ("/bin/sh", "-c", _PROGRAM, python, msgspec.json.encode(program).decode())


def job_arguments(job: Job, python: str) -> tuple[str, ...]:
    """The command line of a program that is a job."""
    return ("/bin/sh", "-c", _JOB, python, msgspec.json.encode(job).decode())


def job_of(arguments: tuple[str, ...]) -> Job | None:
    """The job that the command line of a driver runs; None if it runs none.

    >>> job = Job("raysubmit_1", "python train.py")
    >>> program = Program(1, 0, {"vcores": 1}, 60_000, job_arguments(job, "python3"))
    >>> job_of(program_arguments(program, "python3")) == job, job_of(("sleep", "1"))
    (True, None)
    """
    program = _options(arguments, _PROGRAM, Program)
    return None if program is None else _options(program.command, _JOB, Job)


def command_of(arguments: tuple[str, ...]) -> str | None:
    """What the program of such a driver is, as a line for a shell; None for any other driver.

    >>> program = Program(1, 0, {"vcores": 1}, 60_000, ("python", "my train.py"))
    >>> command_of(program_arguments(program, "python3")), command_of(("sleep", "1"))
    ("python 'my train.py'", None)
    """
    program = _options(arguments, _PROGRAM, Program)
    if program is None:
        return None
    job = _options(program.command, _JOB, Job)
    return shlex.join(program.command) if job is None else job.entrypoint


def _options(arguments: tuple[str, ...], line: str, form: type[Form]) -> Form | None:
    """The options of a command line as `program_arguments` makes it; None of any other."""
    if len(arguments) != 5 or arguments[2] != line:
        return None
    try:
        return msgspec.json.decode(arguments[4], type=form)
    except msgspec.DecodeError:
        return None

"""What a command takes along of the process that submits it: directory, variables, umask, limits.

By default only to a server whose containers share this machine's homes: elsewhere they mean
nothing.
"""

import contextlib
import os
import re
import resource
from collections.abc import Mapping
from pathlib import Path

import msgspec

from fairshare.api.cluster import Cluster
from fairshare.api.work import Command, Submission
from fairshare.client.errors import NotHere
from fairshare.documents.bounds import PROCESS_LIMITS, UNLIMITED, ProcessLimit
from fairshare.this_machine import this_machine

EXPORTED = (
    "CONDA_DEFAULT_ENV",
    "CONDA_EXE",
    "CONDA_PREFIX",
    "CONDA_PYTHON_EXE",
    "CONDA_SHLVL",
    "CUDA_HOME",
    "CUDA_PATH",
    "JAVA_HOME",
    "LANG",
    "LANGUAGE",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "LOKY_MAX_CPU_COUNT",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PATH",
    "PERL5LIB",
    "POLARS_MAX_THREADS",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "RAYON_NUM_THREADS",
    "R_LIBS",
    "R_LIBS_USER",
    "TERM",
    "TZ",
    "VIRTUAL_ENV",
)
"""The variables that a command takes along by default, and those that begin with LC_. Not all:
they are recorded in the server's journal, and others may be secret."""

MOST_PRIVATE_BYTES = 240 * 1024
"""Of a whole environment that is taken along by default: a server takes 256 KB of one command."""

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_OWN = "FAIRSHARE_.*|HOME|LOGNAME|SHELL|USER|PWD|OLDPWD|SHLVL|TMPDIR|_|[A-Z]+_VISIBLE_DEVICES"
"""What a container has of its own: `all` does not include it."""


class Caller(msgspec.Struct, frozen=True):
    """The surroundings of this process."""

    directory: str
    umask: int
    limits: dict[ProcessLimit, int]


def runs_here(cluster: Cluster) -> bool:
    """Whether all containers of a cluster run on this machine."""
    return bool(cluster.machine) and cluster.machine == this_machine()


def shares_files(cluster: Cluster) -> bool:
    """Whether the containers of a cluster have the accounts and homes of this machine."""
    return bool(cluster.files_of) and cluster.files_of == this_machine()


def this_caller() -> Caller:
    """The surroundings of this process; raises NotHere if its directory was deleted."""
    try:
        directory = str(Path.cwd())
    except FileNotFoundError:
        raise NotHere(
            "the current directory does not exist any more: change to another one, or name one"
            " with --directory"
        ) from None
    status = Path("/proc/self/status").read_text()
    match = re.search(r"^Umask:\s*([0-7]+)$", status, re.MULTILINE)
    soft = {
        name: resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[0]
        for name in PROCESS_LIMITS
    }
    limits = {
        name: value if 0 <= value <= 2**53 else UNLIMITED  # larger ones are not sent as numbers
        for name, value in soft.items()
    }
    return Caller(directory, int(match[1], 8) if match else 0o022, limits)


def exported(wanted: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that `default`, `all`, `none` or `NAME,NAME` mean; raises NotHere for a name
    that is not set.

    >>> exported("default", {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET_ACCESS_KEY": "x"})
    {'PATH': '/bin', 'LC_ALL': 'C'}
    >>> exported("all", {"PATH": "/bin", "HOME": "/root", "MODE": "fast"})
    {'PATH': '/bin', 'MODE': 'fast'}
    >>> exported("MODE", {"PATH": "/bin", "MODE": "fast"})
    {'MODE': 'fast'}
    """
    if wanted == "none":
        return {}
    if wanted == "all":
        return {
            name: text
            for name, text in environment.items()
            if not re.fullmatch(_OWN, name, re.ASCII)
        }
    if wanted == "default":
        return {
            name: text
            for name, text in environment.items()
            if name in EXPORTED or name.startswith("LC_")
        }
    names = [name for name in wanted.split(",") if name]
    missing = [name for name in names if name not in environment]
    if missing or not names:
        raise NotHere(
            f"--export {wanted}: {', '.join(missing) or 'no variable'} is not set here; write"
            " default, all, none, or names of variables that are set"
        )
    return {name: environment[name] for name in names}


def private_variables(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    r"""All further variables than those of `default`, for a server that does not record them;
    without those that are not text. Raises NotHere if they are too large.

    >>> private_variables({"PATH": "/bin", "HOME": "/root", "HF_HOME": "/data", "X": "\udcff"})
    {'HF_HOME': '/data'}
    """
    default, everything = exported("default", environment), exported("all", environment)
    private = {}
    for name, text in everything.items():
        if name not in default:
            with contextlib.suppress(UnicodeEncodeError):
                (name + text).encode()
                private[name] = text
    size = sum(len(word.encode()) + 1 for item in private.items() for word in item)
    if size > MOST_PRIVATE_BYTES:
        raise NotHere(
            f"your environment has {size} bytes, and {MOST_PRIVATE_BYTES} can be passed on: give"
            " --export default, or --export NAME,NAME with those that the command needs"
        )
    return private


def taken_along(
    submission: Submission,
    caller: Caller | None,
    variables: Mapping[str, str],
    *,
    directory: bool,
    into_images: bool = True,
    private: Mapping[str, str] = {},
) -> Submission:
    """The submission, whose commands take along variables, and umask and limits of a caller.

    With `directory` those without one run in the caller's, where they can enter it. Commands in
    images take variables along only with `into_images`: the PATH of this machine is not theirs.
    What a command says itself is kept. `private` are variables that the server does not record.
    """

    def added(command: Command) -> Command:
        along = variables if into_images or command.image is None else {}
        environment = {**along, **command.environment}
        more: dict[str, object] = {"environment": environment} if environment else {}
        if private and command.image is None:
            more["private_environment"] = dict(private)
        if caller is not None:
            limits: dict[ProcessLimit, int] = {**caller.limits, **command.limits}
            if directory and command.directory is None:
                more |= {"directory": caller.directory, "directory_optional": True}
            if command.umask is None:
                more["umask"] = caller.umask
            more["limits"] = limits
        return msgspec.structs.replace(command, **more)

    tasks = tuple(map(added, submission.tasks))
    driver = None if submission.driver is None else added(submission.driver)
    return msgspec.structs.replace(submission, tasks=tasks, driver=driver)

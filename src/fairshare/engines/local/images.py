"""How a command runs in an image: with podman, docker or apptainer.

Of these programs the container's first process is the client. Podman's and apptainer's containers
are its descendants, so that a supervisor measures and ends them as all else; those of docker belong
to its daemon, which has the limits. What a program keeps of an ended container, the supervisor
deletes (`Images.at_end`).
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from fairshare.documents.images import parse_mount
from fairshare.engines.local.accounts import Account
from fairshare.engines.local.gpus.found import AMD
from fairshare.engines.local.launch import SECRETS
from fairshare.engines.local.limits import ContainerLimits
from fairshare.engines.local.outcome import NOT_FOUND, StartFailure
from fairshare.engines.protocol import LaunchOrder

AUTO: Final = "auto"
NONE: Final = "none"
PROGRAMS: Final = ("podman", "docker", "apptainer", "singularity")

_IN_WORKING_DIRECTORY: Final = (
    'runtime="$0"; how="$1"; shift; exec "$runtime" $how --volume "$PWD:$PWD" --workdir "$PWD" "$@"'
)
_FILES_IN_WORKING_DIRECTORY: Final = (
    'runtime="$0"; how="$1"; shift; test -z "$FAIRSHARE_TOKEN" ||'
    ' export APPTAINERENV_FAIRSHARE_TOKEN="$FAIRSHARE_TOKEN"'
    ' SINGULARITYENV_FAIRSHARE_TOKEN="$FAIRSHARE_TOKEN";'
    ' exec "$runtime" $how --bind "$PWD" --pwd "$PWD" "$@"'
)
"""The working directory is known in the container's first process only."""
_SHARES_OF_VCORE: Final = 1024


class Wrapped(NamedTuple):
    """A command that runs in an image: what the supervisor starts, and what it runs at the end.

    With `passes_signals` the first process passes on what it gets, and is the only one that may get
    a signal.
    """

    arguments: tuple[str, ...]
    environment: dict[str, str]
    at_end: tuple[str, ...]
    passes_signals: bool


class Images:
    """The program that runs images on this machine; `program` is its path, empty if there is none.

    `wanted` is one of PROGRAMS, a path of one, `auto` for the first one that this machine has, or
    `none`. `options` are added to those of each container.
    """

    def __init__(self, wanted: str = AUTO, options: Sequence[str] = ()) -> None:
        self._wanted = wanted
        self._options = tuple(options)
        names = PROGRAMS if wanted == AUTO else () if wanted == NONE else (wanted,)
        self.program = next(filter(None, map(shutil.which, names)), "")
        self._name = Path(self.program).name

    @property
    def attributes(self) -> dict[str, str]:
        """The program, as an attribute of nodes."""
        return {"images": self._name} if self.program else {}

    @property
    def problem(self) -> str:
        """Why no image can be used here; empty if they can."""
        if self.program:
            return ""
        if self._wanted == NONE:
            return "image: this server runs no images (image_program in [engine])"
        what = ", ".join(PROGRAMS) if self._wanted == AUTO else self._wanted
        return f"image: there is no program for images here; it would be {what}"

    def wrapped(
        self,
        order: LaunchOrder,
        environment: dict[str, str],
        directory: Path,
        limits: ContainerLimits,
        account: Account | None,
        gpus: Sequence[str],
        vendor: str | None,
        processors: Sequence[int] = (),
    ) -> Wrapped:
        """A command as it is started; raises StartFailure if nothing here can.

        The variables of the command and fairshare's own are handed on by name: their values are in
        no list of processes. `directory` is the container's own one.
        """
        if not self.program:
            raise StartFailure(NOT_FOUND, self.problem)
        command = order.command
        names = sorted(
            {*command.environment, *order.environment}
            | {name for name in environment if name.startswith("FAIRSHARE_")}
        )
        mounts = [parse_mount(text) for text in command.mounts]
        binds = [f"{directory}:{directory}", *map(str, mounts)]
        if self._name in ("apptainer", "singularity"):
            prefix = f"{self._name.upper()}ENV_"
            return Wrapped(
                (
                    *("/bin/sh", "-c", _FILES_IN_WORKING_DIRECTORY, self.program),
                    "exec --cleanenv",
                    *_each("--bind", binds),
                    *_apptainer_gpus(gpus, vendor),
                    *self._options,
                    _file_or_registry(command.image or ""),
                    *command.arguments,
                ),
                environment
                | {prefix + name: environment[name] for name in names if name not in SECRETS},
                (),
                passes_signals=False,
            )
        name = f"fairshare-{order.container_name}-{order.launched_ms}"
        rest = (
            *("--name", name, "--network", "host"),
            *_each("--volume", binds),
            *_each("--env", names),
            *self._limits(order, limits, account),
            *self._processors(processors),
            *_devices(self._name, gpus, vendor),
            *self._options,
            command.image or "",
            *command.arguments,
        )
        way = ("--interactive",) if command.input else ()
        return Wrapped(
            ("/bin/sh", "-c", _IN_WORKING_DIRECTORY, self.program, "run --rm", *way, *rest),
            environment,
            (self.program, "rm", "--force", *self._if_there, name),
            passes_signals=True,
        )

    @property
    def _if_there(self) -> tuple[str, ...]:
        return ("--ignore",) if self._name == "podman" else ()

    def _limits(
        self, order: LaunchOrder, limits: ContainerLimits, account: Account | None
    ) -> tuple[str, ...]:
        memory = f"{order.memory_mb}m"
        options = ("--memory", memory, "--memory-swap", memory) if limits.memory_checked else ()
        processes = ("--pids-limit", str(limits.process_limit)) if limits.process_limit else ()
        shares = ("--cpu-shares", str(max(2, order.vcores * _SHARES_OF_VCORE)))
        if self._name == "docker":
            user_option = () if account is None else ("--user", f"{account.uid}:{account.gid}")
            return ("--init", *user_option, *options, *processes, *shares)
        # With the machine's processes a program that ignores no signal ends at SIGTERM. CPU is
        # nothing that an account of its own may divide.
        return ("--pid", "host", *options, *processes) + (
            shares if account is None else ("--userns", "keep-id")
        )

    def _processors(self, processors: Sequence[int]) -> tuple[str, ...]:
        """Docker's daemon starts its containers, which inherit nothing from here."""
        if self._name != "docker" or not processors:
            return ()
        return ("--cpuset-cpus", ",".join(map(str, processors)))


def _each(option: str, values: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for value in values for word in (option, value))


def _devices(program: str, gpus: Sequence[str], vendor: str | None) -> tuple[str, ...]:
    """The options for a container's GPUs."""
    if not gpus:
        return ()
    if vendor == AMD:
        places = (f"/dev/dri/renderD{128 + int(gpu)}" for gpu in gpus if gpu.isdigit())
        return _each("--device", ("/dev/kfd", *places))
    if program == "docker":
        return ("--gpus", f'"device={",".join(gpus)}"')
    return _each("--device", (f"nvidia.com/gpu={gpu}" for gpu in gpus))


def _apptainer_gpus(gpus: Sequence[str], vendor: str | None) -> tuple[str, ...]:
    if not gpus:
        return ()
    return ("--rocm",) if vendor == AMD else ("--nv",)


def _file_or_registry(image: str) -> str:
    """An image as apptainer names it: `docker://python:3.12`, or a file."""
    is_file = image.startswith("/") or image.endswith((".sif", ".img", ".sqsh"))
    return image if is_file else f"docker://{image}"

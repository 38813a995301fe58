"""The file that orders a container, `launch.json`, the input of a supervisor.

Must stay light: supervisors use it, and import nothing of the model.
"""

import json
import signal
from typing import Any, NamedTuple

DIRECTORY_VARIABLE = "FAIRSHARE_CONTAINER_DIRECTORY"
"""The environment variable that identifies every process of a container."""


LIMIT_CHANGED = signal.SIGURG
"""Tells a supervisor that `time_limit_ms` in launch.json is another one. A process
that does not expect this signal ignores it."""

SECRETS = ("FAIRSHARE_TOKEN",)
"""Variables with credentials. They do not remain on disk: the process that starts the container
reads them once, from a file that it deletes."""


class GroupPlan(NamedTuple):
    """A cgroup to create for a container: its path, and `(file, value, needed)` for each setting.

    If a needed setting fails, the container is not started; the other settings may fail.
    """

    path: str
    settings: tuple[tuple[str, str, bool], ...] = ()


class Launch(NamedTuple):
    """The command of a container, and the limits that its supervisor enforces."""

    container: int
    container_name: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    memory_mb: int  # 0: no limit
    memory_limit: str  # how it is enforced: cgroup-v2, cgroup-v1 or watch
    groups: tuple[GroupPlan, ...] = ()
    kill_group: str | None = None  # the cgroup whose processes the kernel can kill at once
    niceness: int = 0
    time_limit_ms: int | None = None
    grace_ms: int = 250  # between SIGTERM and SIGKILL
    watch_ms: int = 100  # the interval of memory checks, if it is watched
    log_limit_bytes: int = 0  # the kept size of each stream; 0: no limit
    account: str = ""  # empty: the account of the server
    uid: int = -1
    gid: int = -1
    supplementary: tuple[int, ...] = ()  # all groups of the account
    no_new_privileges: bool = False  # whether set-user-id programs have no effect in it
    node: str = ""
    resources: dict[str, int] = {}  # noqa: RUF012 - allocated to it; never mutated
    process_group: str = ""  # the cgroup that limits its processes
    process_limit: int = 0
    launched_ms: int = -1  # as in the order: distinguishes containers with the same name
    gpus: tuple[str, ...] = ()  # the names of the GPUs assigned to it
    other_directory: str = ""  # where it runs if it cannot enter `directory`; empty: not at all
    output: str = ""  # files for stdout and stderr; empty: the container's own logs
    error: str = ""
    input: str = ""  # the file that is its standard input; empty: none
    umask: int = -1  # -1: that of the server, or 022 under a user's account
    limits: dict[str, int] = {}  # noqa: RUF012 - soft limits by name; never mutated
    signal: int = 0  # instead of SIGTERM; 0: SIGTERM
    signal_before_ms: int = 0  # also sent this long before the time limit
    signal_first: bool = False  # only to the first process
    image: str = ""  # in which it runs; empty: in none
    terminal: bool = False  # whether the first process has one
    idle_ms: int = 0  # after which a container with a terminal ends; 0: never
    detached_ms: int = 0  # the same while no user is attached to it
    private_tmp: str = ""  # the directory that is its /tmp; empty: it has none of its own
    processors: tuple[int, ...] = ()  # on which it runs; empty: all
    at_end: tuple[str, ...] = ()  # a command that runs after the container's last process

    @property
    def image_program(self) -> str:
        """The name of the program that runs the image."""
        return self.arguments[3].rpartition("/")[2]  # behind /bin/sh -c LINE

    def without_secrets(self) -> tuple["Launch", dict[str, str]]:
        """The order without its secret variables, and those variables."""
        secrets = {name: self.environment[name] for name in SECRETS if name in self.environment}
        kept = {name: value for name, value in self.environment.items() if name not in secrets}
        return self._replace(environment=kept), secrets

    def with_secrets(self, secrets: dict[str, str]) -> "Launch":
        """The order with secret variables added."""
        return self._replace(environment={**self.environment, **secrets})

    def encode(self) -> bytes:
        """The content of `launch.json`."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, value: dict[str, Any]) -> "Launch":
        """Decode the result of `encode`; raises KeyError, TypeError or ValueError if invalid."""
        groups = tuple(
            GroupPlan(path, tuple((file, text, needed) for file, text, needed in settings))
            for path, settings in value["groups"]
        )
        gpus = tuple(value.get("gpus", ()))
        lists = {
            "arguments": tuple(value["arguments"]),
            "groups": groups,
            "gpus": gpus,
            "supplementary": tuple(value.get("supplementary", ())),
            "at_end": tuple(value.get("at_end", ())),
            "processors": tuple(value.get("processors", ())),
        }
        launch = cls(**{**value, **lists})
        if type(launch.container) is not int or type(launch.launched_ms) is not int:
            raise TypeError("container and launched_ms must be whole numbers")
        if not all(isinstance(group.path, str) for group in groups):
            raise TypeError("the path of a group must be a text")
        if not all(isinstance(gpu, str) for gpu in gpus):
            raise TypeError("the name of a GPU must be a text")
        return launch

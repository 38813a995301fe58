"""Owns the file that orders a container, `launch.json`: what a supervisor has to know.

Must stay light: it is all that a supervisor knows, and supervisors import nothing of the model.
"""

import json
from typing import Any, NamedTuple

DIRECTORY_VARIABLE = "FAIRSHARE_CONTAINER_DIRECTORY"
"""The environment variable by which every process of a container can be found."""


SECRETS = ("FAIRSHARE_TOKEN",)
"""Variables with credentials. They do not stay on the disk: the process that starts the container
reads them once, from a file that it deletes."""


class GroupPlan(NamedTuple):
    """A cgroup to make for a container: its path, and `(file, value, needed)` for each setting.

    Without a needed setting the container is not started; the others are an attempt.
    """

    path: str
    settings: tuple[tuple[str, str, bool], ...] = ()


class Launch(NamedTuple):
    """What a supervisor shall run, and what it shall hold it to."""

    container: int
    container_name: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    directory: str
    memory_mb: int  # 0: no limit
    memory_limit: str  # cgroup-v2, cgroup-v1, watch: how it is held to it
    groups: tuple[GroupPlan, ...] = ()
    kill_group: str | None = None  # the cgroup whose processes the kernel ends at one word
    niceness: int = 0
    time_limit_ms: int | None = None
    grace_ms: int = 250  # between SIGTERM and SIGKILL
    watch_ms: int = 100  # between two looks at the memory, if it is watched
    log_limit_bytes: int = 0  # of what is kept of each stream; 0: all
    account: str = ""  # under which it runs; empty: that of the server
    uid: int = -1
    gid: int = -1
    node: str = ""
    resources: dict[str, int] = {}  # noqa: RUF012 - what it was granted; never changed
    process_group: str = ""  # the cgroup that limits its processes
    process_limit: int = 0
    launched_ms: int = -1  # as in the order: another container of this name has another one

    def without_secrets(self) -> tuple["Launch", dict[str, str]]:
        """What may stay in a file, and the variables that may not: the container's alone."""
        secrets = {name: self.environment[name] for name in SECRETS if name in self.environment}
        kept = {name: value for name, value in self.environment.items() if name not in secrets}
        return self._replace(environment=kept), secrets

    def with_secrets(self, secrets: dict[str, str]) -> "Launch":
        """The opposite."""
        return self._replace(environment={**self.environment, **secrets})

    def encode(self) -> bytes:
        """The content of `launch.json`."""
        return json.dumps(self._asdict()).encode()

    @classmethod
    def decode(cls, value: dict[str, Any]) -> "Launch":
        """What `encode` wrote; raises KeyError, TypeError or ValueError for anything else."""
        groups = tuple(
            GroupPlan(path, tuple((file, text, needed) for file, text, needed in settings))
            for path, settings in value["groups"]
        )
        launch = cls(**{**value, "arguments": tuple(value["arguments"]), "groups": groups})
        if type(launch.container) is not int or type(launch.launched_ms) is not int:
            raise TypeError("container and launched_ms must be whole numbers")
        if not all(isinstance(group.path, str) for group in groups):
            raise TypeError("the path of a group must be a text")
        return launch

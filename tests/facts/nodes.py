"""Facts about nodes: how a container is held to what it was granted, and what a core is worth."""

from pathlib import Path
from unittest import mock

from fairshare.engines.local import enforcement
from fairshare.engines.local.enforcement import MEBIBYTE, WatchedMemory
from fairshare.engines.local.hierarchies import Hierarchies, Hierarchy
from fairshare.engines.local.limits import Limits
from fairshare.engines.local.machine import vcores_of

from .fact import Fact, expect


def node_enforcement(fact: Fact) -> None:
    """Whether a container runs, is killed, or is held to its vcores."""
    limit, uses = fact["limit"], fact["uses"]
    cpu = Hierarchy(2, Path("/group"))
    own = Limits(
        "f", Hierarchies(None, cpu, None), vcores=100, cpus=10, memory_check=True, strict_cpu=False
    ).container("c1", limit["memory-mb"], limit["vcores"])
    if own.memory_checked and _is_killed(limit["memory-mb"], uses["memory-mb"]):
        found = "killed"
    elif fact["node"] == "busy" and uses["vcores"] > _granted(own.groups[0].settings):
        found = "held to its vcores"
    else:
        found = "runs"
    expect(found, fact["expect"])


def _is_killed(limit_mb: int, used_mb: int) -> bool:
    """What the watcher says to processes that hold so much."""
    with mock.patch.object(enforcement, "processes") as measured:
        measured.resident_bytes.return_value = used_mb * MEBIBYTE
        measured.proportional_bytes.return_value = used_mb * MEBIBYTE
        return WatchedMemory(limit_mb * MEBIBYTE, 10).exceeded([1])


def _granted(settings: tuple[tuple[str, str, bool], ...]) -> int:
    """The vcores that a group's weight stands for, where all processors are wanted by all."""
    weights = {file: int(value) for file, value, _ in settings}
    file, of_one, _ = Hierarchy(2, Path("/group")).weight(1)[0]
    return weights[file] // int(of_one)


def vcores(fact: Fact) -> None:
    """How many vcores some cores are worth at 10 to a core."""
    expect(vcores_of(fact["cores"], 10), fact["vcores"])

"""The cgroup hierarchies of this machine: their locations, and which of them are usable.

Two versions exist, also both at once ("hybrid"). Groups are created below the server's own group,
so that its limits also apply to the containers; if that is impossible, below the nearest possible
ancestor. Foreign groups are never changed.
"""

import contextlib
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local import groups
from fairshare.engines.local.launch import GroupPlan

Setting = tuple[str, str, bool]

_V1_SHARES = (2, 262144)
_V2_WEIGHTS = (1, 10000)
_CONTROLLERS = ("memory", "cpu")
_PIDS = "pids"
DEVICES = "devices"
_SERVER = "fairshare-server"
NO_DEVICE = (195, 253)
"""A number of NVIDIA's driver that no device has."""


class Hierarchy:
    """One hierarchy, and the group in it below which the engine creates its groups."""

    def __init__(self, version: int, parent: Path) -> None:
        self.version = version
        self.parent = parent
        self.kind = f"cgroup-v{version}"

    def base(self, name: str) -> Path:
        """The parent group of the containers' groups."""
        return self.parent / name

    def make_base(self, name: str) -> None:
        """Create the base group, and delegate the same controllers as its parent. Raises
        OSError."""
        base = self.base(name)
        base.mkdir(mode=groups.MODE, exist_ok=True)
        if self.version == 2:
            for controller in _words(base / "cgroup.controllers"):
                if controller in _CONTROLLERS:
                    groups.write(f"{base}/cgroup.subtree_control", f"+{controller}")
                elif controller == _PIDS:
                    with contextlib.suppress(OSError):  # then processes are not limited
                        groups.write(f"{base}/cgroup.subtree_control", f"+{controller}")

    def processes(self, limit: int) -> list[Setting]:
        """The settings that limit processes and threads; the same in both versions."""
        return [("pids.max", str(limit), True)]

    def deny(self, devices: Sequence[tuple[int, int]]) -> list[Setting]:
        """The settings that forbid character devices, given by their numbers; of the first version
        only."""
        return [("devices.deny", f"c {major}:{minor} rwm", True) for major, minor in devices]

    def memory(self, limit_bytes: int) -> list[Setting]:
        """The settings that limit memory, including swap if the kernel accounts it."""
        limit = str(limit_bytes)
        if self.version == 1:
            return [
                ("memory.limit_in_bytes", limit, True),
                ("memory.memsw.limit_in_bytes", limit, False),
            ]
        return [
            ("memory.max", limit, True),
            ("memory.oom.group", "1", True),
            ("memory.swap.max", "0", False),
        ]

    def weight(self, vcores: int) -> list[Setting]:
        """The settings of the relative CPU weight, proportional to vcores."""
        if self.version == 1:
            return [("cpu.shares", str(_within(1024 * vcores, _V1_SHARES)), True)]
        return [("cpu.weight", str(_within(100 * vcores, _V2_WEIGHTS)), True)]

    def quota(self, processors: float, period_us: int) -> list[Setting]:
        """The settings of an absolute CPU limit, which also applies when others are idle."""
        quota_us = max(1000, round(processors * period_us))
        if self.version == 1:
            return [
                ("cpu.cfs_period_us", str(period_us), True),
                ("cpu.cfs_quota_us", str(quota_us), True),
            ]
        return [("cpu.max", f"{quota_us} {period_us}", True)]


class Hierarchies(NamedTuple):
    """The hierarchy for each purpose, None if none is usable, and the reasons."""

    memory: Hierarchy | None = None
    cpu: Hierarchy | None = None
    kill: Hierarchy | None = None
    notes: tuple[str, ...] = ()
    processes: Hierarchy | None = None

    @property
    def second(self) -> Hierarchy | None:
        """The one of the second version, if any purpose has it."""
        used = (self.memory, self.cpu, self.kill, self.processes)
        return next((one for one in used if one is not None and one.version == 2), None)


class Mounts(NamedTuple):
    """The server's group in each mounted hierarchy, followed by its ancestors. `v1` is by
    controller."""

    v2: tuple[Path, ...]
    v1: dict[str, tuple[Path, ...]]


def own_mounts() -> Mounts:
    """The groups of this process."""
    proc = Path("/proc/self")
    return read_mounts((proc / "mountinfo").read_text(), (proc / "cgroup").read_text())


def memory_limit_bytes(mounts: Mounts) -> int | None:
    """The smallest memory limit of these groups, which applies to the server; None without one."""
    files = [parent / "memory.max" for parent in mounts.v2]
    files += [parent / "memory.limit_in_bytes" for parent in mounts.v1.get("memory", ())]
    limits = [groups.read_number(str(file)) for file in files]
    return min((limit for limit in limits if limit is not None), default=None)


def read_mounts(mountinfo: str, own_groups: str) -> Mounts:
    """Parse the content of /proc/self/mountinfo and /proc/self/cgroup."""
    group_paths: dict[str, str] = {}
    for line in own_groups.splitlines():
        _, controllers, group = line.split(":", 2)
        for controller in controllers.split(","):
            group_paths[controller] = group  # the second version has no name: ""
    v2: tuple[Path, ...] = ()
    v1: dict[str, tuple[Path, ...]] = {}
    for line in mountinfo.splitlines():
        left, right = line.split(" - ", 1)
        root, top = (_unescape(field) for field in left.split()[3:5])
        kind, _, options = right.split()[:3]
        if kind == "cgroup2" and not v2:
            v2 = _candidates(Path(top), root, group_paths.get("", "/"))
        elif kind == "cgroup":
            for controller in options.split(","):
                if controller in group_paths and controller not in v1:
                    v1[controller] = _candidates(Path(top), root, group_paths[controller])
    return Mounts(v2, v1)


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)


def _candidates(top: Path, root: str, group: str) -> tuple[Path, ...]:
    """The path of the server's group in a mount that shows the hierarchy from `root` on, and its
    ancestors."""
    prefix = root.rstrip("/")
    inside = group.startswith(prefix + "/") or group == root
    own = top / group[len(prefix) :].lstrip("/") if inside else top
    return (own, *(place for place in own.parents if place.is_relative_to(top)))


def choose(name: str, mounts: Mounts) -> Hierarchies:
    """The usable hierarchies for groups below one named `name`, determined by trying.

    For each controller version 2 if it has it, otherwise version 1, otherwise none.
    """
    notes: list[str] = []
    second = _second_version(name, mounts.v2, notes)
    chosen: dict[str, Hierarchy] = {}
    for controller in _CONTROLLERS:
        if second and controller in _words(second.parent / "cgroup.subtree_control"):
            chosen[controller] = second
            continue
        for parent in mounts.v1.get(controller, ()):
            same = (known for known in chosen.values() if known.parent == parent)
            hierarchy = next(same, Hierarchy(1, parent))
            if usable(name, hierarchy, controller, notes):
                chosen[controller] = hierarchy
                break
        else:
            if controller not in mounts.v1 and not mounts.v2:
                notes.append(f"{controller}: no cgroup hierarchy is mounted")
    kill = second
    if kill is not None and not _can_kill(name, kill):
        kill = None
    complete = len(chosen) == len(_CONTROLLERS)
    return Hierarchies(
        chosen.get("memory"),
        chosen.get("cpu"),
        kill,
        () if complete else tuple(notes),
        _for_processes(name, second, mounts),
    )


def _for_processes(name: str, second: Hierarchy | None, mounts: Mounts) -> Hierarchy | None:
    candidates = [Hierarchy(1, parent) for parent in mounts.v1.get(_PIDS, ())]
    if second is not None:
        if second.parent == mounts.v2[0]:
            hand_down(second.parent, [], (_PIDS,))
        if _PIDS in _words(second.parent / "cgroup.subtree_control"):
            candidates.insert(0, second)
    return next((one for one in candidates if usable(name, one, _PIDS, [])), None)


def _second_version(name: str, parents: tuple[Path, ...], notes: list[str]) -> Hierarchy | None:
    """The usable candidate that delegates the most controllers."""
    best: tuple[int, Hierarchy] | None = None
    for index, parent in enumerate(parents):
        if index == 0:
            hand_down(parent, notes)
        count = len(set(_CONTROLLERS) & set(_words(parent / "cgroup.subtree_control")))
        hierarchy = Hierarchy(2, parent)
        if (best is None or count > best[0]) and usable(name, hierarchy, "", notes):
            best = (count, hierarchy)
    return best[1] if best else None


def hand_down(own: Path, notes: list[str], controllers: tuple[str, ...] = _CONTROLLERS) -> None:
    """Delegate the controllers of the server's group to its children, if it has no other process.

    A group that delegates controllers must not contain processes (a rule of version 2). If the
    server is the only process in it, it moves to a child group, as systemd expects of a service
    with a delegated group (`Delegate=yes`).
    """
    missing = set(controllers) & set(_words(own / "cgroup.controllers"))
    missing -= set(_words(own / "cgroup.subtree_control"))
    for controller in sorted(missing):
        try:
            groups.write(f"{own}/cgroup.subtree_control", f"+{controller}")
        except OSError as error:
            if groups.processes(str(own)) == [os.getpid()] and _move_below(own, controller):
                continue
            notes.append(
                f"{controller}: {own} does not hand it down ({error.strerror}); "
                "a group of the server's own is needed (systemd: Delegate=yes)"
            )


def _move_below(own: Path, controller: str) -> bool:
    server = own / _SERVER
    try:
        server.mkdir(mode=groups.MODE, exist_ok=True)
        groups.enter(str(server))
        groups.write(f"{own}/cgroup.subtree_control", f"+{controller}")
    except OSError:
        with contextlib.suppress(OSError):
            groups.enter(str(own))
            server.rmdir()
        return False
    return True


def usable(name: str, hierarchy: Hierarchy, controller: str, notes: list[str]) -> bool:
    """Whether a group with a limit can be created, set and entered there."""
    base = hierarchy.base(name)
    existed = base.is_dir()
    probe = base / f"probe-{os.getpid()}"
    controllers = (
        [controller] if controller else _words(hierarchy.parent / "cgroup.subtree_control")
    )
    settings: list[Setting] = []
    if "memory" in controllers:
        settings += hierarchy.memory(1 << 30)
    if "cpu" in controllers:
        settings += hierarchy.weight(1)
    if controller == _PIDS:
        settings += hierarchy.processes(1_000)
    if controller == DEVICES:
        settings += hierarchy.deny([NO_DEVICE])
    try:
        hierarchy.make_base(name)
        groups.create(GroupPlan(str(probe), tuple(settings)))
        _enter_by_another(probe)
    except OSError as error:
        what = f" ({controller})" if controller else ""
        notes.append(f"cannot use {hierarchy.parent}{what}: {error.strerror}")
        return False
    finally:
        groups.remove(str(probe))
        if not existed:
            groups.remove(str(base), patience_ms=0)
    return True


def _enter_by_another(path: Path) -> None:
    """Let a short-lived process enter a group; raises OSError if it is not permitted."""
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            '[ -e "$1/cgroup.procs" ] && echo 0 > "$1/cgroup.procs"',
            "sh",
            str(path),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        raise OSError(1, "a process may not enter a group that we made")


def _can_kill(name: str, hierarchy: Hierarchy) -> bool:
    base = hierarchy.base(name)
    existed = base.is_dir()
    try:
        base.mkdir(mode=groups.MODE, exist_ok=True)
        return (base / "cgroup.kill").exists()
    except OSError:
        return False
    finally:
        if not existed:
            groups.remove(str(base), patience_ms=0)


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _within(number: int, bounds: tuple[int, int]) -> int:
    return max(bounds[0], min(bounds[1], number))

"""Several "machines" on this one, for `fairshare node`: each has its network, processes, name,
accounts, /tmp, /etc/fairshare and /var/lib of its own, and they share homes, as machines of a lab
do. Nothing outside changes: all of it are namespaces, which end with their first process, and files
in one folder. Needs root.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fairshare.engines.local import groups
from fairshare.engines.local.state import StateDirectory
from fairshare.ray.agent import ROOTS_DIRECTORY

SOURCE = Path(__file__).parents[1]
USERS = {"ann": 4001, "bob": 4002}
NETWORK = "10.99.0"
AGENTS = str(ROOTS_DIRECTORY)
ENDS_WITH_US = ("setpriv", "--pdeathsig", "KILL")
TOOLS = ("setpriv", "ip", "ss", "unshare", "nsenter", "mount", "hostname", "timeout")
TRIAL = """
set -e
hostname trial
mount --make-rprivate /
mount -t tmpfs none /mnt
ip link add br0 type bridge
ip link add v1 type veth
"""

PREPARE = """
set -e
hostname {name}
mount --make-rprivate /
mount --bind {folder}/{name} /etc
mount -t tmpfs -o mode=755 none /mnt
{keep}
mount -t tmpfs -o mode=755 none /var/lib
mount -t tmpfs -o mode=755 none /run
mount --bind {folder}/home /home
mount -t tmpfs -o mode=1777 none /tmp
mount -t tmpfs -o mode=1777 none /dev/shm
{show}
echo ready
exec sleep infinity
"""
OWN = ("/dev/shm", "/home", "/mnt", "/run", "/tmp", "/var/lib")
"""What each host has of its own."""


def lacking() -> str:
    """Why there can be no hosts here; empty if there can."""
    if os.geteuid() != 0:
        return "only root can make namespaces"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        return f"there is no {missing[0]}"
    flags = ("--net", "--pid", "--mount", "--uts", "--ipc", "--fork")
    done = subprocess.run(
        ["unshare", *flags, "--mount-proc", "sh", "-c", TRIAL], capture_output=True, check=False
    )
    return "" if done.returncode == 0 else f"no namespaces: {done.stderr.decode().strip()}"


class Host:
    """One of them; `reboot` and `kill` end all its processes at once."""

    def __init__(self, hosts: "Hosts", name: str, number: int) -> None:
        self.name, self.address = name, f"{NETWORK}.{number}"
        self._hosts, self._number = hosts, number
        self.folder = hosts.folder / name  # /etc there, which a reboot leaves as it is
        self._init: subprocess.Popen[bytes] | None = None
        self.pid = 0  # of its first process

    def boot(self) -> None:
        """Begin, in the network."""
        keep, show = _shown()
        script = PREPARE.format(name=self.name, folder=self._hosts.folder, keep=keep, show=show)
        flags = ("--net", "--pid", "--mount", "--uts", "--ipc", "--fork", "--kill-child")
        self._init = subprocess.Popen(
            [*ENDS_WITH_US, "unshare", *flags, "--mount-proc", "sh", "-c", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        assert self._init.stdout is not None
        assert self._init.stdout.readline() == b"ready\n"
        self.pid = _first_child(self._init.pid)
        link = f"v{self._number}"
        switch = self._hosts.switch
        run("nsenter", "-t", str(switch), "-n", "ip", "link", "add", link, "type", "veth",
            "peer", "name", "eth0", "netns", str(self.pid))  # fmt: skip
        _in_network(switch, "link", "set", link, "master", "br0", "up")
        _in_network(self.pid, "addr", "add", f"{self.address}/24", "dev", "eth0")
        _in_network(self.pid, "link", "set", "eth0", "up")
        _in_network(self.pid, "link", "set", "lo", "up")

    def connect(self, connected: bool) -> None:
        """Put its cable in, or pull it."""
        where = "up" if connected else "down"
        _in_network(self._hosts.switch, "link", "set", f"v{self._number}", where)

    def kill(self) -> None:
        """End all its processes at once, as without power."""
        if self._init is not None:
            for folder in Path(f"/proc/{self.pid}/root{AGENTS}").glob("*"):
                self._hosts.agents.add(f"{AGENTS}/{folder.name}")
            self._init.kill()
            self._init.communicate()
            self._init = None

    def line(self, *words: str, user: str = "") -> list[str]:
        """A command line that runs there, as root or a user."""
        number = USERS.get(user, 0)
        who = ("setpriv", f"--reuid={number}", f"--regid={number}", "--clear-groups")
        identity = who if user else ()
        home = f"/home/{user}" if user else "/root"
        more = [f"{name}={text}" for name, text in self._hosts.variables.items()]
        variables = (
            "env",
            "-i",
            "-C",
            home if user else "/",
            f"HOME={home}",
            f"USER={user or 'root'}",
            f"PATH={PATH}",
            *more,
        )
        enter = ("nsenter", "-t", str(self.pid), "--net", "--pid", "--mount", "--uts", "--ipc")
        return [*enter, *identity, *variables, *words]

    def run(self, *words: str, user: str = "", **more: Any) -> "subprocess.CompletedProcess[str]":
        """Run a command there."""
        return subprocess.run(
            self.line(*words, user=user),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **more,
        )

    def fairshare(self, *words: str, user: str = "") -> str:
        """What fairshare prints there; it must not fail."""
        done = self.run(PYTHON, "-m", "fairshare", *words, user=user)
        assert done.returncode == 0, f"{self.name}: {words}: {done.stdout}{done.stderr}"
        return done.stdout


PYTHON = sys.executable
PATH = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"


class Hosts:
    """Hosts by their names, on one network, with one folder of homes."""

    def __init__(self, *names: str, variables: dict[str, str] | None = None) -> None:
        self.variables = variables or {}
        # Not in /tmp: each has its own.
        self.folder = Path(tempfile.mkdtemp(prefix="fairshare-hosts-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.agents: set[str] = set()  # their directories, whose groups outlive a host
        for user, number in USERS.items():
            home = self.folder / "home" / user
            home.mkdir(parents=True)
            home.chmod(0o700)
            os.chown(home, number, number)
        self._network = subprocess.Popen([*ENDS_WITH_US, "unshare", "--net", "sleep", "infinity"])
        self.switch = self._network.pid
        while (
            Path(f"/proc/{self.switch}/ns/net").readlink() == Path("/proc/self/ns/net").readlink()
        ):
            pass
        _in_network(self.switch, "link", "add", "br0", "type", "bridge")
        _in_network(self.switch, "link", "set", "br0", "up")
        self.all = [Host(self, name, number) for number, name in enumerate(names, 1)]
        known = "".join(f"{host.address} {host.name}\n" for host in self.all)
        for host in self.all:
            files = host.folder
            shutil.copytree("/etc", files, symlinks=True, ignore_dangling_symlinks=True)
            (files / "hosts").write_text(f"127.0.0.1 localhost\n{known}")
            with (files / "passwd").open("a") as accounts:
                accounts.write(_lines("{0}:x:{1}:{1}::/home/{0}:/bin/sh"))
            with (files / "group").open("a") as file:
                file.write(_lines("{0}:x:{1}:"))
            host.boot()

    def close(self) -> None:
        """End them all, and leave nothing behind."""
        for host in self.all:
            host.kill()
        self._network.kill()
        self._network.wait()
        for group in self._groups_of_agents():
            groups.remove(str(group))
        shutil.rmtree(self.folder)

    def _groups_of_agents(self) -> list[Path]:
        """The control groups that they have left behind, the inner ones first; other engines of
        this machine are left alone."""
        names = {StateDirectory(Path(path)).group_name for path in self.agents}
        bases = [path for path in Path("/sys/fs/cgroup").rglob("fairshare-*") if path.name in names]
        inner = [path for base in bases for path in base.iterdir() if path.is_dir()]
        return [*inner, *bases]


def run(*words: str) -> None:
    """Run a command; its words if it fails."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stderr}"


def _in_network(process: int, *words: str) -> None:
    run("nsenter", "-t", str(process), "-n", "ip", *words)


def _first_child(process: int) -> int:
    while True:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        if children:
            return int(children[0])


def _lines(form: str) -> str:
    return "".join(form.format(user, number) + "\n" for user, number in USERS.items())


def _shown() -> tuple[str, str]:
    """What keeps the interpreter and this checkout, and what shows them at their places to all
    accounts, where a host hides them or a directory above is closed to others."""
    keep, show, opened = [], [], dict[Path, None]()
    for number, path in enumerate((Path(sys.executable).resolve().parents[1], SOURCE.resolve())):
        closed: Sequence[Path] = [one for one in path.parents if not one.stat().st_mode & 0o001]
        if closed or any(path.is_relative_to(place) for place in OWN):
            keep.append(f"mkdir /mnt/{number}; mount --bind {path} /mnt/{number}")
            opened |= dict.fromkeys(closed[-1:])
            show.append(f"mkdir -p {path}; mount --bind /mnt/{number} {path}")
    empty = [f"mount -t tmpfs -o mode=755 none {path}" for path in opened]
    return "\n".join(keep), "\n".join([*empty, *show])

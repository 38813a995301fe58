"""A machine of its own for the commands of a page: accounts, files, network, processes.

All of it is in namespaces, and ends with them. Needs root.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

_HIDDEN = (Path("/home"), Path("/run"), Path("/var/lib"))
_ROOT = Path(__file__).parents[2]


def _reachable() -> bool:
    """Whether the new machine has this checkout, and all its accounts can read it."""
    places = (_ROOT, Path(sys.prefix), Path(sys.base_prefix))
    hidden = any(place.is_relative_to(one) for place in places for one in _HIDDEN)
    return not hidden and all(one.stat().st_mode & 0o001 for one in (_ROOT, *_ROOT.parents))


NEEDS = "needs root, for a machine of its own, and a checkout that all accounts can read"
POSSIBLE = (
    os.geteuid() == 0
    and all(map(shutil.which, ("unshare", "useradd", "runuser", "curl")))
    and _reachable()
)
_NAMESPACES = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
_UP = """
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 0x41))  # the loopback device
"""
_MACHINE = """
mount -t tmpfs tmpfs /run
mkdir /run/etc && cp -a /etc/. /run/etc && rm -rf /run/etc/fairshare
mount --bind /run/etc /etc
mount -t tmpfs tmpfs /home
mount -t tmpfs tmpfs /var/lib
export HOME=/home/root
mkdir "$HOME"
cd "$HOME"
"""
_WITHOUT_GPUS = """
mkdir /run/dev
for name in null zero full random urandom tty; do
  touch /run/dev/$name && mount --bind /dev/$name /run/dev/$name
done
ln -s /proc/self/fd /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /run/dev
mv /run/dev/0 /run/dev/stdin && mv /run/dev/1 /run/dev/stdout && mv /run/dev/2 /run/dev/stderr
mkdir /run/dev/pts /run/dev/shm && ln -s pts/ptmx /run/dev/ptmx
mount --bind /dev/pts /run/dev/pts && mount -t tmpfs tmpfs /run/dev/shm
mount --rbind /run/dev /dev
if [ -e /proc/driver/nvidia ]; then mount -t tmpfs tmpfs /proc/driver/nvidia; fi
"""
"""Where the real machine has GPUs of NVIDIA: the pages pretend to have others."""


def _opened(place: Path) -> str:
    """Lines that let other accounts reach a directory inside one that is closed to them."""
    parents = [one for one in place.parents if not one.stat().st_mode & 0o001]
    if not parents:
        return ""
    return f"""
mkdir /run/opened && mount --bind {place} /run/opened
mount -t tmpfs tmpfs {parents[-1]} && chmod 755 {parents[-1]}
mkdir -p {place} && mount --bind /run/opened {place}
"""


def run(script: str, timeout_s: float = 120) -> str:
    """What a script of bash prints on the new machine; it ends at the first line that fails."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    hidden = _WITHOUT_GPUS if next(Path("/dev").glob("nvidia*"), None) else ""
    opened = _opened(Path(sys.base_prefix))
    lines = ["set -e", f"python -c '{_UP}'", _MACHINE, hidden, opened, "set -x"]
    environment = {"PATH": path, "LANG": "C.UTF-8"}
    done = subprocess.run(
        [*_NAMESPACES, "bash", "-c", "\n".join([*lines, script])],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, done.stdout[-6_000:]
    return done.stdout


def as_account(name: str, lines: list[str]) -> str:
    """A line that runs lines as an account, in its home directory; each must succeed."""
    here = f"/home/{name}/.page"
    text = "\n".join(["set -ex", f"cd /home/{name}", *lines])
    return (
        f"cat > {here} <<'END OF THE LINES'\n{text}\nEND OF THE LINES\n"
        f'runuser -u {name} -- env HOME=/home/{name} USER={name} PATH="$PATH" bash {here}'
    )

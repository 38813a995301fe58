"""The first visit to a machine with nothing installed: `python -m tests.fresh_machine`.

It makes a root file system of Debian with python3, venv and make alone, puts a clone of the last
commit there, and lets a new account, in namespaces that end with it, type what the README says
(`make demo`, and the tests) and then the first tutorial. Needs root and debootstrap.

pip's settings of the caller are those of the new machine, so that it finds the same registry.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.docs.test_tutorials import lines_of

ROOT: Final = Path(__file__).parents[1]
PACKAGES: Final = "python3,python3-venv,make,ca-certificates"
HOME: Final = "/home/newcomer"
PATH: Final = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
PASSED_ON: Final = ("PIP_", "SSL_CERT_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
FILES: Final = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")

MACHINE: Final = """
set -e
mount --bind "$0" "$0"
mount -t proc proc "$0/proc"
mount -t tmpfs tmpfs "$0/tmp"
mount -t tmpfs -o mode=755 tmpfs "$0/dev"
for name in null zero full random urandom tty; do
  touch "$0/dev/$name" && mount --bind "/dev/$name" "$0/dev/$name"
done
mkdir "$0/dev/pts" "$0/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$0/dev/pts"
mount -t tmpfs tmpfs "$0/dev/shm"
ln -s pts/ptmx "$0/dev/ptmx"
ln -s /proc/self/fd "$0/dev/fd"
for name in stdin:0 stdout:1 stderr:2; do
  ln -s "/proc/self/fd/${name#*:}" "$0/dev/${name%:*}"
done
chroot --userspec=1000:1000 --groups= "$0" /usr/bin/env -i "$@"
"""


class Machine:
    """A root file system, and a new account in it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        for file in FILES:
            if Path(file).is_file():
                shutil.copy(file, place / file[1:])
        if certificates := os.environ.get("PIP_CERT"):
            target = place / certificates.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(certificates, target)
        home = place / HOME[1:]
        home.mkdir(parents=True)
        for file, line in (
            ("passwd", f"newcomer:x:1000:1000::{HOME}:/bin/sh"),
            ("group", "newcomer:x:1000:"),
        ):
            with (place / "etc" / file).open("a") as accounts:
                accounts.write(f"{line}\n")
        clone = ["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(home / "fairshare")]
        subprocess.run(clone, check=True)
        subprocess.run(["chown", "-R", "1000:1000", str(home)], check=True)

    def types(self, what: str, *lines: str) -> bool:
        """Whether lines go well that the account types in the checkout, up to the first failure."""
        script = "\n".join(["set -e", f"cd {HOME}/fairshare", *lines])
        passed = [f"{k}={v}" for k, v in os.environ.items() if k.startswith(PASSED_ON)]
        words = [f"HOME={HOME}", "USER=newcomer", f"PATH={PATH}", "LANG=C.UTF-8", *passed]
        spaces = ["unshare", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child"]
        began_s = time.monotonic()
        done = subprocess.run(
            [*spaces, "sh", "-c", MACHINE, str(self.place), *words, "sh", "-c", script],
            stdin=subprocess.DEVNULL,
        )
        took_s = time.monotonic() - began_s
        mark = "✗" if done.returncode else "✓"
        print(f"{mark} {what}: {took_s:.0f} s", flush=True)
        return not done.returncode


def main() -> int:
    """Make the machine, and visit it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fresh_machine", description=__doc__)
    parser.add_argument(
        "--root",
        type=Path,
        help="a root file system with python3, venv and make, of any distribution, which this"
        " changes: give it a copy",
    )
    parser.add_argument("--full", action="store_true", help="`make test` in place of `make quick`")
    arguments = parser.parse_args()
    if os.geteuid() or not all(map(shutil.which, ("unshare", "chroot", "git"))):
        print("Skipped: this needs root, unshare, chroot and git.")
        return 0
    if arguments.root is None and not shutil.which("debootstrap"):
        print("Skipped: install debootstrap, or name a root file system with --root.")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    with tempfile.TemporaryDirectory() as folder:
        place = arguments.root or Path(folder) / "root"
        if arguments.root is None:
            began_s = time.monotonic()
            command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "stable"]
            subprocess.run([*command, str(place)], check=True, stdout=subprocess.DEVNULL)
            print(f"✓ debootstrap: {time.monotonic() - began_s:.0f} s", flush=True)
        machine = Machine(place.resolve())
        tests = "make test" if arguments.full else "make quick"
        activated = ". .venv/bin/activate"
        went_well = [
            machine.types("make demo", "make demo"),
            machine.types("the first tutorial", activated, "set -x", "cd", *lines_of("first-hour")),
            machine.types(tests, tests),
        ]
        return int(not all(went_well))


if __name__ == "__main__":
    sys.exit(main())

"""Builds both images of examples/deploy and uses them: `python -m tests.image [--base IMAGE]`.

The server of one account runs work as this account, ends in order, and finds its history again; the
server of a lab runs a user's work under the user's account. Needs root and podman; what else podman
needs on a machine (a runtime, limits) is said in its own files.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.hadoop.configuration import free_ports

ROOT: Final = Path(__file__).parents[1]
NAME: Final = f"fairshare-try-{secrets.token_hex(4)}"
ACCOUNTS: Final = "root:x:0:0::/root:/bin/sh\nann:x:12345:12345::/home/ann:/bin/sh\n"
ALLOCATIONS: Final = "<allocations><queue name='lab'/></allocations>"


def podman(*words: str | Path, check: bool = True) -> str:
    """What podman prints."""
    done = subprocess.run(
        ["podman", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT
    )
    if check and done.returncode:
        raise SystemExit(f"✗ podman {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(base: str, tag: str, *words: str) -> None:
    """Build an image, with pip's settings of this machine."""
    settings = ("/etc/pip.conf", os.environ.get("PIP_CERT", ""))
    mounts = [f"--volume={file}:{file}:ro" for file in settings if file and Path(file).is_file()]
    file = ROOT / "examples" / "deploy" / "Containerfile"
    base_of = f"--build-arg=BASE={base}"
    podman("build", "--network=host", *mounts, base_of, f"--tag={tag}", "--file", file, *words, ".")


def logs_of(name: str) -> str:
    """What a server wrote."""
    return subprocess.run(
        ["podman", "logs", name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ).stdout


@contextmanager
def running(image: str, name: str, *options: str | Path) -> Iterator[str]:
    """The name of a container of an image whose server answers."""
    podman("run", "--detach", f"--name={name}", "--network=host", *options, image)
    try:
        for _ in range(60):
            if podman("exec", name, "fairshare", "queues", check=False):
                break
            time.sleep(0.5)
        else:
            raise SystemExit(f"✗ the server of {image} does not answer\n{logs_of(name)}")
        yield name
    finally:
        podman("rm", "--force", "--time=20", name, check=False)


def one_account(image: str, folder: Path) -> None:
    """Work runs as the account of the server, and a second server knows it."""
    conf = folder / "one"
    conf.mkdir(parents=True)
    (port,) = free_ports(1)
    toml = f"[server]\nport = {port}\n[engine]\nmemory_mb = 1024\nvcores = 2\n"
    (conf / "fairshare.toml").write_text(toml)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    volumes = (f"--volume={conf}:/etc/fairshare:ro", f"--volume={NAME}:/var/lib/fairshare")
    place = f"--env=FAIRSHARE_URL=http://127.0.0.1:{port}"
    for life in range(2):
        with running(image, f"{NAME}-one", *volumes, place) as name:
            if not life:
                submit = ("submit", "--queue=lab", "--wait", "--", "id", "-un")
                podman("exec", name, "fairshare", *submit)
                printed = podman("exec", name, "fairshare", "logs", "1")
                assert printed == "fairshare\n", printed
            else:
                assert "FINISHED" in podman("exec", name, "fairshare", "history")
            assert podman("exec", name, "id", "-un") == "fairshare\n"
            podman("stop", "--time=20", name)
            code = podman("inspect", "--format={{.State.ExitCode}}", name).strip()
            assert code == "0", f"exit code {code}\n{logs_of(name)}"
    print("✓ an account of its own runs the server and the work; a second server has the history")


def lab(image: str, folder: Path) -> None:
    """A user's work runs under the user's account."""
    conf, accounts = folder / "lab", folder / "passwd"
    conf.mkdir()
    accounts.write_text(ACCOUNTS)
    (port,) = free_ports(1)
    volumes = (f"--volume={conf}:/etc/fairshare", f"--volume={accounts}:/etc/passwd:ro")
    init = ("init", "--users=ann", "--memory=1g", "--vcores=2", f"--port={port}")
    podman("run", "--rm", "--network=host", *volumes, image, *init)
    with running(image, f"{NAME}-lab", *volumes) as name:
        as_ann = ("exec", "--user=12345:12345", "--workdir=/tmp", name, "fairshare")
        printed = podman(*as_ann, "run", "--", "id", "-u")
        assert printed == "12345\n", printed
        assert podman("exec", name, "id", "-u") == "0\n"
    print("✓ a server of root runs a user's work under the user's account")


def main() -> None:
    """Build and use both."""
    parser = argparse.ArgumentParser(prog="python -m tests.image", description=__doc__)
    parser.add_argument("--base", default="docker.io/library/python:3.11-slim")
    arguments = parser.parse_args()
    if os.geteuid() or not shutil.which("podman"):
        print("Skipped: this needs root and podman.")
        return
    tags = (f"localhost/{NAME}:one", f"localhost/{NAME}:lab")
    with TemporaryDirectory() as folder:
        try:
            build(arguments.base, tags[0])
            build(arguments.base, tags[1], "--target=lab")
            one_account(tags[0], Path(folder))
            lab(tags[1], Path(folder))
        finally:
            podman("rmi", "--force", *tags, check=False)
            podman("volume", "rm", "--force", NAME, check=False)


if __name__ == "__main__":
    main()

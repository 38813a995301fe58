"""Commands in container images: by a pretended podman, and by the real one where it works."""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.forked import fairshare
from tests.served import until

from .test_server import ALLOCATIONS, YARN_SITE, Server

PATIENCE_S = 60.0
PRETENDED = Path(__file__).parents[1] / "pretended_podman.py"
IMAGE = "localhost/fairshare-test:1"


def started(folder: Path, program: str, *options: str) -> Server:
    conf = folder / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    (conf / "fairshare.toml").write_text(
        f"[engine]\nimage_program = {json.dumps(program)}\n"
        + (f"image_options = {json.dumps(options)}\n" if options else "")
    )
    return Server(conf, folder / "state", "--port", "0")


def ended(server: Server) -> None:
    with contextlib.suppress(Exception):
        server.post("/shutdown", json={"stop_containers": True})
    server.wait()


class Shell:
    """Calls `fairshare` in a directory."""

    def __init__(self, server: Server, folder: Path, calls: Path | None = None) -> None:
        self.server, self.folder, self._calls = server, folder, calls

    def submit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return fairshare(
            *("submit", "--queue", "a", "--memory", "64m", *arguments),
            cwd=self.folder,
            env={**os.environ, "FAIRSHARE_URL": self.server.url, "LANG": "C.UTF-8"},
        )

    def printed(self, *arguments: str) -> str:
        done = self.submit("--wait", *arguments)
        assert done.returncode == 0, done.stderr
        (container,) = self.server.containers(done.stdout.strip())
        return self.server.log(container["id"])

    @property
    def calls(self) -> list[dict]:
        assert self._calls is not None
        return [json.loads(line) for line in self._calls.read_text().splitlines()]


@pytest.fixture(scope="module")
def pretended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("images")
    program = folder / "podman"
    shutil.copy(PRETENDED, program)
    program.chmod(0o755)
    server = started(folder, str(program))
    yield server, folder / "calls"
    ended(server)


@pytest.fixture
def shell(pretended, tmp_path):
    server, calls = pretended
    calls.unlink(missing_ok=True)
    return Shell(server, tmp_path, calls)


def test_a_command_in_an_image_sees_its_directory_its_mounts_and_its_own_variables(shell, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    words = shell.printed(
        *("--image", "python:3.12", "--mount", "data:/d:ro", "--env", "MODE=fast"),
        *("--", "sh", "-c", "pwd; echo $MODE $FAIRSHARE_TASK_INDEX $LANG."),
    )
    assert words == f"{tmp_path}\nfast 0 .\n"
    run, removed = shell.calls
    assert (run["image"], run["workdir"], run["network"]) == ("python:3.12", str(tmp_path), "host")
    assert f"{tmp_path}:{tmp_path}" in run["volume"]
    assert f"{data}:/d:ro" in run["volume"]
    assert run["memory"] == run["memory_swap"] == "64m"
    assert "MODE" in run["env"]
    assert (removed["verb"], removed["name"]) == ("rm", run["name"])


def test_input_is_passed_into_an_image(shell, tmp_path):
    (tmp_path / "in.txt").write_text("hello")
    words = shell.printed("--input", "in.txt", "--image", "python:3.12", "--", "cat")
    assert words == "hello"
    assert shell.calls[0]["interactive"]


def test_an_image_that_does_not_exist_fails_the_application_at_once(shell):
    done = shell.submit("--wait", "--image", "missing", "--", "true")
    assert done.returncode == 125
    assert "cannot start (exit code 125), and was not tried again" in done.stderr
    assert "podman cannot run this in the image missing" in done.stderr
    assert "Error: missing: image not known" in done.stderr


def test_the_first_process_in_an_image_is_the_one_that_gets_the_signal(shell, tmp_path):
    line = "trap 'echo saved > saved; exit 0' TERM; touch up; while :; do sleep 0.05; done"
    done = shell.submit("--image", "python:3.12", "--", "sh", "-c", line)
    name = done.stdout.strip()
    until((tmp_path / "up").exists)
    assert shell.server.post(f"/applications/{name}/kill").status_code == 200
    until((tmp_path / "saved").exists)
    until(lambda: shell.calls[-1]["verb"] == "rm")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--image", "--privileged"), "is not the name of an image"),
        (("--mount", "/data"), "--mount cannot be given here: it has a meaning with --image only"),
        (("--image", "x", "--mount", "/a:b"), "'b' is not an absolute path"),
        (("--image", "x", "--venv", "."), "an image has a Python of its own"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_submitted(shell, options, words):
    done = shell.submit(*options, "--", "true")
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


def test_a_server_without_a_program_for_images_refuses_them_by_name(tmp_path):
    server = started(tmp_path, "none")
    try:
        done = Shell(server, tmp_path).submit("--image", "python:3.12", "--", "true")
    finally:
        ended(server)
    assert done.returncode == 1
    assert "this server runs no images (image_program in [engine])" in done.stderr


# The real podman.

OPTIONS = (
    (),
    ("--runtime", "runc", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"),
)
"""What podman may need here; the second for machines without the rights to raise limits."""


def podman(*arguments: str, **more) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["podman", *arguments], capture_output=True, text=True, timeout=PATIENCE_S, **more
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A server that uses the real podman, with an image of one static program."""
    folder = tmp_path_factory.mktemp("podman")
    shells = [path for path in ("/bin/busybox", "/usr/bin/busybox") if Path(path).exists()]
    if shutil.which("podman") is None or not shells:
        pytest.skip("there is no podman with busybox, of which an image is made")
    root = folder / "root"
    (root / "bin").mkdir(parents=True)
    shutil.copy(shells[0], root / "bin" / "busybox")
    for name in ("sh", "cat", "sleep", "ls", "true"):
        (root / "bin" / name).symlink_to("busybox")
    subprocess.run(["tar", "-C", root, "-cf", folder / "root.tar", "."], check=True)
    done = podman("import", str(folder / "root.tar"), IMAGE)
    options: tuple[str, ...] | None = None
    for one in OPTIONS:
        done = podman("run", "--rm", "--network", "host", *one, IMAGE, "true")
        if done.returncode == 0:
            options = one
            break
    if options is None:
        podman("rmi", "--force", IMAGE)
        pytest.skip(f"podman cannot run an image here: {done.stderr.strip()[-200:]}")
    server = started(folder, "podman", *options)
    yield server
    ended(server)
    podman("rmi", "--force", IMAGE)


def test_podman_runs_a_command_in_an_image_and_leaves_nothing(real, tmp_path):
    shell = Shell(real, tmp_path)
    (tmp_path / "in.txt").write_text("hello")
    options = ("--image", IMAGE, "--mount", "in.txt:/mounted:ro", "--output", "out.txt")
    done = shell.submit("--wait", *options, "--", "sh", "-c", "ls /; cat /mounted; exit 0")
    assert done.returncode == 0, done.stderr
    assert "mounted" in (tmp_path / "out.txt").read_text()
    assert (tmp_path / "out.txt").read_text().endswith("hello")
    assert "fairshare-container" not in podman("ps", "--all", "--format", "{{.Names}}").stdout


def test_podmans_containers_are_held_to_their_memory(real, tmp_path):
    shell = Shell(real, tmp_path)
    line = "x=aaaaaaaa; while :; do x=$x$x; done"
    done = shell.submit("--wait", "--max-attempts", "1", "--image", IMAGE, "--", "sh", "-c", line)
    assert done.returncode == 137
    assert "killed: used" in done.stderr or "exit code 137" in done.stderr
    assert "fairshare-container" not in podman("ps", "--all", "--format", "{{.Names}}").stdout

"""What opens something stands nowhere but where it belongs: searched for in the whole state
directory, in the arguments of all processes, and in what the server answers."""

import os
import signal
from pathlib import Path

import httpx
import pytest

from .test_access import conf, fairshare  # noqa: F401 - conf is a fixture
from .test_server import SMALL, Server

PRINT_WHEN_TOLD = 'printf %s "$FAIRSHARE_TOKEN" | sha256sum; sleep 60'


def holders_of(secret, folder):
    """The files below a folder that hold a text."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and secret.encode() in path.read_bytes()
    ]


def arguments_of_all():
    """What `ps` shows of every process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_bytes())
            except OSError:  # it has ended meanwhile
                continue
    return b"\n".join(found)


def environments_with(secret):
    """The processes in whose environment a text stands."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and entry.name != str(os.getpid()):
            try:
                if secret.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.fixture
def serving(conf, tmp_path):  # noqa: F811
    (conf / "fairshare.toml").write_text(
        '[authentication]\ntokens = true\nproxies = ["127.0.0.2"]\n'
    )
    state = tmp_path / "state"
    made = fairshare("admin", "token", "create", "ann", "--state", state)
    server = Server(conf, state, "--port", "0")
    yield server, state, made.stdout.strip()
    server.end()


def test_tokens_are_only_in_their_files_and_environments(serving):
    server, state, token = serving
    secret = token.split("_", 2)[2]
    reported = []
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False
    ) as http:
        driver = {"command": PRINT_WHEN_TOLD}
        body = {"queue": "a", "driver": driver, "master": {"resources": SMALL}}
        name = http.post("/api/v1/applications", json=body).json()["id"]
        other = {"queue": "b", "tasks": [{"command": "sleep 60", "resources": SMALL}]}
        http.post("/api/v1/applications", json=other)
        container = ""
        version = 0
        while not container or not http.get(f"/api/v1/containers/{container}/logs/stdout").content:
            live = http.get(f"/api/v1/applications/{name}/containers").json()["containers"]
            container = live[0]["id"] if live else ""
            path = f"/api/v1/changes?since={version}&timeout=0.2"
            version = http.get(path).json()["version"]
        # What is refused, wrong, or odd is not repeated with what came with it.
        for path in (
            *("/api/v1/applications", f"/api/v1/applications/{name}", "/api/v1/nodes"),
            *(f"/api/v1/applications/{name}/containers", "/api/v1/cluster", "/api/v1/nothing"),
            *("/ws/v1/cluster/apps", f"/ws/v1/cluster/apps/{name}", "/ws/v1/cluster/nothing"),
            *(f"/ws/v1/cluster/apps?user.name={token}", f"/api/v1/applications?state={'x'}"),
        ):
            reported.append(http.get(path).text)
        wrong = {"Authorization": f"Bearer {token}x", "Cookie": f"hadoop.auth={token}"}
        reported.append(http.get("/api/v1/cluster", headers=wrong).text)
        reported.append(http.post(f"/api/v1/applications/{name}/register", json={"a": 1}).text)
    # The driver's own token, as the driver alone has it.
    (pid,) = [
        pid
        for pid in environments_with("FAIRSHARE_TOKEN=")
        if f"FAIRSHARE_APPLICATION_ID={name}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        and Path(f"/proc/{pid}/comm").read_text().strip() == "sh"
    ]
    environment = dict(
        entry.partition(b"=")[::2]
        for entry in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    )
    of_driver = environment[b"FAIRSHARE_TOKEN"].decode()
    assert of_driver.startswith("fsd_1_")
    assert len(of_driver) == len("fsd_1_") + 43
    assert holders_of(secret, state) == []
    assert holders_of(of_driver, state) == []
    for text in reported:
        assert of_driver not in text
        if f"user {token}" not in text and "impersonate" not in text:
            assert secret not in text
    arguments = arguments_of_all()
    assert of_driver.encode() not in arguments
    assert secret.encode() not in arguments
    # Nobody has it but the driver and what it has started itself.
    for found in environments_with(of_driver):
        assert (
            f"FAIRSHARE_APPLICATION_ID={name}".encode()
            in Path(f"/proc/{found}/environ").read_bytes()
        )
    assert environments_with(secret) == []


def test_after_a_crash_nothing_is_left_of_them_either(serving, conf):  # noqa: F811
    server, state, token = serving
    with httpx.Client(
        base_url=server.url, headers={"Authorization": f"Bearer {token}"}, trust_env=False
    ) as http:
        body = {"queue": "a", "tasks": [{"command": "true", "resources": SMALL}]}
        http.post("/api/v1/applications", json=body)
    server.process.send_signal(signal.SIGKILL)
    server.process.wait()
    assert holders_of(token.split("_", 2)[2], state) == []

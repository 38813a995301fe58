"""Where the agents are root, containers on Ray's nodes run under the accounts of their users, who
enter them as on one machine.
"""

import os
import pwd
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
import pytest
from tests import forked
from tests.e2e.screens import Screen
from tests.ray_cluster.conftest import Cluster, Server, signal_process, wait

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch accounts")
TOKENS = "[authentication]\ntokens = true\n"


@pytest.fixture(scope="module")
def shared():
    """A folder that all accounts may pass through."""
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.fixture(scope="module")
def cluster(shared):
    token = shared / "token"
    token.touch(0o600)
    token.write_text(secrets.token_hex(32))
    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
    made = Cluster(shared, 2, environment=variables)
    yield made
    made.stop()


class Users(Server):
    """A server that takes tokens, of users with accounts."""

    def token(self, user: str) -> str:
        """A token of a user."""
        administers = ("--admin",) if user == "root" else ()
        words = ("admin", "token", "create", user, *administers, "--state", self.state)
        return forked.fairshare(*words).stdout.strip()

    def stop(self) -> None:
        """End it with its containers and agents."""
        with self.client("root") as http:
            http.post("/shutdown", json={"stop_containers": True})
        self.process.communicate(timeout=90)

    def client(self, user: str) -> httpx.Client:
        """Calls of a user."""
        headers = {"Authorization": f"Bearer {self.tokens[user]}"}
        base = f"{self.url}/api/v1"
        return httpx.Client(base_url=base, headers=headers, trust_env=False, timeout=20)

    def begin(self, user: str, **task):
        """Submit a task; the name of the application."""
        group = {"resources": {"memory-mb": 128, "vcores": 1}, "max_attempts": 1, **task}
        with self.client(user) as http:
            answer = http.post("/applications", json={"queue": "root.one", "tasks": [group]})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def container(self, user: str, application: str, *, ended: bool):
        """The only container of an application, once it runs or has ended."""

        def found():
            with self.client(user) as http:
                listed = http.get(f"/applications/{application}/containers").json()["containers"]
            state = "COMPLETE" if ended else "RUNNING"
            return [one for one in listed if one["state"] == state]

        (container,) = wait(found, f"a container of {application}")
        return container

    def log(self, user: str, container) -> str:
        """What a container printed."""
        with self.client(user) as http:
            return http.get(f"/containers/{container['id']}/logs/stdout").text

    def typed(self, user: str, *words: str, **more):
        """What the command line does for a user."""
        command = [sys.executable, "-m", "fairshare", *words]
        return subprocess.run(command, env=self.variables(user), capture_output=True, **more)

    def variables(self, user: str) -> dict[str, str]:
        """The environment of a user's shell."""
        known = {"FAIRSHARE_URL": self.url, "FAIRSHARE_TOKEN": self.tokens[user]}
        return {**os.environ, **known}


@pytest.fixture(scope="module")
def server(shared, cluster):
    ray = f'token_file = "{shared}/token"\n'
    made = Users(shared, cluster, 'run_as = "user"\n', ray, TOKENS)
    made.tokens = {user: made.token(user) for user in ("daemon", "nobody", "root", "absent")}
    made.start()
    with made.client("root") as http:
        wait(lambda: len(http.get("/nodes").json()["nodes"]) == 2, "two nodes")
    yield made
    made.stop()


def test_a_container_has_account_home_and_directory_of_its_user(server, shared):
    home = shared / "home"
    home.mkdir()
    os.chown(home, pwd.getpwnam("daemon").pw_uid, -1)
    task = {
        "command": 'id -un; echo "$USER $HOME"; pwd; touch made',
        "directory": str(home),
        "output": str(home / "printed"),
    }
    container = server.container("daemon", server.begin("daemon", **task), ended=True)
    assert container["exit_code"] == 0, container
    account = pwd.getpwnam("daemon")
    lines = (home / "printed").read_text().splitlines()
    assert lines == ["daemon", f"daemon {account.pw_dir}", str(home)]
    owners = {file.name: file.stat().st_uid for file in home.iterdir()}
    assert owners == dict.fromkeys(("made", "printed"), account.pw_uid)
    assert server.log("daemon", container).splitlines() == lines


def test_an_account_that_a_node_has_not_is_named(server):
    container = server.container("absent", server.begin("absent", command="true"), ended=True)
    assert container["exit_code"] == 126
    assert "there is no account 'absent' on" in container["diagnostics"]


def test_nothing_runs_as_root(server):
    with server.client("root") as http:
        group = {"command": "true", "resources": {"memory-mb": 128, "vcores": 1}}
        refused = http.post("/applications", json={"queue": "root.one", "tasks": [group]})
    assert refused.json()["code"] == "no-account"
    assert "'root' is root here" in refused.json()["message"]


def test_the_time_limit_of_a_running_container_changes(server):
    application = server.begin("daemon", command="sleep 300")
    server.container("daemon", application, ended=False)
    done = server.typed("daemon", "update", application, "--time-limit", "1s")
    assert done.returncode == 0, done.stderr
    container = server.container("daemon", application, ended=True)
    assert "time limit of 1 s" in container["diagnostics"]


@pytest.fixture
def sleeping(server):
    """The name of a running container of an account, which waits."""
    application = server.begin("daemon", command="sleep 300", environment={"COLOUR": "red"})
    yield server.container("daemon", application, ended=False)["id"]
    with server.client("daemon") as http:
        http.post(f"/applications/{application}/kill")


def test_a_command_in_a_container_has_its_account_and_all_bytes_pass(server, sleeping):
    content = os.urandom(3_000_000)
    script = 'id -un >&2; echo "$COLOUR" >&2; cat; exit 7'
    done = server.typed("daemon", "exec", sleeping, "--", "sh", "-c", script, input=content)
    assert done.returncode == 7
    assert done.stderr.decode().splitlines() == ["daemon", "red"]
    assert done.stdout == content


def test_others_enter_no_container(server, sleeping):
    done = server.typed("nobody", "exec", sleeping, "id", input=b"")
    assert done.returncode != 0
    assert b"this application is daemon's: only its owner" in done.stderr


def test_a_command_ends_with_the_connection_and_the_container_goes_on(server, sleeping, shared):
    command = [sys.executable, "-m", "fairshare", "exec", sleeping, "--", "sh", "-c"]
    followed = subprocess.Popen(
        [*command, "echo $$; exec sleep 300"],
        env=server.variables("daemon"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    process = Path("/proc") / followed.stdout.readline().decode().strip()
    followed.kill()
    followed.communicate()
    wait(lambda: not process.exists(), "the end of the command")
    again = server.typed("daemon", "exec", sleeping, "echo", "here", stdin=subprocess.DEVNULL)
    assert again.stdout == b"here\n"


def test_a_driver_that_ends_ends_the_connection_alone(server, sleeping):
    followed = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "fairshare",
            "exec",
            sleeping,
            "--",
            "sh",
            "-c",
            "echo on; sleep 99",
        ],
        env=server.variables("daemon"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert followed.stdout.readline() == b"on\n"
    signal_process(server.driver(), signal.SIGKILL)
    followed.communicate(timeout=30)
    assert followed.returncode != 0

    def answers():
        done = server.typed("daemon", "exec", sleeping, "echo", "on", stdin=subprocess.DEVNULL)
        return done.stdout == b"on\n"

    wait(answers, "the next driver")


def test_a_shell_runs_under_the_account_on_a_terminal_and_is_attached_to_again(server):
    words = ("shell", "--queue", "root.one", "--memory", "128m", "--", "sh", "-c")
    variables = server.variables("daemon")
    window = Screen((*words, "id -un; tty; read line; echo got $line; sleep 60"), variables)
    try:
        window.until("daemon")
        window.until("/dev/pts/")
        window.type("wor''d\r")
        window.until("got wor''d")
    finally:
        window.close()
    with server.client("daemon") as http:
        application = http.get("/applications?state=RUNNING").json()["applications"][-1]["id"]
    window = Screen(("attach", application), variables)
    try:
        window.until("got wor''d")
    finally:
        window.close()
        with server.client("daemon") as http:
            http.post(f"/applications/{application}/kill")

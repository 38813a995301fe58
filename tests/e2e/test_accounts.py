"""Containers under the account of who submitted them: his rights, his groups, and nobody else's."""

import itertools
import os
import pwd
import resource
import shutil
import stat
import sys
import tempfile
from pathlib import Path

import httpx
import pytest
from tests.served import until

from fairshare.engines.local.directories import ContainerDirectory

from .test_access import fairshare
from .test_server import ALLOCATIONS, SMALL, YARN_SITE, Server

USERS = ("daemon", "nobody")


def missing():
    """Why these tests cannot run here; empty if they can."""
    if os.geteuid() != 0:
        return "only root can switch to another account"
    known = {entry.pw_name for entry in pwd.getpwall()}
    lacking = [user for user in USERS if user not in known]
    return f"there is no account {lacking[0]}" if lacking else ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")


@pytest.fixture(scope="module")
def folder():
    """A folder that others may pass through, as /var/lib is: pytest's own are closed."""
    path = Path(tempfile.mkdtemp(prefix="fairshare-accounts-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


class Cluster:
    """A server whose containers run under the accounts of users."""

    def __init__(self, folder, settings="", engine=""):
        conf = folder / "conf"
        conf.mkdir()
        (conf / "yarn-site.xml").write_text(YARN_SITE)
        (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
        (conf / "fairshare.toml").write_text(
            f'[authentication]\ntokens = true\n{settings}[engine]\nrun_as = "user"\n{engine}'
        )
        self.state = folder / "state"
        self.tokens = {
            user: fairshare("admin", "token", "create", user, "--state", self.state).stdout.strip()
            for user in (*USERS, "root", "who-is-this")
        }
        self.server = Server(conf, self.state, "--port", "0")

    def client(self, user):
        return httpx.Client(
            base_url=self.server.url + "/api/v1",
            headers={"Authorization": f"Bearer {self.tokens[user]}"},
            trust_env=False,
        )

    def submit(self, http, **task):
        body = {"queue": "a", "tasks": [{"resources": SMALL, "max_attempts": 1, **task}]}
        answer = http.post("/applications", json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def ended(self, http, name):
        """The only container of an application, once it has ended."""
        version = 0
        for _ in range(100):
            found = http.get(f"/applications/{name}/containers").json()["containers"]
            if found and found[0]["exit_code"] is not None:
                return found[0]
            version = http.get(f"/changes?since={version}&timeout=1").json()["version"]
        raise AssertionError(f"{name} has not ended: {found}")

    def run(self, user, **task):
        """What a container printed, and how it ended."""
        with self.client(user) as http:
            ended = self.ended(http, self.submit(http, **task))
            return ended, http.get(f"/containers/{ended['id']}/logs/stdout").text

    def files(self, container):
        application = "_".join(["application", *container["id"].split("_")[1:3]])
        return ContainerDirectory(self.state / "containers" / application / container["id"])


@pytest.fixture(scope="module")
def cluster(folder):
    cluster = Cluster(folder)
    yield cluster
    cluster.server.end()


def test_a_container_has_the_account_the_groups_and_the_home_of_its_user(cluster):
    command = (
        'id -u; id -g; id -G; echo "$USER $HOME"; pwd; umask; touch made; echo x >> /dev/stdout'
    )
    ended, printed = cluster.run("daemon", command=command)
    assert ended["exit_code"] == 0, ended["diagnostics"]
    found = pwd.getpwnam("daemon")
    groups = " ".join(map(str, os.getgrouplist("daemon", found.pw_gid)))
    directory = cluster.files(ended)
    assert printed.splitlines() == [
        *(str(found.pw_uid), str(found.pw_gid), groups),
        *(f"daemon {found.pw_dir}", str(directory.work), "0022", "x"),
    ]
    work = directory.work.stat()
    assert (work.st_uid, stat.S_IMODE(work.st_mode)) == (found.pw_uid, 0o700)
    assert (directory.work / "made").stat().st_uid == found.pw_uid


def test_what_belongs_to_the_server_or_to_others_is_closed_to_it(cluster):
    ended, _ = cluster.run("daemon", command="echo secret > kept; true")
    kept = cluster.files(ended).work / "kept"
    state = cluster.state
    names = sorted(entry.name for entry in state.iterdir() if entry.name != "containers")
    assert {"secret", "tokens.json", "audit.log", "server.log"} <= set(names)
    command = "\n".join(
        [
            *(f"cat {state / name} && echo OPEN {name}" for name in names),
            *(f"ls {path} && echo OPEN {path}" for path in (state, state / "containers")),
            f"cat {kept} && echo OPEN kept",
            f"cat {cluster.files(ended).launch} && echo OPEN launch",
            f"touch {state}/x {state}/containers/x ../x && echo OPEN write",
            "kill -9 $PPID && echo OPEN kill",
            f"cat /proc/{cluster.server.process.pid}/environ && echo OPEN environment",
            "echo done",
        ]
    )
    ended, printed = cluster.run("nobody", command=command)
    assert ended["exit_code"] == 0, ended["diagnostics"]
    assert printed.splitlines() == ["done"]


def test_temporary_files_of_a_user_are_closed_to_others_and_end_with_the_container(cluster):
    line = 'umask 0; mkdir -m 777 "$TMPDIR/open"; stat -c "%U %a" "$TMPDIR"; echo "$TMPDIR"'
    ended, printed = cluster.run("daemon", command=line)
    assert ended["exit_code"] == 0, ended["diagnostics"]
    whose, mode, folder = printed.split()
    assert (whose, mode) == ("daemon", "700")
    assert Path(folder).parent == cluster.state / "scratch"
    scratch = cluster.state / "scratch"
    other, listed = cluster.run(USERS[1], command=f"ls {scratch} {folder} || exit 7")
    assert (other["exit_code"], listed) == (7, "")
    until(lambda: not any(scratch.iterdir()))
    assert not Path(folder).exists()


def test_a_user_sees_not_into_the_processes_of_another(cluster):
    with cluster.client("daemon") as daemon:
        name = cluster.submit(
            daemon, command="echo $$; sleep 60", environment={"MINE": "my-own-secret"}
        )
        pid = ""
        while not pid:
            live = daemon.get(f"/applications/{name}/containers").json()["containers"]
            if live:
                log = daemon.get(f"/containers/{live[0]['id']}/logs/stdout")
                pid = log.text.strip()
        command = f"cat /proc/{pid}/environ; kill {pid}; echo done"
        _, printed = cluster.run("nobody", command=command)
        assert printed.splitlines() == ["done"]
        assert daemon.get(f"/applications/{name}").json()["state"] == "RUNNING"
        daemon.post(f"/applications/{name}/kill", json={})
        cluster.ended(daemon, name)


def test_root_and_users_without_an_account_cannot_submit(cluster):
    for user, reported in (
        ("who-is-this", "there is no account 'who-is-this'"),
        ("root", "is root"),
    ):
        with cluster.client(user) as http:
            body = {"queue": "a", "tasks": [{"command": "id", "resources": SMALL}]}
            answer = http.post("/applications", json=body)
            assert (answer.status_code, answer.json()["code"]) == (409, "no-account")
            assert reported in answer.json()["message"]
            yarn = cluster.server.url + "/ws/v1/cluster/apps"
            name = http.post(f"{yarn}/new-application").json()["application-id"]
            answer = http.post(yarn, json={"application-id": name, "queue": "root.a"})
            assert answer.status_code == 400
            assert reported in answer.text


def test_an_account_is_not_unknown_while_the_server_can_open_no_file(cluster):
    pid = cluster.server.process.pid
    body = {"queue": "a", "tasks": [{"command": "true", "resources": SMALL}]}
    with cluster.client("daemon") as http:
        held = http.post("/applications", json={**body, "held": True}).json()["id"]
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        opened = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
        lowest_free = next(number for number in itertools.count() if number not in opened)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free, before[1]))
        try:
            refused = http.post("/applications", json=body)
            released = http.post(f"/applications/{held}/hold", json={"held": False})
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        assert (refused.status_code, refused.json()["code"]) == (503, "accounts-unavailable")
        assert released.status_code == 200
        assert cluster.ended(http, held)["exit_code"] in (0, -100)
        until(lambda: http.get(f"/applications/{held}").json()["state"] == "FINISHED")
        cluster.submit(http, command="true")


def test_nodes_say_so(cluster):
    with cluster.client("daemon") as http:
        (node,) = http.get("/nodes").json()["nodes"]
    assert node["attributes"]["run-as"] == "submitting-user"


def test_a_result_is_taken_over_and_a_link_is_none(tmp_path):
    directory = ContainerDirectory(tmp_path / "application" / "container")
    uid = pwd.getpwnam("nobody").pw_uid
    directory.write_launch(b"{}", b"call", (uid, pwd.getpwnam("nobody").pw_gid))
    left = directory.returned / "result.pickle"
    left.write_bytes(b"value")
    directory.take_result(uid)
    assert not directory.result.exists()  # it is not his own
    left.write_bytes(b"value")
    os.chown(left, uid, -1)
    directory.take_result(uid)
    assert directory.result.read_bytes() == b"value"
    for make in (Path.symlink_to, Path.hardlink_to):
        secret = tmp_path / "secret"
        secret.write_bytes(b"secret")
        os.chown(secret, uid, -1)
        make(left, secret)
        directory.take_result(uid)
        assert not directory.result.exists()
        assert secret.read_bytes() == b"secret"


def test_what_a_container_leaves_as_its_result_is_the_servers_then(cluster):
    left = '"$FAIRSHARE_CONTAINER_DIRECTORY/returned/result.pickle"'
    ended, _ = cluster.run("daemon", command=f"printf value > {left}")
    with cluster.client("daemon") as daemon, cluster.client("nobody") as nobody:
        path = f"/containers/{ended['id']}/result"
        assert daemon.get(path).text == "value"
        assert nobody.get(path).status_code == 403
    ended, _ = cluster.run("daemon", command=f"ln -s {cluster.state}/secret {left}")
    with cluster.client("daemon") as daemon:
        assert daemon.get(f"/containers/{ended['id']}/result").status_code == 404


@pytest.mark.skipif(
    bool(os.system(f"su -s /bin/sh daemon -c '{sys.executable} -c 0' >/dev/null 2>&1")),
    reason="users cannot reach the Python of this environment",
)
def test_a_callable_returns_its_value(cluster):
    import base64

    import cloudpickle

    call = base64.b64encode(cloudpickle.dumps((os.getuid, (), {}))).decode()
    ended, _ = cluster.run("daemon", callable=call)
    assert ended["exit_code"] == 0, ended["diagnostics"]
    result = cluster.files(ended).result
    assert result.stat().st_uid == pwd.getpwnam("daemon").pw_uid
    assert cloudpickle.loads(result.read_bytes()) == pwd.getpwnam("daemon").pw_uid


@pytest.mark.parametrize("reason", ["nobody proves who he is", "closed"])
def test_without_what_it_needs_the_server_refuses_to_start(folder, tmp_path, reason):
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    text = '[engine]\nrun_as = "user"\n'
    state = folder / "other"
    if reason == "closed":
        text += "[authentication]\ntokens = true\n"
        state = folder / "closed" / "state"
        state.parent.mkdir(mode=0o700)
    (conf / "fairshare.toml").write_text(text)
    done = fairshare("serve", "--conf", conf, "--state", state, "--port", "0")
    assert done.returncode in (1, 2)
    reported = "is closed to others" if reason == "closed" else "needs [authentication]"
    assert reported in done.stderr


def test_output_in_a_users_file_is_written_and_read_with_that_users_rights(cluster, folder):
    own = folder / "daemon"
    own.mkdir(mode=0o711)
    os.chown(own, pwd.getpwnam("daemon").pw_uid, -1)
    ended, printed = cluster.run("daemon", command="echo mine", output=str(own / "%j.out"))
    assert (ended["exit_code"], printed) == (0, "mine\n")
    [made] = own.iterdir()
    assert made.stat().st_uid == pwd.getpwnam("daemon").pw_uid
    for place in (folder / "root.out", cluster.state / "server.log", Path("/etc/shadow")):
        ended, printed = cluster.run("daemon", command="echo mine", output=str(place))
        assert (ended["exit_code"], printed) == (126, "")
        assert "Permission denied" in ended["diagnostics"]
    ended, _ = cluster.run("nobody", command="cat", input=str(cluster.state / "secret"))
    assert "cannot read its input" in ended["diagnostics"]


def test_an_interpreter_that_the_account_cannot_run_is_refused(cluster, folder):
    python = folder / "private"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o700)
    task = {"resources": SMALL, "callable": "AAAA", "python": str(python)}
    with cluster.client("daemon") as http:
        answer = http.post("/applications", json={"queue": "a", "tasks": [task]})
    assert answer.json()["code"] == "cannot-run"
    assert f"daemon cannot run {python}" in answer.json()["message"]

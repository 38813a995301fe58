"""Another account listens where the program of an executor listened: workers that still come send
it nothing, and read nothing from it."""

import os
import pickle
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.e2e.test_accounts import USERS, missing

from fairshare.client.executor import remote

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")

LISTEN = """
import os, socket, sys
path, answer = sys.argv[1], bytes.fromhex(sys.argv[2])
os.makedirs(os.path.dirname(path), 0o711, exist_ok=True)
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
os.chmod(path, 0o666)
listener.listen()
print("listening", flush=True)
connection, _ = listener.accept()
received = b""
try:
    connection.sendall(answer)
    while piece := connection.recv(1000):
        received += piece
except OSError:  # the answer was not read
    pass
print(received.hex(), flush=True)
"""


class Harm:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def system_python():
    """A Python that any account can run."""
    return next((path for path in ("/usr/bin/python3",) if Path(path).exists()), sys.executable)


def worker_as(account, path):
    """What a worker in a container of the account says, whose program ran under that account."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(account, account, account)
            os.setresuid(account, account, account)
            names = {"APPLICATION_ID": "a", "CONTAINER_ID": "c", "TASK_INDEX": "0"}
            os.environ |= {f"FAIRSHARE_{name}": value for name, value in names.items()}
            run = remote.worker_callable(str(path), b"t" * 32)
            os.write(writer, " ".join(run()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        said = file.read()
    os.waitpid(pid, 0)
    return said


@pytest.mark.parametrize("squatted", ["directory", "socket"])
def test_a_worker_does_not_talk_to_a_program_of_another_account(squatted):
    own, other = (pwd.getpwnam(user) for user in USERS)
    with tempfile.TemporaryDirectory(prefix="fairshare-hostile-") as made:
        Path(made).chmod(0o1777)
        path, harm = Path(made, "workers", "socket"), Path(made, "harm")
        if squatted == "socket":
            path.parent.mkdir()
            path.parent.chmod(0o777)
            os.chown(path.parent, own.pw_uid, own.pw_gid)
        body = pickle.dumps(Harm(harm))
        answer = len(body).to_bytes(8, "big") + body
        squatter = subprocess.Popen(
            [system_python(), "-c", LISTEN, str(path), (answer * 3).hex()],
            stdout=subprocess.PIPE,
            text=True,
            user=other.pw_uid,
            group=other.pw_gid,
            extra_groups=[],
            cwd="/",
        )
        try:
            assert squatter.stdout.readline() == "listening\n"
            said = worker_as(own.pw_uid, path)
            assert said.startswith(remote.UNREACHABLE)
            assert "another account" in said
            if squatted == "socket":
                assert squatter.stdout.readline() == "\n"  # it received nothing
        finally:
            squatter.kill()
            squatter.communicate()
        assert not harm.exists()

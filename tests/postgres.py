"""A PostgreSQL server of the tests' own: in a temporary directory, on a free port of loopback, and
under an account of its own where the tests are root's.

    python -m tests.postgres TESTS...    runs tests whose servers have their state there
"""

import contextlib
import hashlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hadoop.configuration import free_ports

ROOT = Path(__file__).parents[1]

ACCOUNTS = ("postgres", "nobody")


def programs() -> Path | None:
    """Where initdb and pg_ctl are; None: nowhere."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    places = [*([Path(found).resolve().parent] if found else []), *folders]
    return next((place for place in places if (place / "pg_ctl").exists()), None)


class Postgres:
    """A server that can be stopped, frozen and started again."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self._bin = bin_folder
        self.data = folder / "data"
        (self.port,) = free_ports(1)
        self._account: pwd.struct_passwd | None = None
        if os.geteuid() == 0:
            known = {entry.pw_name: entry for entry in pwd.getpwall()}
            self._account = next(known[name] for name in ACCOUNTS if name in known)
            os.chown(folder, self._account.pw_uid, self._account.pw_gid)
        self._databases = 0
        words = ("-A", "trust", "-U", "fairshare", "-E", "UTF8", "--locale", "C", "--no-sync")
        self._run("initdb", "-D", str(self.data), *words)
        self.start()

    def start(self, *settings: str) -> None:
        """Begin, and return when it takes connections."""
        options = ["listen_addresses=127.0.0.1", f"port={self.port}", *settings]
        options.append(f"unix_socket_directories={self.data}")
        words = " ".join(f"-c {option}" for option in options)
        log = str(self.data / "log")
        self._run("pg_ctl", "-D", str(self.data), "-o", words, "-l", log, "-w", "start")

    def stop(self, how: str = "immediate") -> None:
        """End; `immediate`: as after a crash."""
        self._run("pg_ctl", "-D", str(self.data), "-m", how, "-w", "stop")

    def freeze(self) -> None:
        """Let none of its processes go on, until `thaw`."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def url(self, database: str | None = None) -> str:
        """A new, empty database, or that of a name."""
        if database is None:
            self._databases += 1
            database = f"test_{self._databases}"
            self.run("postgres", f"CREATE DATABASE {database}")
        return f"postgresql://fairshare@127.0.0.1:{self.port}/{database}"

    def run(self, database: str, statement: str) -> list[tuple[Any, ...]]:
        """Execute a statement in a database; its rows."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def _signal(self, number: int) -> None:
        main = int((self.data / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        for process in (main, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [str(self._bin / program), *words],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd="/",
            user=self._account and self._account.pw_uid,
            group=self._account and self._account.pw_gid,
            extra_groups=self._account and [],
        )


@contextlib.contextmanager
def started() -> Iterator[Postgres]:
    """A server; the test is skipped where there is none."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    pytest.importorskip("psycopg", reason="the extra fairshare[postgres] is not installed")
    with tempfile.TemporaryDirectory(prefix="fairshare-postgres-") as folder:
        server = Postgres(Path(folder), bin_folder)
        try:
            yield server
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                server.stop()


PORT = "FAIRSHARE_TEST_POSTGRES_PORT"
"""Names the server in which all servers of tests have their state."""


def share(conf: Path, state: Path) -> Path:
    """Have a server keep the state of a directory in a database, if all servers of tests do; its
    configuration, which is a copy if it belongs to the checkout."""
    port = os.environ.get(PORT)
    file = conf / "fairshare.toml"
    text = file.read_text() if file.exists() else ""
    if not port or "[state]" in text:
        return conf
    if conf.resolve().is_relative_to(ROOT):
        conf = shutil.copytree(conf, state.with_name(f"{state.name}-conf"), dirs_exist_ok=True)
    import psycopg

    url = f"postgresql://fairshare@127.0.0.1:{port}"
    name = f"test_{hashlib.sha256(str(state).encode()).hexdigest()[:16]}"
    with (
        psycopg.connect(f"{url}/postgres", autocommit=True) as connection,
        contextlib.suppress(psycopg.errors.DuplicateDatabase),  # of a server before
    ):
        connection.execute(f"CREATE DATABASE {name}")
    shared = f'{text}\n[state]\nurl = "{url}/{name}"\ntakeover_s = 2\n'
    (conf / "fairshare.toml").write_text(shared)
    return conf


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One for all tests of this process; each takes a database of its own (`url()`)."""
    with started() as server:
        yield server


if __name__ == "__main__":
    bin_folder = programs()
    if bin_folder is None:
        raise SystemExit("PostgreSQL is not installed: there is no initdb")
    with tempfile.TemporaryDirectory(prefix="fairshare-postgres-") as folder:
        server = Postgres(Path(folder), bin_folder)
        environment = {**os.environ, PORT: str(server.port)}
        try:
            tests = subprocess.run([sys.executable, "-m", "pytest", *sys.argv[1:]], env=environment)
        finally:
            server.stop()
    raise SystemExit(tests.returncode)

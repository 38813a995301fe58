"""docs/how-to/two-hosts.md is run as it is written: its commands and its file, with ports of this
machine in the place of the hosts. Asking for a password, and pip, are left out.
"""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.forked import PATIENCE_S, Forked, fairshare
from tests.hadoop.configuration import free_ports
from tests.postgres import postgres as postgres
from tests.postgres import programs
from tests.served import FAIR_SITE, SMALL_MACHINE, Served

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "two-hosts.md").read_text()
LEFT_OUT = ("createuser ", "pip ")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S)


@pytest.fixture
def place(postgres, tmp_path):
    """What stands for the page's names on this machine."""
    one, two = free_ports(2)
    return {
        "http://host1:8088": f"http://127.0.0.1:{one}",
        "http://host2:8088": f"http://127.0.0.1:{two}",
        "@db1/": f"@127.0.0.1:{postgres.port}/",
        "/etc/fairshare": str(tmp_path / "conf"),
    }


def test_a_server_is_on_two_hosts_as_the_page_says(place, postgres, tmp_path):
    def here(text):
        for name, meant in place.items():
            text = text.replace(name, meant)
        return text

    lines = [line for block in blocks("sh") for line in here(block).splitlines()]
    create, migrate, serve, export = (line for line in lines if not line.startswith(LEFT_OUT))
    states = [tmp_path / "state", tmp_path / "second" / "state"]
    files = {"yarn-site.xml": FAIR_SITE, "fair-scheduler.xml": "<allocations/>"}
    before = Served(tmp_path / "conf", *SMALL_MACHINE, "--no-hadoop", files=files)
    # A state that exists.
    done = fairshare("submit", "--url", before.url, "--wait", "--name", "earlier", "--", "true")
    assert done.returncode == 0, done.stderr
    before.end()

    variables = {"PGHOST": "127.0.0.1", "PGPORT": str(postgres.port), "PGUSER": "fairshare"}
    words = shlex.split(create)
    words[0] = str(programs() / words[0])
    subprocess.run(words, env={**os.environ, **variables}, check=True)
    (toml,) = blocks("toml")
    (tmp_path / "conf" / "fairshare.toml").write_text(here(toml))
    moved = fairshare(
        *shlex.split(migrate)[1:], env={**os.environ, "FAIRSHARE_STATE": str(states[0])}
    )
    assert "all are the same there" in moved.stdout, moved.stderr

    servers = []
    try:
        for state, name in zip(states, ("http://host1:8088", "http://host2:8088"), strict=True):
            state.parent.mkdir(exist_ok=True)
            servers.append(
                Forked(
                    *shlex.split(serve)[1:],
                    *(*SMALL_MACHINE, "--no-hadoop", "--port", place[name].rpartition(":")[2]),
                    env={**os.environ, "FAIRSHARE_STATE": str(state)},
                    stderr=subprocess.STDOUT,
                )
            )
            said = next(line for line in servers[-1].stdout if "warning: " not in line)
            assert said.startswith("standing by for " if servers[1:] else "listening on ")
        variable, _, urls = export.removeprefix("export ").partition("=")
        clients = {**os.environ, variable: urls}
        assert fairshare("submit", "--name", "now", "--", "true", env=clients).returncode == 0
        servers[0].kill()
        servers[0].wait()
        said = next(line for line in servers[1].stdout if "warning: " not in line)
        assert said.startswith("listening on ")
        listed = fairshare("apps", "--all", env=clients)
        assert "earlier" in listed.stdout, listed.stderr
        assert "now" in listed.stdout
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            server.communicate(timeout=PATIENCE_S)
    back = fairshare(
        *("migrate-state", "--back"), env={**os.environ, "FAIRSHARE_STATE": str(states[1])}
    )
    assert "all are the same there" in back.stdout, back.stderr

"""A night's chain with a mail at its end, to a mail server of the test, and one that is down."""

import contextlib
import socket
import time

import pytest
from tests.forked import fairshare
from tests.notice_receivers import mail_server

from .test_arrays import shell as shell
from .test_server import ALLOCATIONS, PATIENCE_S, YARN_SITE, Server

SMALL = ("--queue", "a", "--memory", "64m", "--max-attempts", "1")


@pytest.fixture(scope="module")
def mail():
    with mail_server() as found:
        yield found


@pytest.fixture(scope="module")
def conf(tmp_path_factory, mail):
    conf = tmp_path_factory.mktemp("notices") / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(YARN_SITE)
    (conf / "fair-scheduler.xml").write_text(ALLOCATIONS)
    settings = f"smtp_host = '127.0.0.1'\nsmtp_port = {mail.port}\nsmtp_from = 'fs@example.org'\n"
    (conf / "fairshare.toml").write_text(f"[notify]\n{settings}")
    return conf


@pytest.fixture(scope="module")
def server(conf):
    server = Server(conf, conf.parent / "state", "--port", "0")
    yield server
    with contextlib.suppress(Exception):
        server.post("/shutdown", json={"stop_containers": True})
    server.wait()


def polled(server, condition):
    """Wait for what changes without a new version of the cluster, as a notice does."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        server.get("/changes", params={"since": 0, "timeout": 0})


def test_a_nights_chain_ends_with_a_mail_and_a_command(shell, server, mail, tmp_path):
    extract = shell("submit", *SMALL, "--", "true").stdout.strip()
    notify = ("--notify", "mailto:ann@example.org", "--notify-on", "failed")
    train = shell("submit", *SMALL, "--after", extract, *notify, "--", "false").stdout.strip()
    line = f"cmd:echo $FAIRSHARE_APPLICATION_STATE >> {tmp_path}/said"
    last = shell("submit", *SMALL, "--after", f"{train}:any", "--notify", line, "--", "true")
    assert last.returncode == 0, last.stderr
    (text,) = mail.wait(1)
    assert "To: ann@example.org" in text
    assert train in text
    last_id = last.stdout.strip()
    server.until(lambda: server.application(last_id)["notices"])

    def sent():
        (notice,) = server.application(last_id)["notices"]
        return notice["state"] == "sent"

    polled(server, sent)
    assert (tmp_path / "said").read_text() == "FINISHED\n"
    assert "mailto:ann@example.org (failed): sent" in shell("status", train).stdout


def test_a_mail_server_that_is_down_is_said_in_status_and_log(conf, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        down = tmp_path / "conf"
        down.mkdir()
        for name in ("yarn-site.xml", "fair-scheduler.xml"):
            (down / name).write_text((conf / name).read_text())
        settings = f"smtp_host = '127.0.0.1'\nsmtp_port = {port}\nsmtp_from = 'fs@example.org'\n"
        (down / "fairshare.toml").write_text(f"[notify]\n{settings}")
        server = Server(down, tmp_path / "state", "--port", "0")
        name = server.submit(
            queue="a",
            tasks=[{"command": "true", "resources": {"memory-mb": 64}}],
            notify=["mailto:ann@example.org"],
        )

        def failed():
            return [one for one in server.application(name)["notices"] if one["error"]]

        polled(server, failed)
        done = fairshare("status", name, "--url", server.url)
        said = " ".join(done.stdout.split())
        assert "mailto:ann@example.org (end): pending, 1 attempt: the mail server 127.0.0.1" in said
        log = (tmp_path / "state" / "server.log").read_text()
        assert "was not sent: the mail server 127.0.0.1 took no mail: Connection refused" in log
        server.end()

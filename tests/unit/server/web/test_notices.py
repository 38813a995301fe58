"""Notices about applications: where they go, what they say, and what is refused."""

import asyncio
import os
import socket
from functools import partial
from pathlib import Path

import msgspec
import pytest
from tests.manual_engine import ManualEngine
from tests.notice_receivers import mail_server, webhook
from tests.unit.server.web.conftest import started

from fairshare.core.model.inputs import ContainerExited, ContainerStarted
from fairshare.server.engines import command_aside
from fairshare.server.notices import delivery, notices
from fairshare.server.notices.store import Notice
from fairshare.server.server import LiveServer
from fairshare.settings.shell import NotifySettings

pytestmark = pytest.mark.anyio

TASKS = [{"name": "g", "count": 1, "arguments": ["true"], "max_attempts": 1}]


@pytest.fixture
def hook():
    with webhook() as found:
        yield found


@pytest.fixture
def mail():
    with mail_server() as found:
        yield found


@pytest.fixture
def server_settings(server_settings, hook, mail):
    notify = NotifySettings(
        webhooks=(hook.url.removesuffix("/hook"),),
        smtp_host="127.0.0.1",
        smtp_port=mail.port,
        smtp_from="fairshare@example.org",
        mail_domains=("example.org",),
    )
    return msgspec.structs.replace(server_settings, notify=notify)


async def run_one(page, exit_code=0, **fields):
    """An application of one task, from its submission to its end."""
    count = len(page.engine.orders) + 1
    name = await page.submit(queue="root.a", tasks=TASKS, **fields)
    container = (await page.launched(count))[-1]
    await page.server.service.ask(ContainerStarted(container))
    await page.server.service.ask(ContainerExited(container, exit_code, "bad luck"))
    return name


async def settled(page, name):
    """The notices of an application, once none is pending."""
    async with asyncio.timeout(30):
        while True:
            found = (await page.get(f"/applications/{name}")).json()["notices"]
            if found and all(one["state"] != "pending" for one in found):
                return found
            await asyncio.sleep(0.01)


async def test_a_webhook_and_a_mail_say_how_an_application_ended(page, hook, mail):
    targets = [hook.url, "mailto:ann@example.org"]
    name = await run_one(page, 3, name="night\u00fcbung", notify=targets)
    assert [one["state"] for one in await settled(page, name)] == ["sent", "sent"]
    (body,) = await asyncio.to_thread(hook.wait, 1)
    assert (body["event"], body["application"], body["state"]) == ("end", name, "FAILED")
    (text,) = await asyncio.to_thread(mail.wait, 1)
    assert "To: ann@example.org" in text
    assert "FAILED" in text


async def test_notices_are_about_what_was_asked_for(page, hook):
    await run_one(page, 0, notify=[hook.url], notify_on=["failed"])
    await run_one(page, 1, notify=[hook.url], notify_on=["failed"])
    name = await run_one(page, 0, notify=[hook.url], notify_on=["start", "end"])
    await settled(page, name)
    events = {(body["event"], body["state"]) for body in await asyncio.to_thread(hook.wait, 3)}
    assert events == {("failed", "FAILED"), ("start", "RUNNING"), ("end", "FINISHED")}


@pytest.mark.slow
async def test_a_webhook_that_fails_is_tried_again_and_a_refusal_is_final(page, hook, monkeypatch):
    monkeypatch.setattr(notices, "PAUSES_S", (0.01, 0.01))
    hook.statuses = [503]
    name = await run_one(page, notify=[hook.url])
    await asyncio.to_thread(hook.wait, 2)
    (found,) = await settled(page, name)
    assert (found["state"], found["attempts"]) == ("sent", 2)
    hook.statuses = [403]
    name = await run_one(page, notify=[hook.url])
    (found,) = await settled(page, name)
    assert (found["state"], found["error"]) == ("failed", "the webhook answered 403")


async def test_a_redirect_is_not_followed(page, hook):
    hook.statuses = [302]
    name = await run_one(page, notify=[hook.url])
    (found,) = await settled(page, name)
    assert (found["state"], found["attempts"]) == ("failed", 1)


async def test_an_address_that_the_mail_server_does_not_know_fails(page, mail):
    mail.refused.add("nobody@example.org")
    name = await run_one(page, notify=["mailto:nobody@example.org"])
    (found,) = await settled(page, name)
    assert (found["state"], found["attempts"]) == ("failed", 1)
    assert "refuses nobody@example.org" in found["error"]


async def test_a_command_runs_with_the_facts_and_its_failure_is_shown(page, tmp_path):
    file = tmp_path / "said"
    line = f"cmd:echo $FAIRSHARE_APPLICATION_STATE > {file}; cat >> {file}; echo oh >&2; exit 4"
    name = await run_one(page, notify=[line])
    (found,) = await settled(page, name)
    assert (found["state"], found["error"]) == ("failed", "the command ended with 4: oh")
    first, second = file.read_text().splitlines()
    assert first == "FINISHED"
    assert name in second


@pytest.mark.slow
async def test_of_what_a_command_prints_the_end_is_kept_and_what_it_leaves_is_ended(page, tmp_path):
    file = tmp_path / "pid"
    line = f"cmd:sleep 600 & echo $! > {file}; head -c 9000000 /dev/zero >&2; echo oh >&2; exit 4"
    name = await run_one(page, notify=[line])
    (found,) = await settled(page, name)
    assert found["error"].endswith("oh")
    assert len(found["error"]) <= 200
    async with asyncio.timeout(10):
        while runs(int(file.read_text())):
            await asyncio.sleep(0.01)


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_slow_notices_of_one_user_do_not_delay_those_of_others(page, hook):
    slow = [await run_one(page, user="ann", notify=["cmd:sleep 600"]) for _ in range(12)]
    name = await run_one(page, user="bob", notify=[hook.url])
    (found,) = await settled(page, name)
    assert found["state"] == "sent"
    (waiting,) = (await page.get(f"/applications/{slow[-1]}")).json()["notices"]
    assert waiting["state"] == "pending"


async def test_commands_can_be_forbidden():
    refused = delivery.Delivery(NotifySettings(commands=False)).problem("cmd:true")
    assert "commands are not run here" in refused


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
async def test_where_containers_run_as_their_users_commands_do_too(engine):
    body = {"event": "end", "application": "a", "name": "n", "state": "FINISHED"}
    notice = Notice(
        epoch_ms=1,
        application=1,
        event="end",
        target="cmd:id >&2; exit 1",
        user="nobody",
        body=body,
    )
    log = Path(os.devnull)
    as_users = delivery.Delivery(
        NotifySettings(), as_users=True, aside=partial(command_aside, engine, log)
    )
    with pytest.raises(delivery.DeliveryError, match=r"\(nobody\)"):
        as_users.send(notice)
    root = msgspec.structs.replace(notice, user="root")
    with pytest.raises(delivery.DeliveryError, match="nothing runs as root"):
        as_users.send(root)


async def test_the_command_of_the_configuration_runs_at_every_end(
    server_settings, tmp_path, engine
):
    file = tmp_path / "ends"
    command = ("/bin/sh", "-c", f"cat >> {file}")
    settings = msgspec.structs.replace(server_settings, notify=NotifySettings(command=command))
    server = LiveServer(settings, lambda settings, path: engine)
    async with started(server) as http:
        name = (await http.post("/applications", json={"queue": "root.a", "tasks": TASKS})).json()
        await http.post(f"/applications/{name['id']}/kill", json={})
        async with asyncio.timeout(10):
            while not file.exists() or name["id"] not in file.read_text():
                await asyncio.sleep(0.01)
    assert '"state":"KILLED"' in file.read_text()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://127.0.0.1:1/x", "not a public address"),
        ("http://[::1]/x", "not a public address"),
        ("http://169.254.169.254/latest", "not a public address"),
        ("http://[::ffff:127.0.0.1]/x", "not a public address"),
        ("http://[64:ff9b::a00:1]/x", "not a public address"),
        ("http://224.0.0.1/x", "not a public address"),
        ("http://[64:ff9b:1::808:808]/x", "not a public address"),
        ("http://[::8.8.8.8]/x", "not a public address"),
        ("http://[::ffff:0:8.8.8.8]/x", "not a public address"),
        ("http://[fec0::1]/x", "not a public address"),
        ("http://[5f00::1]/x", "not a public address"),
        ("http://[3fff::1]/x", "not a public address"),
        ("http://[4000::1]/x", "not a public address"),
        ("http://[2001:1::1]/x", "not a public address"),
        ("http://192.0.0.8/x", "not a public address"),
        ("http://168.63.129.16/x", "not a public address"),
        ("https://example.org/hooks/..;/admin", "no . and no .."),
        ("https://example.org/hooks%2f..%2fadmin", "no . and no .."),
        ("https://example.org/hooks/%252e%252e/admin", "no . and no .."),
        ("https://example.org/hooks%5C%2525252e%2e;a=b/admin", "no . and no .."),
        ("https://example.org/hooks/%2e%2e/admin", "no . and no .."),
        ("mailto:ann@elsewhere.net", "mail goes only to example.org"),
        ("mailto:ann", "not a mail address"),
        ("ftp://x/y", "cannot be notified"),
        ("cmd: ", "names no command"),
        ("https://u:p@example.org/", "neither a user"),
    ],
)
async def test_a_target_that_is_not_possible_is_refused_at_once(page, target, words):
    answer = await page.post(
        "/applications", json={"queue": "root.a", "tasks": TASKS, "notify": [target]}
    )
    assert answer.status_code == 400, answer.text
    assert words in answer.json()["message"]


async def test_a_name_that_means_an_address_within_is_refused_when_it_is_looked_up(
    page, hook, monkeypatch
):
    """What a name means may change after the check: the address that is called is the one that was
    looked at."""
    port = int(hook.url.split(":")[2].split("/")[0])
    monkeypatch.setattr(
        delivery.socket,
        "getaddrinfo",
        lambda *wanted, **more: [(socket.AF_INET, 1, 6, "", ("127.0.0.1", port))],
    )
    name = await run_one(page, notify=[f"http://inside.example.org:{port}/"])
    (found,) = await settled(page, name)
    assert found["state"] == "failed"
    assert "not a public address" in found["error"]
    assert hook.bodies == []


async def test_what_a_server_did_not_send_is_sent_by_the_next_one(
    page, hook, server_settings, tmp_path, monkeypatch
):
    monkeypatch.setattr(notices, "PAUSES_S", (3_600,))
    hook.statuses = [503]
    await run_one(page, notify=[hook.url])
    await asyncio.to_thread(hook.wait, 1)
    await page.server.end()
    engine = ManualEngine(tmp_path / "again", page.engine.nodes()[0], stops=False)
    again = LiveServer(server_settings, lambda settings, path: engine)
    later_ms = again.service.now_ms() + 7_200_000
    again.notices._now_ms = lambda: later_ms
    async with started(again) as http:
        await asyncio.to_thread(hook.wait, 2)
        async with asyncio.timeout(10):
            while True:
                (found,) = (await http.get("/applications/1")).json()["notices"]
                if found["state"] == "sent":
                    break
                await asyncio.sleep(0.01)
    assert len(hook.bodies) == 2


@pytest.mark.parametrize(
    ("listed", "called", "allowed"),
    [
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooks", True),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooks?a=b", True),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooks/", True),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooks/a", True),
        ("http://127.0.0.1:1/hooks/", "http://127.0.0.1:1/hooks/a", True),
        ("http://127.0.0.1:1", "http://127.0.0.1:1/any", True),
        ("http://127.0.0.1:1/", "http://127.0.0.1:1", True),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooksadmin", False),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooks%2fadmin", False),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:1/hooks;admin", False),
        ("http://127.0.0.1:1/hooks", "http://127.0.0.1:11/hooks", False),
        ("http://127.0.0.1:1/hooks", "https://127.0.0.1:1/hooks", False),
    ],
)
async def test_a_listed_beginning_of_urls_ends_at_a_slash(listed, called, allowed):
    problem = delivery.Delivery(NotifySettings(webhooks=(listed,))).problem(called)
    assert (problem == "") is allowed

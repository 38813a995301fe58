"""Every change and every refusal has a line in the audit log, and no line has a secret."""

import json
import stat

import pytest
from tests.unit.server.web.test_applications import TASK
from tests.unit.server.web.test_authentication import door, submitted  # noqa: F401 - door is a fixture

from fairshare.server.access.audit import FILE, AuditEntry, AuditLog

pytestmark = pytest.mark.anyio

YARN = "http://127.0.0.1:8088/ws/v1/cluster"


def lines(server):
    return [json.loads(line) for line in (server.directory.path / FILE).read_text().splitlines()]


async def test_the_audit_line_of_a_change_has_its_user_and_its_outcome(door):  # noqa: F811
    async with door.as_user("ann") as ann:
        name = (await submitted(ann))["id"]
        await ann.get(f"/applications/{name}")
        await ann.post(f"/applications/{name}/kill", json={})
    submission, kill = lines(door.server)
    proof = submission.pop("proof")
    assert proof.startswith("token ")
    assert submission.pop("at").endswith("Z")
    assert submission == {
        "method": "POST",
        "path": "/api/v1/applications",
        "status": 201,
        "user": "ann",
        "address": "127.0.0.1",
        "application": name,
        "queue": "a",
    }
    assert (kill["path"], kill["status"]) == (f"/api/v1/applications/{name}/kill", 200)
    assert (kill["application"], kill["queue"], kill["user"]) == (name, "root.a", "ann")


async def test_the_audit_line_of_a_refusal_has_its_reason_and_the_application(door):  # noqa: F811
    async with door.as_user("ann") as ann, door.as_user("bob") as bob, door.client() as nobody:
        name = (await submitted(ann))["id"]
        await bob.get(f"/applications/{name}")
        await nobody.get("/cluster")
        await nobody.get("/cluster", headers={"Host": "evil.example"})
        await bob.post("/applications", json={"user": "ann", "tasks": [TASK]})
        await bob.put(f"{YARN}/apps/{name}/state", json={"state": "KILLED"})
        await bob.get(f"{YARN}/scheduler-conf")
    _, looked, unknown, foreign, named, killed, configured = lines(door.server)
    assert (looked["status"], looked["code"], looked["user"]) == (403, "access-denied", "bob")
    assert (looked["application"], looked["queue"]) == (name, "root.a")
    assert (unknown["status"], unknown["code"]) == (401, "no-token")
    assert "user" not in unknown
    assert (foreign["status"], foreign["code"]) == (403, "foreign-host")
    assert (named["status"], named["code"], named["user"]) == (403, "access-denied", "bob")
    assert (killed["status"], killed["user"], killed["application"]) == (403, "bob", name)
    assert (configured["status"], configured["code"]) == (403, "ForbiddenException")


async def test_the_audit_line_of_a_proxy_user_names_both_users(door):  # noqa: F811
    async with door.as_user("root", administrator=True) as root:
        await submitted(root, user="bob")
        await root.post(f"{YARN}/apps/new-application?doAs=bob")
    assert [line["user"] for line in lines(door.server)] == ["bob (by root)"] * 2


async def test_a_name_that_is_only_claimed_has_no_proof(page):
    await page.submit(user="ann", queue="a", tasks=[TASK])
    (line,) = lines(page.server)
    assert line["user"] == "ann"
    assert "proof" not in line


async def test_looking_without_being_refused_has_no_line(page):
    for path in ("/cluster", "/nodes", "/applications", "/nothing"):
        await page.get(path)
    assert lines(page.server) == []


async def test_no_line_has_a_token_wherever_a_request_contains_it(door, caplog):  # noqa: F811
    token = door.tokens.create("ann", 0)
    secret = token.split("_", 2)[2]
    async with door.client(token) as ann:
        await ann.post(f"/applications/{token}/kill?token={token}", json={})
        await ann.post("/applications", json={"name": token, "queue": token, "tasks": [TASK]})
        await ann.post(f"/applications/x/kill%0d%0a{token}", json={})
        await ann.request("GET", f"/{token}", headers={"Authorization": "Bearer " + token + "x"})
    text = (door.server.directory.path / FILE).read_text()
    assert len(text.splitlines()) == len(lines(door.server)) == 4
    assert secret not in text
    assert secret not in (door.server.directory.log).read_text()


def test_the_file_is_readable_by_its_owner_alone_and_rotated_when_it_is_large(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("fairshare.server.event_log.MAX_LOG_BYTES", 2_000)
    log = AuditLog(tmp_path)
    for number in range(200):
        log.write(AuditEntry("now", "POST", f"/{number}", 200))
    log.close()
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == [FILE, *(f"{FILE}.{n}" for n in (1, 2, 3))]
    for file in files:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.stat().st_size <= 2_000
    assert json.loads((tmp_path / FILE).read_text().splitlines()[-1])["path"] == "/199"

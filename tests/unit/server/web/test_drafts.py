"""The scheduler's file through the server: looked at, drafted, put in force, taken back."""

import asyncio
import threading
from pathlib import Path

import httpx
import msgspec
import pytest
from tests.unit.server.web.test_configuration import CAPACITY, QUEUES, SITE, SLOW

from fairshare.server.access.tokens import UserTokens
from fairshare.server.server import LiveServer
from fairshare.server.settings import Overrides, read_settings
from fairshare.server.web.app import build_app
from fairshare.settings.shell import AuthenticationSettings

pytestmark = pytest.mark.anyio

FILE = """<allocations>
  <!-- ours -->
  <queue name="a"><weight>2</weight></queue>
</allocations>
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "yarn-site.xml").write_text(SITE.format(more=""))
    (conf / "fair-scheduler.xml").write_text(FILE)
    (conf / "fairshare.toml").write_text(SLOW)
    return conf


class Serving:
    """A server of a directory, that may be begun again."""

    def __init__(self, conf: Path, state: Path, engine, **authentication):
        self.conf, self.state, self.engine = conf, state, engine
        self.authentication = AuthenticationSettings(**authentication)

    async def __aenter__(self):
        settings = read_settings(self.conf, Overrides(port=0, state_directory=self.state))
        settings = msgspec.structs.replace(settings, authentication=self.authentication)
        self.server = LiveServer(settings, lambda settings, path: self.engine)
        await self.server.start("http://127.0.0.1:1")
        self.http = self.client()
        return self

    def client(self, **headers):
        transport = httpx.ASGITransport(build_app(self.server), raise_app_exceptions=False)
        base = "http://127.0.0.1:1/api/v1"
        return httpx.AsyncClient(transport=transport, base_url=base, headers=headers)

    async def __aexit__(self, *_):
        await self.http.aclose()
        await self.server.close()

    async def document(self):
        return (await self.http.get("/configuration/document")).json()

    async def apply(self, text, digest=None, **more):
        digest = digest if digest is not None else (await self.document())["digest"]
        body = {"text": text, "digest": digest, **more}
        return await self.http.post("/admin/configuration/document", json=body)

    async def weight(self, queue="root.a"):
        rows = (await self.http.get("/queues")).json()["queues"]
        return next(row["weight"] for row in rows if row["name"] == queue)


@pytest.fixture
async def serving(conf, tmp_path, engine, anyio_backend):
    async with Serving(conf, tmp_path / "state", engine) as found:
        yield found


async def test_the_configuration_in_force_has_files_and_lines(serving, conf):
    found = await serving.document()
    assert (found["kind"], found["file"]) == ("fair", str(conf / "fair-scheduler.xml"))
    assert (found["text"], found["differs"], found["version"]) == (FILE, False, 1)
    entry = {"queue": "root.a", "name": "weight", "value": "2", "line": 3}
    assert found["judgement"]["entries"] == [entry]
    rows = (await serving.http.get("/configuration/site")).json()["properties"]
    named = {row["name"]: row for row in rows}
    assert named["yarn.resourcemanager.scheduler.class"]["line"] == 3
    assert named["yarn.resourcemanager.scheduler.class"]["file"] == str(conf / "yarn-site.xml")


async def test_a_draft_is_judged_at_its_queue_and_changes_nothing(serving, conf):
    edits = [
        {"action": "set", "queue": "root.a", "name": "weight", "value": "x"},
        {"action": "add", "queue": "root.b"},
        {"action": "set", "queue": "root.b", "name": "minResources", "value": "9 mb, 9 vcores"},
        {"action": "set", "queue": "root.b", "name": "maxResources", "value": "1 mb, 1 vcores"},
    ]
    answer = await serving.http.post("/configuration/draft", json={"text": FILE, "edits": edits})
    found = answer.json()
    assert (answer.status_code, found["usable"]) == (200, False)
    reported = {(one["queue"], one["severity"]) for one in found["problems"]}
    assert {("root.a", "error"), ("root.b", "trap")} <= reported
    assert "<!-- ours -->" in found["text"]
    assert (conf / "fair-scheduler.xml").read_text() == FILE
    assert await serving.weight() == 2.0


async def test_of_the_drafts_that_a_caller_has_waiting_one_is_judged(serving, monkeypatch):
    begun, may_end = asyncio.Event(), threading.Event()
    loop, judged = asyncio.get_running_loop(), type(serving.server.editor)._judged

    def slow(self, text, *more):
        loop.call_soon_threadsafe(begun.set)
        may_end.wait(60)
        return judged(self, text, *more)

    monkeypatch.setattr(type(serving.server.editor), "_judged", slow)

    def drafted(weight):
        text = FILE.replace(">2<", f">{weight}<")
        return asyncio.create_task(serving.http.post("/configuration/draft", json={"text": text}))

    first = drafted(3)
    await begun.wait()
    more = {drafted(weight) for weight in range(4, 8)}
    replaced, waiting = set(), more
    while len(replaced) < 3:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        replaced |= done
    may_end.set()
    answers = [await one for one in (first, *more)]
    assert sorted(one.status_code for one in answers) == [200, 200, 429, 429, 429]


async def test_a_draft_has_a_limit_of_its_own(serving):
    text = FILE + "<!-- x -->" * 210_000
    answer = await serving.http.post("/configuration/draft", json={"text": text})
    assert answer.status_code == 400
    assert "2097152" in answer.json()["message"]


async def test_what_is_applied_is_written_in_force_and_a_version_with_its_author(serving, conf):
    text = FILE.replace(">2<", ">5<")
    answer = await serving.apply(text, user="ann", note="more")
    assert answer.status_code == 200, answer.text
    assert (answer.json()["user"], answer.json()["note"]) == ("ann", "more")
    assert (conf / "fair-scheduler.xml").read_text() == text
    assert await serving.weight() == 5.0
    found = (await serving.http.get("/configuration/texts")).json()["texts"]
    assert [one["in_force"] for one in found] == [True, False]
    first = (await serving.http.get(f"/configuration/texts/{found[1]['version']}")).json()
    assert first["text"] == FILE
    assert (await serving.apply(first["text"])).status_code == 200
    assert await serving.weight() == 2.0
    assert (await serving.http.get("/configuration/texts/99")).status_code == 404


async def test_versions_outlive_the_server(serving, conf, tmp_path, engine):
    await serving.apply(FILE.replace(">2<", ">5<"))
    await serving.server.close()
    async with Serving(conf, tmp_path / "state", engine) as again:
        assert (await again.document())["text"] == FILE.replace(">2<", ">5<")
        assert len((await again.http.get("/configuration/texts")).json()["texts"]) == 2


async def test_a_draft_that_cannot_be_used_is_refused_with_every_problem(serving, conf):
    answer = await serving.apply(FILE.replace(">2<", ">x<"))
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-configuration")
    assert answer.json()["problems"][0]["line"] == 3
    assert (conf / "fair-scheduler.xml").read_text() == FILE
    assert (await serving.document())["version"] == 1


async def test_a_file_that_was_changed_meanwhile_is_not_overwritten(serving, conf):
    digest = (await serving.document())["digest"]
    (conf / "fair-scheduler.xml").write_text("<allocations/>")
    answer = await serving.apply(FILE, digest)
    assert (answer.status_code, answer.json()["code"]) == (409, "configuration-changed")
    assert (conf / "fair-scheduler.xml").read_text() == "<allocations/>"
    assert (await serving.document())["differs"]


async def test_a_load_that_fails_leaves_the_file_as_it_was(serving, conf):
    digest = (await serving.document())["digest"]
    (conf / "yarn-site.xml").write_text("<configuration>")
    answer = await serving.apply(FILE.replace(">2<", ">5<"), digest)
    assert answer.status_code in (400, 409)
    assert (conf / "fair-scheduler.xml").read_text() == FILE
    assert await serving.weight() == 2.0


async def test_a_file_that_cannot_be_written_is_said_and_nothing_changes(
    serving, conf, monkeypatch
):
    monkeypatch.setattr("pathlib.Path.replace", _full)
    answer = await serving.apply(FILE.replace(">2<", ">5<"))
    assert (answer.status_code, "No space" in answer.json()["message"]) == (500, True)
    assert (conf / "fair-scheduler.xml").read_text() == FILE


def _full(*_):
    raise OSError(28, "No space left on device")


async def test_readers_draft_and_administrators_apply(conf, tmp_path, engine, anyio_backend):
    async with Serving(conf, tmp_path / "state", engine, tokens=True) as serving:
        tokens = UserTokens(serving.server.directory.path)
        reader = serving.client(Authorization=f"Bearer {tokens.create('ann', 0)}")
        master = serving.client(
            Authorization=f"Bearer {tokens.create('root', 0, administrator=True)}"
        )
        async with reader, master:
            digest = (await reader.get("/configuration/document")).json()["digest"]
            answer = await reader.post("/configuration/draft", json={"text": FILE})
            assert answer.json()["usable"]
            body = {"text": FILE.replace(">2<", ">5<"), "digest": digest}
            answer = await reader.post("/admin/configuration/document", json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "access-denied")
            assert (conf / "fair-scheduler.xml").read_text() == FILE
            assert (
                await master.post("/admin/configuration/document", json=body)
            ).status_code == 200


@pytest.mark.parametrize("store", ["memory", "file"])
async def test_the_capacity_schedulers_properties_are_drafted_and_applied(
    conf, tmp_path, engine, store, anyio_backend
):
    (conf / "yarn-site.xml").write_text(CAPACITY.replace("<value>memory<", f"<value>{store}<"))
    (conf / "capacity-scheduler.xml").write_text(QUEUES)
    (conf / "fair-scheduler.xml").unlink()
    async with Serving(conf, tmp_path / "state", engine) as serving:
        found = await serving.document()
        assert found["kind"] == "capacity"
        edit = {"action": "set", "queue": "root.a", "name": "user-limit-factor", "value": "3"}
        answer = await serving.http.post(
            "/configuration/draft", json={"text": found["text"], "edits": [edit]}
        )
        judged = answer.json()
        assert judged["usable"], judged["problems"]
        answer = await serving.apply(judged["text"])
        assert answer.status_code == 200, answer.text
        rows = (await serving.http.get("/queues")).json()["queues"]
        assert rows[1]["capacity"]["user_limit_factor"] == 3.0
        written = "user-limit-factor" in (conf / "capacity-scheduler.xml").read_text()
        assert written == (store == "file")
        edit = {"action": "set", "queue": "root.a", "name": "capacity", "value": "50"}
        answer = await serving.http.post(
            "/configuration/draft", json={"text": judged["text"], "edits": [edit]}
        )
        assert not answer.json()["usable"]


async def test_a_version_that_is_taken_back_in_memory_is_what_is_shown_as_in_force(
    conf, tmp_path, engine
):
    async with Serving(conf, tmp_path / "state", engine) as serving:
        begun = await serving.document()
        first = (await serving.http.get("/configuration")).json()["version"]
        heavier = begun["text"].replace("<weight>2<", "<weight>5<")
        body = {"text": heavier, "digest": begun["digest"]}
        await serving.http.post("/admin/configuration/document", json=body)
        await serving.http.post("/admin/configuration/roll-back", json={"version": first})
        for _ in range(2):
            found = await serving.document()
            assert (found["text"], found["restored"]) == (begun["text"], first)
            assert (found["differs"], found["known"]) == (True, True)
        assert (conf / "fair-scheduler.xml").read_text() == heavier
        texts = (await serving.http.get("/configuration/texts")).json()["texts"]
        assert texts[0]["in_force"]
        assert "in memory only" in texts[0]["note"]
        await serving.http.post("/admin/refresh-queues", json={})
        found = await serving.document()
        assert (found["text"], found["restored"], found["differs"]) == (heavier, None, False)
        await serving.http.post("/admin/configuration/roll-back", json={"version": first})
    async with Serving(conf, tmp_path / "state", engine) as serving:
        found = await serving.document()
        assert (found["text"], found["restored"]) == (heavier, None)


@pytest.mark.slow
async def test_a_draft_is_tried_on_the_history_and_changes_nothing(serving):
    found = await serving.document()
    before = (await serving.http.get("/configuration")).json()["version"]
    heavier = found["text"].replace("<weight>2<", "<weight>6<")
    answer = await serving.http.post("/admin/configuration/trial", json={"text": heavier})
    assert answer.status_code == 200, answer.text
    plan = answer.json()
    assert plan["proof"]["grants"] == plan["proof"]["reproduced"]
    assert {
        "setting": "allocations.queues.root.a.weight",
        "before": 2.0,
        "after": 6.0,
    } in plan["changes"]
    assert (await serving.document())["text"] == found["text"]
    assert (await serving.http.get("/configuration")).json()["version"] == before


@pytest.mark.slow
async def test_a_trial_says_what_a_draft_would_have_refused(serving):
    group = {"name": "g", "command": "true"}
    submitted = await serving.http.post("/applications", json={"queue": "a", "tasks": [group]})
    assert submitted.status_code == 201, submitted.text
    text = (await serving.document())["text"].replace('name="a"', 'name="c"')
    rules = '<queuePlacementPolicy><rule name="specified" create="false"/><rule name="reject"/>'
    closed = text.replace("</allocations>", f"{rules}</queuePlacementPolicy></allocations>")
    answer = await serving.http.post("/admin/configuration/trial", json={"text": closed})
    assert answer.status_code == 200, answer.text
    assert [(one["queue"], one["applications"]) for one in answer.json()["refused"]] == [
        ("root.a", 1)
    ]


async def test_a_trial_that_cannot_be_made_is_refused_with_its_reason(serving):
    text = (await serving.document())["text"]
    path = "/admin/configuration/trial"
    broken = await serving.http.post(path, json={"text": "<allocations>"})
    assert (broken.status_code, broken.json()["code"]) == (400, "bad-configuration")
    never = await serving.http.post(path, json={"text": text, "last": "soon"})
    assert never.status_code == 400
    assert "last: 'soon' is not a duration" in never.json()["message"]
    serving.server.editor.trial._busy = True
    busy = await serving.http.post(path, json={"text": text})
    assert (busy.status_code, busy.json()["code"]) == (409, "trial-running")


async def test_a_trial_that_takes_too_long_is_ended(serving, monkeypatch):
    monkeypatch.setattr("fairshare.server.draft_trial.MOST_S", 0.01)
    text = (await serving.document())["text"]
    answer = await serving.http.post("/admin/configuration/trial", json={"text": text})
    assert (answer.status_code, answer.json()["code"]) == (409, "cannot-try")
    assert "takes longer than" in answer.json()["message"]

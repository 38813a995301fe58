"""The accounts of a server: what ended is listed and summed, also after a crash; and its ledger."""

import asyncio

import pytest
from tests.manual_engine import ManualEngine
from tests.unit.server.web.conftest import started

from fairshare.core.model.inputs import ContainerExited, ContainerStarted, ForgetApplications
from fairshare.runtime.clock import WallClock
from fairshare.server.accounting.ledger import FILE
from fairshare.server.insight.ledger import LedgerRow
from fairshare.server.insight.ledger_file import LedgerFile, Progress
from fairshare.server.server import LiveServer

pytestmark = pytest.mark.anyio

TASKS = [
    {
        "name": "g",
        "count": 1,
        "resources": {"memory-mb": 1024, "vcores": 1},
        "arguments": ["echo", "a b"],
        "directory": "/srv",
    }
]


async def run_one(page, exit_code=0, **fields):
    """An application of one task, from its submission to its end."""
    name = await page.submit(queue="root.a", tasks=TASKS, **fields)
    before = len(page.engine.orders)
    (container,) = (await page.launched(before or 1))[-1:]
    service = page.server.service
    await service.ask(ContainerStarted(container))
    await service.ask(ContainerExited(container, exit_code, "", 512, 2_000))
    return name


async def opened(page):
    """Wait until the accounts' file is open."""
    async with asyncio.timeout(10):
        while not (page.server.directory.path / FILE).exists():
            await asyncio.sleep(0.01)
        while page.server.accounting._ledger is None:
            await asyncio.sleep(0.01)


async def test_an_application_is_listed_as_soon_as_it_has_ended_with_what_it_used(page):
    await opened(page)
    name = await run_one(page, user="ann", name="job", tags=["nightly"])
    (found,) = (await page.get("/accounting/applications?tag=nightly")).json()["applications"]
    assert (found["id"], found["user"], found["state"]) == (name, "ann", "FINISHED")
    assert (found["command"], found["directory"]) == ("echo 'a b'", "/srv")
    assert (found["peak_memory_mb"], found["cpu_seconds"], found["exit_code"]) == (512, 2.0, 0)
    (container,) = (await page.get(f"/accounting/containers?application={name}")).json()[
        "containers"
    ]
    assert (container["outcome"], container["group"], container["task"]) == ("succeeded", "g", 0)
    assert container["node"] == "n1"


async def test_a_report_sums_by_user_and_month(page):
    await opened(page)
    await run_one(page, user="ann")
    answer = (await page.get("/accounting/report?by=month,user")).json()
    (row,) = answer["rows"]
    assert row["group"][1] == "ann"
    assert (row["applications"], row["containers"], row["cpu_seconds"]) == (1, 1, 2.0)


async def test_the_accounts_keep_what_the_server_has_forgotten(page):
    await opened(page)
    name = await run_one(page)
    number = int(name.rpartition("_")[2])
    await page.server.service.ask(ForgetApplications((number,)))
    assert (await page.get(f"/applications/{name}")).status_code == 404
    (found,) = (await page.get(f"/accounting/applications?application={name}")).json()[
        "applications"
    ]
    assert found["id"] == name


async def test_a_crash_before_the_row_was_written_costs_nothing(page, server_settings, tmp_path):
    await opened(page)
    await run_one(page)
    await page.server.end()
    (page.server.directory.path / FILE).unlink()
    engine = ManualEngine(tmp_path / "again", page.engine.nodes()[0], stops=False)
    again = LiveServer(server_settings, lambda settings, path: engine)
    async with started(again) as http:
        async with asyncio.timeout(10):
            while not (
                found := (await http.get("/accounting/applications")).json()["applications"]
            ):
                await asyncio.sleep(0.01)
    assert [(one["containers"], one["cpu_seconds"]) for one in found] == [(1, 2.0)]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/accounting/report?by=moon", "up to 3 different ones of user, queue, tag"),
        ("/accounting/report?by=month,day", "either months or days"),
        ("/accounting/report?by=user,user", "different"),
        ("/accounting/applications?since=2&until=1", "until is not after since"),
        ("/accounting/applications?application=x", "write an id, or its number"),
        ("/accounting/applications?state=ASLEEP", "the states are"),
    ],
)
async def test_a_wrong_question_gets_a_sentence(page, path, words):
    answer = await page.get(path)
    assert answer.status_code == 400
    assert words in answer.json()["message"]


async def test_accounts_that_cannot_be_read_do_not_stop_the_server(page):
    await opened(page)
    await page.server.accounting.close()
    for suffix in ("-wal", "-shm"):
        (page.server.directory.path / f"{FILE}{suffix}").unlink(missing_ok=True)
    (page.server.directory.path / FILE).write_bytes(b"x" * 4_096)
    answer = await page.get("/accounting/applications")
    assert (answer.status_code, answer.json()["code"]) == (503, "no-accounts")
    assert (await page.get("/cluster")).status_code == 200


HOUR_MS = 3_600_000


def row(hour_ms, user, kind, amount, queue="root.a"):
    return LedgerRow(hour_ms, queue, user, "", "memory-mb", kind, amount)


@pytest.fixture
def hour_ms(page):
    """The present hour, of which the ledger has something."""
    now_ms = page.server.service.now_ms()
    hour_ms = now_ms - now_ms % HOUR_MS
    file = LedgerFile(page.server.directory.path)
    rows = [
        row(hour_ms, "ann", "delivered", 9),
        row(hour_ms, "ann", "borrowed", 4),
        row(hour_ms, "bob", "owed:lender", 3),
        row(hour_ms, "", "lent", 2),
        row(hour_ms, "", "idle", 1, "root.b"),
    ]
    file.add(rows, Progress(1, 17, now_ms, hour_ms))
    file.add(rows[2:3], Progress(1, 18, now_ms, hour_ms))
    file.close()
    return hour_ms


async def test_a_queue_has_what_it_got_and_what_it_is_owed_by_cause(page, hour_ms):
    answer = (await page.get("/ledger")).json()
    a, b = answer["lines"]
    assert (a["queue"], a["delivered"], a["borrowed"], a["lent"]) == ("root.a", 9, 4, 2)
    assert (a["entitled"], a["owed"]) == (9 - 4 + 2 + 6, {"lender": 6})
    assert (b["queue"], b["idle"], b["user"], b["hour_ms"]) == ("root.b", 1, None, None)
    assert answer["begin_ms"] == hour_ms
    assert answer["causes"]["lender"] == "held by others above their share"


async def test_lines_are_divided_as_asked(page, hour_ms):
    answer = (await page.get("/ledger?by=hour,user&queue=a")).json()
    assert [(one["hour_ms"], one["user"]) for one in answer["lines"]] == [
        (hour_ms, ""),
        (hour_ms, "ann"),
        (hour_ms, "bob"),
    ]
    (bob,) = (await page.get("/ledger?by=queue&user=bob")).json()["lines"]
    assert (bob["entitled"], bob["delivered"]) == (6, 0)


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("?by=node", "bad-request"),
        ("?since=5&until=5", "bad-request"),
        ("?since=0&until=1000", "before-the-ledger"),
        ("?since=9000000000000", "after-the-ledger"),
        ("?queue=nowhere", "no-such-queue"),
        ("?user=eve", "no-such-user"),
    ],
)
async def test_what_the_ledger_does_not_know_is_refused(page, hour_ms, query, code):
    answer = await page.get(f"/ledger{query}")
    assert answer.status_code >= 400
    assert answer.json()["code"] == code, answer.text


async def test_a_ledger_that_has_not_begun_is_not_there_yet(page):
    answer = await page.get("/ledger")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-ledger")


async def test_the_debts_are_a_metric(page, hour_ms):
    text = (await page.get("http://127.0.0.1:1/metrics")).text
    name = 'fairshare_ledger_owed_total{cause="lender",queue="root.a",resource="memory-mb"}'
    assert f"{name} 0.006" in text


async def test_a_report_counts_what_ended_in_the_millisecond_in_which_it_is_asked(
    page, monkeypatch
):
    await opened(page)
    now_ms = page.server.service.now_ms() + 1_000
    monkeypatch.setattr(WallClock, "now_ms", lambda clock: now_ms)
    await run_one(page, user="ann")
    (row,) = (await page.get("/accounting/report")).json()["rows"]
    assert (row["applications"], row["containers"], row["cpu_seconds"]) == (1, 1, 2.0)

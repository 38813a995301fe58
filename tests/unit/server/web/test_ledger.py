"""The path of the ledger."""

import pytest

from fairshare.server.insight.ledger import LedgerRow
from fairshare.server.insight.ledger_file import LedgerFile, Progress

pytestmark = pytest.mark.anyio

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

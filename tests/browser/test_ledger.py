"""The page of the ledger: all queues, and the users of one."""

import time

from tests.browser.cluster import running
from tests.browser.conftest import fair_configuration
from tests.browser.test_applications import check_whole

from fairshare.server.insight.ledger import LedgerRow
from fairshare.server.insight.ledger_file import LedgerFile, Progress

HOUR_MS = 3_600_000


def test_a_queue_has_what_it_was_owed_and_opens_its_users(visit, tmp_path):
    visit.forgiven += ["ERR_", "(Not Found)"]
    with running(fair_configuration(tmp_path / "conf"), tmp_path / "state") as cluster:
        page = visit(f"{cluster.url}/cluster/ledger")
        page.get_by_text("there is no ledger yet").wait_for()
        now_ms = time.time_ns() // 1_000_000
        hour_ms = now_ms - now_ms % HOUR_MS
        place = (hour_ms, "root.ann", "eve", "", "memory-mb")
        rows = [
            LedgerRow(*place, "delivered", 1024 * HOUR_MS),
            LedgerRow(*place, "owed:lender", 3072 * HOUR_MS),
        ]
        file = LedgerFile(tmp_path / "state")
        file.add(rows, Progress(1, 1, now_ms, hour_ms))
        file.close()
        page.reload()
        row = page.locator(".vt-row", has_text="ann")
        row.wait_for()
        assert [text for text in row.inner_text().split() if text in ("4.00", "1.00", "3.00")] == [
            "4.00",
            "1.00",
            "3.00",
        ]
        page.get_by_text("owed by lender: held by others above their share").wait_for()
        check_whole(page, "the ledger", both=True)
        row.get_by_role("link", name="ann").click()
        page.get_by_role("heading", name="Ledger of ann").wait_for()
        page.locator(".vt-row", has_text="eve").wait_for()
        check_whole(page, "the ledger of users", both=True)
        page.goto(f"{cluster.url}/cluster/ledger?at={now_ms}")
        page.get_by_text("not of the moment that you look at").wait_for()

"""The file of the ledger: how long it keeps what."""

from fairshare.server.insight.ledger import HOUR_MS, LedgerRow
from fairshare.server.insight.ledger_file import KEPT_DAYS, LedgerFile, Progress, totals_of

_DAY_MS = 24 * HOUR_MS


def _owed(queue: str, hour_ms: int) -> LedgerRow:
    return LedgerRow(hour_ms, queue, "ann", "", "vcores", "owed:lender", 1_000)


def test_totals_of_a_queue_go_with_its_last_hour(tmp_path):
    file = LedgerFile(tmp_path)
    file.add([_owed("root.old", 0), _owed("root.both", 0)], Progress(1, 1, HOUR_MS, 0))
    late_ms = (KEPT_DAYS + 1) * _DAY_MS
    file.add([_owed("root.both", late_ms)], Progress(1, 2, late_ms, 0))
    file.close()
    assert totals_of(tmp_path, 10) == [("root.both", "vcores", "lender", 2_000)]


def test_a_file_that_is_full_of_totals_alone_loses_them(tmp_path, monkeypatch):
    monkeypatch.setattr("fairshare.server.insight.ledger_file.MOST_BYTES", 0)
    file = LedgerFile(tmp_path)
    for number in range(3):
        file.add([_owed(f"root.q{number}", 0)], Progress(1, number + 1, HOUR_MS, 0))
        file.add([], Progress(1, number + 1, HOUR_MS, 0))
    file.close()
    assert totals_of(tmp_path, 10) == []

"""Random scenarios that Hadoop's own schedulers have run: we decide the same, step by step.

The recordings are made by `python -m conformance --record`; to look into one that differs, see
`docs/conformance.md`.
"""

from pathlib import Path

import pytest
from conformance.comparison import compare
from conformance.recordings import lines, read
from conformance.side_by_side import record_ours

RECORDINGS = sorted(Path(__file__).parent.glob("*.jsonl.xz"))
PARTS = 4


def test_there_are_some_hundred_recorded_runs() -> None:
    assert sum(len(lines(path)) for path in RECORDINGS) >= 300
    assert sum(path.stat().st_size for path in RECORDINGS) < 1_000_000


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("part", range(PARTS))
def test_each_recorded_run_is_identical_in_decisions_and_state(path: Path, part: int) -> None:
    differing = []
    for recording in read(path, part, PARTS):
        verdict = compare(recording.record, record_ours(recording.document))
        if not verdict.identical:
            differing.append(f"{recording.name}: {verdict.first}")
    assert differing == []

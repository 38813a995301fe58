"""Random scenarios that Hadoop's own schedulers have run: we decide the same, step by step.

The recordings are made by `python -m conformance --record`; to look into one that differs, see
`docs/conformance.md`.
"""

from pathlib import Path

import pytest
from conformance.comparison import compare
from conformance.recordings import read
from conformance.side_by_side import record_ours

RECORDINGS = sorted(Path(__file__).parent.glob("*.jsonl.xz"))


def test_there_are_some_hundred_recorded_runs() -> None:
    assert sum(1 for path in RECORDINGS for _ in read(path)) >= 300
    assert sum(path.stat().st_size for path in RECORDINGS) < 1_000_000


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.partition(".")[0])
@pytest.mark.parametrize("part", range(4))
def test_each_recorded_run_is_identical_in_decisions_and_state(path: Path, part: int) -> None:
    differing = []
    for number, recording in enumerate(read(path)):
        if number % 4 == part:
            verdict = compare(recording.record, record_ours(recording.document))
            if not verdict.identical:
                differing.append(f"{recording.name}: {verdict.first}")
    assert differing == []

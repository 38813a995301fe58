"""Every shared scenario, with the manager replaced by its own snapshot before each input.

What a snapshot leaves out, or holds as it should not, shows as another decision.
"""

from itertools import count
from pathlib import Path

import pytest
from tests.effort import in_haste

from fairshare.core.model.invariants import check
from fairshare.lab.scenarios.cluster import Cluster
from fairshare.lab.scenarios.report import check_file
from fairshare.runtime.snapshot import freeze, thaw

SHARED = Path(__file__).parents[2].parent / "shared" / "scenarios"
if not SHARED.is_dir():
    pytest.skip(f"the shared scenarios are not there: {SHARED}", allow_module_level=True)

EVERY = 16 if in_haste() else 4
"""One of so many files: each kind is among them, and the whole takes seconds."""

FILES = [
    path
    for kind in ("fair", "capacity", "mapreduce")
    for path in sorted((SHARED / kind).rglob("*.yaml"))[::EVERY]
]


ALL_OF = 100
"""The inputs of a file that are all compared; of those after them, one of eight is. One file has a
thousand, which repeat."""


@pytest.fixture(autouse=True)
def decides_on_copies_too(monkeypatch):
    feed = Cluster.feed
    inputs = count()

    def compare(self, wish):
        number = next(inputs)
        if number >= ALL_OF and number % 8:
            return feed(self, wish)
        copy = thaw(freeze(0, self.now_ms, {"manager": self.manager}))["manager"]
        events = feed(self, wish)
        assert copy.handle(self.now_ms, wish) == events, wish
        check(copy.state)
        return events

    monkeypatch.setattr(Cluster, "feed", compare)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SHARED).as_posix())
def test_a_snapshot_before_each_input_changes_nothing(path):
    if check_file(path).result == "skipped":
        pytest.skip("this scheduler is not there yet")

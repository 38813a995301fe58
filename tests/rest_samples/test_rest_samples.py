"""Our answers are those of a real ResourceManager, but for differences that are written down."""

from pathlib import Path

import pytest
from tests.rest_samples.known import (
    DOCUMENT,
    known_patterns,
    obsolete_patterns,
    unknown_differences,
)
from tests.rest_samples.running import Outcome, run
from tests.rest_samples.samples import find_states

SHARED = Path(__file__).parents[3] / "shared"
SAMPLES = [SHARED / "rest-samples", SHARED / "rest-samples-more"]

pytestmark = pytest.mark.skipif(
    not all(folder.is_dir() for folder in SAMPLES), reason=f"{SHARED} has no rest-samples"
)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    return [outcome for folder in SAMPLES for outcome in run(folder)]


def test_all_samples_are_asked(outcomes):
    states = [state for folder in SAMPLES for state in find_states(folder)]
    assert len(outcomes) == sum(len(state.samples) for state in states)
    assert len(outcomes) > 1_000


def test_nearly_all_answers_agree(outcomes):
    """The answers after lost nodes under FIFO are few, and half of the defects of Hadoop that the
    samples show are among them."""
    usual = [one for one in outcomes if not one.name.startswith("fifo/lost/")]
    agreeing = sum(not outcome.differences for outcome in usual)
    assert agreeing >= 0.95 * len(usual)


def test_every_difference_is_written_down(outcomes):
    patterns = known_patterns(DOCUMENT.read_text())
    differing = [outcome.name for outcome in outcomes if outcome.differences]
    unknown = unknown_differences(differing, patterns)
    reported = {outcome.name: outcome.differences for outcome in outcomes}
    assert not unknown, "\n".join(f"{name}: {reported[name][0]}" for name in unknown)


def test_no_difference_is_written_down_that_is_gone(outcomes):
    patterns = known_patterns(DOCUMENT.read_text())
    differing = [outcome.name for outcome in outcomes if outcome.differences]
    assert obsolete_patterns(differing, patterns) == []

"""What papers have published, against the schedulers here (../shared/facts/papers)."""

from pathlib import Path
from typing import Any

import pytest
from tests.facts.runner import evaluate, read_facts

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "papers"
if not FACTS.is_dir():
    pytest.skip("the facts in ../shared/facts are not here", allow_module_level=True)

NOT_REPRODUCED = {
    "locality of jobs of ten maps, without and with waiting": (
        "without waiting 0.14 of the maps are local: with three random copies a job of ten maps"
        " finds its data on at most 27 of 100 nodes, and on fewer as it goes on"
    ),
    "sixteen frameworks on one cluster": "not set up",
    "completion times under DRF against slots, by job size": "not set up: the trace is not public",
    "delay scheduling against naive fair sharing, by job size": "not set up",
}
"""Simulations that do not come out, and why."""

LOCATED = [located for path in sorted(FACTS.glob("*.yaml")) for located in read_facts(path)]
HELD = [one for one in LOCATED if one.fact.get("name") not in NOT_REPRODUCED]


@pytest.mark.parametrize("located", HELD, ids=lambda x: f"{x.kind}-{x.number}")
def test_a_published_fact_holds_here(located: Any) -> None:
    outcome = evaluate(located)
    assert outcome.result == "passed", f"{outcome.name}: {outcome.message}"


def test_what_is_not_reproduced_is_still_among_the_facts() -> None:
    assert NOT_REPRODUCED.keys() <= {located.fact.get("name") for located in LOCATED}

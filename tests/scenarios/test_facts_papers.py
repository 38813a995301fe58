"""What papers have published, against the schedulers here (../shared/facts/papers)."""

from pathlib import Path
from typing import Any

import pytest
from tests.effort import in_haste
from tests.facts.runner import evaluate, read_facts

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "papers"
if not FACTS.is_dir():
    pytest.skip("the facts in ../shared/facts are not here", allow_module_level=True)

OUT_OF_REACH = {
    "locality of jobs of ten maps, without and with waiting",
    "delay scheduling against naive fair sharing, by job size",
}
"""Simulations with a number that their own setup rules out (tests/facts/reach.py says why)."""

LOCATED = [
    located
    for path in sorted(FACTS.glob("*.yaml"))
    if not (in_haste() and path.stem == "simulations")  # half a minute
    for located in read_facts(path)
]


@pytest.mark.parametrize("located", LOCATED, ids=lambda x: f"{x.kind}-{x.number}")
def test_a_published_fact_holds_here_or_its_setup_rules_it_out(located: Any) -> None:
    outcome = evaluate(located)
    expected = "passed"
    if located.fact.get("name") in OUT_OF_REACH:
        expected = "not reproducible here"
    assert outcome.result == expected, f"{outcome.name}: {outcome.message}"

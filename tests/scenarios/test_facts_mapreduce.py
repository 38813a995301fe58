"""The pool scheduler's single functions against facts of Hadoop (../shared/facts/mapreduce)."""

from pathlib import Path
from typing import Any

import pytest
from tests.facts.runner import evaluate, read_facts

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "mapreduce"
if not FACTS.is_dir():
    pytest.skip("the facts in ../shared/facts are not here", allow_module_level=True)

LOCATED = [located for path in sorted(FACTS.glob("*.yaml")) for located in read_facts(path)]


@pytest.mark.parametrize("located", LOCATED, ids=lambda x: f"{x.kind}-{x.number}")
def test_a_fact_of_hadoop_is_a_fact_here(located: Any) -> None:
    outcome = evaluate(located)
    assert outcome.result == "passed", f"{outcome.name}: {outcome.message}"

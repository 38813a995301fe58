"""The Fair Scheduler's single functions against facts of Hadoop (../shared/facts/fair)."""

from pathlib import Path
from typing import Any

import pytest
from tests.facts.kinds import KINDS
from tests.facts.runner import evaluate, read_facts

from fairshare.core.model.events import Locality

FACTS = Path(__file__).parents[2].parent / "shared" / "facts" / "fair"

if not FACTS.is_dir():
    pytest.skip("the facts in ../shared/facts are not here", allow_module_level=True)

LOCATED = [located for path in sorted(FACTS.glob("*.yaml")) for located in read_facts(path)]


@pytest.mark.parametrize("located", LOCATED, ids=lambda x: f"{x.kind}-{x.number}")
def test_a_fact_of_hadoop_is_a_fact_here(located: Any) -> None:
    outcome = evaluate(located)
    assert outcome.result == "passed", f"{outcome.name}: {outcome.message}"


def test_every_kind_that_is_answered_has_facts() -> None:
    everywhere = {path.stem for path in FACTS.parent.rglob("*.yaml")}
    assert set(KINDS) - everywhere == set()


def test_the_levels_are_ordered_from_near_to_far() -> None:
    assert Locality.NODE_LOCAL < Locality.RACK_LOCAL < Locality.OFF_SWITCH

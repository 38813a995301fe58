"""The scenarios of `conformance/spellings.py`: each kind gives valid ones, and always the same."""

import pytest
from conformance.side_by_side import is_scenario, record_ours

from conformance import spellings

KINDS = [
    (scheduler, kind)
    for scheduler, kinds in (("capacity", spellings.CAPACITY), ("fair", spellings.FAIR))
    for kind in kinds
]


@pytest.mark.parametrize(("scheduler", "kind"), KINDS)
def test_every_kind_gives_scenarios_that_run(scheduler: str, kind: str) -> None:
    for number in range(20):
        document = spellings.scenario(scheduler, number, [kind])
        assert document["name"] == f"{kind} {number}"
        assert is_scenario(document)
        assert "crash" not in record_ours(document)


@pytest.mark.parametrize("scheduler", ["capacity", "fair"])
def test_a_number_is_always_the_same_scenario(scheduler: str) -> None:
    first, second = (spellings.scenario(scheduler, 7) for _ in range(2))
    assert first == second
    assert first != spellings.scenario(scheduler, 8)

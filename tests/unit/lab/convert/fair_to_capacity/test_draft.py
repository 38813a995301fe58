"""The file of rules: what must not be lost."""

import pytest
from tests.unit.lab.convert.fair_to_capacity.converted import converted

from fairshare.errors import ConfigurationError
from fairshare.lab.convert.fair_to_capacity.draft import ConversionRefused, read_rules

MINIMUM = (
    "<queue name='a'><minResources>90000 mb, 10 vcores</minResources></queue><queue name='b'/>"
)


def test_a_loss_that_is_forbidden_refuses_the_conversion() -> None:
    conversion = converted(MINIMUM)
    rules = read_rules("# ours\nminResources.action = ABORT\n", "rules")
    with pytest.raises(ConversionRefused, match=r"root\.a: minResources .* lost"):
        rules.check(conversion.findings, conversion.children)
    read_rules("minResources.action=warning", "rules").check(conversion.findings, {})


def test_too_many_queues_below_one_are_refused() -> None:
    conversion = converted(MINIMUM)
    with pytest.raises(ConversionRefused, match="root has 2 queues below it, more than 1"):
        read_rules("maxChildQueue.limit=1", "rules").check((), conversion.children)
    read_rules("maxChildQueue.limit=2", "rules").check((), conversion.children)


def test_all_mistakes_in_the_file_are_reported_with_their_lines() -> None:
    text = (
        "minResources.action\nmaxChildQueue.limit=many\n\nother.action=abort\nfairAsDrf.action=stop"
    )
    with pytest.raises(ConfigurationError) as error:
        read_rules(text, "rules")
    assert [problem.line for problem in error.value.problems] == [1, 2, 4, 5]  # type: ignore[attr-defined]

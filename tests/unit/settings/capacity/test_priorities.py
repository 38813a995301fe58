"""Lists of priorities are read as Hadoop reads them."""

import pytest

from fairshare.core.schedulers.capacity.settings import PriorityRule, WorkflowPriority
from fairshare.settings.capacity.text import read_priority_rules, read_workflow_priorities


def test_groups_are_in_brackets_and_sorted_by_their_maximum() -> None:
    text = "[user=ann,bob group=dev max_priority=7 default_priority=4] [user=cid max_priority=2]"
    rules, lowered = read_priority_rules(text, 10)
    assert rules == (PriorityRule("cid", 2, 0), PriorityRule("ann,bob dev", 7, 4))
    assert not lowered


def test_a_maximum_above_the_clusters_is_lowered() -> None:
    rules, lowered = read_priority_rules("[user=ann max_priority=7]", 5)
    assert rules == (PriorityRule("ann", 5, 0),)
    assert lowered


def test_a_group_alone_is_read_as_users() -> None:
    assert read_priority_rules("[group=dev max_priority=1]", 9)[0] == (PriorityRule("dev", 1, 0),)
    rules, _ = read_priority_rules("[group=dev user=ann max_priority=1]", 9)
    assert rules == (PriorityRule("dev ann", 1, 0),)


def test_a_star_means_all_users() -> None:
    rules, _ = read_priority_rules("[user=ann group=* max_priority=1 default_priority=-3]", 9)
    assert rules == (PriorityRule("*", 1, 0),)


@pytest.mark.parametrize("text", ["*", "", "ann", "[]"])
def test_a_text_without_groups_restricts_no_user(text: str) -> None:
    assert read_priority_rules(text, 9) == ((), False)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("[max_priority=3]", "names no users"),
        ("[user=ann]", "has no max_priority="),
        ("[user=ann max_priority=high]", "'high' is not a whole number"),
        ("[user=ann maximum=3]", "there is no key 'maximum'"),
    ],
)
def test_a_bad_group_is_refused(text: str, reported: str) -> None:
    with pytest.raises(ValueError, match=reported):
        read_priority_rules(text, 9)


def test_workflows_have_a_queue_and_a_priority() -> None:
    found = read_workflow_priorities(" Nightly:root.a:2 , w2 : root.b : -1,")
    assert found == (
        WorkflowPriority("nightly", "root.a", 2),
        WorkflowPriority("w2", "root.b", -1),
    )


@pytest.mark.parametrize("text", ["a:b", "a:b:c:d", "a:b:high"])
def test_a_bad_workflow_is_refused_in_hadoops_words(text: str) -> None:
    with pytest.raises(ValueError, match="Illegal workflow priority"):
        read_workflow_priorities(text)

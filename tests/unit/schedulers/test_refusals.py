"""The queue that a refusal names can be read back from its code and its reason."""

import pytest

from fairshare.schedulers.capacity import wording as capacity
from fairshare.schedulers.fair import wording as fair

WRITTEN = [
    (capacity, "not-a-leaf-queue", capacity.non_leaf_queue("ann", "root.a")),
    (capacity, "unknown-queue", capacity.unknown_queue("root.a")),
    (capacity, "queue-stopped", capacity.stopped_queue("root.a")),
    (fair, "access-denied", fair.may_not_submit("ann", "root.a")),
]


@pytest.mark.parametrize(("scheduler", "code", "reason"), WRITTEN, ids=lambda part: str(part)[:24])
def test_the_queue_of_a_refusal_is_the_one_that_was_written(scheduler, code, reason):
    assert scheduler.queue_of_refusal(code, reason) == "root.a"


@pytest.mark.parametrize("scheduler", [capacity, fair])
def test_a_refusal_for_another_reason_names_no_queue(scheduler):
    assert scheduler.queue_of_refusal("queue-limit", "Queue root.a already has 2") == ""
    assert scheduler.queue_of_refusal("access-denied", "User ann does not run here") == ""
    assert scheduler.queue_of_refusal("unknown-queue", "root.a cannot be made") == ""

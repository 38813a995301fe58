"""When the runtime ends applications whose lifetime is limited, whatever the scheduler."""

import msgspec
import pytest

from fairshare.core.model.events import ApplicationState, RequestRefused
from fairshare.core.model.inputs import ChangeLifetime, KillApplication


@pytest.fixture
def running(bench, submit):
    """An application that may live for 10 s, submitted at 20 s."""
    bench.join("n1")
    bench.runtime.settle(10_000)  # queues are tidied up after the start
    bench.runtime.turn(20_000, [msgspec.structs.replace(submit(), lifetime_s=10)])
    return bench


def test_an_application_without_a_lifetime_is_never_ended(bench, submit):
    bench.join("n1")
    bench.runtime.settle(10_000)
    bench.runtime.turn(20_000, [submit()])
    assert bench.runtime.next_deadline_ms() is None


def test_it_is_killed_at_the_instant_and_not_before(running):
    runtime, application = running.runtime, running.state.applications[1]
    assert runtime.next_deadline_ms() == 30_000
    runtime.settle(29_999)
    assert not application.over
    runtime.settle(30_000)
    assert application.state == ApplicationState.KILLED
    assert "its lifetime (LIFETIME) of 10 s is over" in application.diagnostics
    assert running.engine.stopped
    assert runtime.next_deadline_ms() != 30_000


def test_a_later_lifetime_replaces_the_former(running):
    running.runtime.turn(22_000, [ChangeLifetime(1, 50_000)])
    assert running.runtime.next_deadline_ms() == 50_000
    running.runtime.settle(30_000)
    assert not running.state.applications[1].over
    running.runtime.settle(50_000)
    assert running.state.applications[1].over


def test_an_end_in_the_past_is_refused(running):
    ((_, events),) = running.runtime.turn(22_000, [ChangeLifetime(1, 22_000)])
    assert isinstance(events[0], RequestRefused)
    assert "kill it instead" in events[0].reason


def test_what_is_over_needs_no_waking(running):
    running.runtime.turn(22_000, [KillApplication(1)])
    deadline_ms = running.runtime.next_deadline_ms()
    assert deadline_ms is None or deadline_ms > 30_000


def test_a_restart_forgets_no_end(running):
    running.restart()
    running.runtime.settle(30_500)
    assert running.state.applications[1].state == ApplicationState.KILLED

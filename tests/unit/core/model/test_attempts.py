"""An attempt has what belongs to one run of a master; its application has what outlives it."""

from fairshare.core.model.applications import Application, Attempt
from fairshare.core.model.events import ApplicationState, ContainerAllocated, Locality
from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import SubmitApplication

ONE = container_id(1, 1, 7)


def application(**submission) -> Application:
    return Application(1, SubmitApplication("ann", **submission), "root.a", 3, 100, 2)


def allocated(container: int) -> ContainerAllocated:
    return ContainerAllocated(
        container, 1, "n1", (1024, 1), 1, 0, Locality.OFF_SWITCH, False, False, 0
    )


def test_an_application_that_has_not_started_has_an_inactive_attempt_with_the_number_0():
    new = application()
    assert (new.attempt.number, new.attempt.active, new.attempt.application) == (0, False, new)
    assert (new.containers, new.used) == ({}, (0, 0))


def test_the_next_attempt_takes_over_containers_and_nothing_else():
    new = application()
    first = new.attempt = Attempt(new, 1, 2)
    first.containers = {ONE: allocated(ONE)}
    first.launched = {ONE: 500}
    first.to_preempt = {ONE: None}
    first.used = (1024, 1)
    first.change_blacklist(["n2"], [])
    first.next_container = 8
    first.registered = True
    second = Attempt(new, 2, 2)
    second.take_over(first)
    new.attempt = second
    assert (list(new.containers), new.used) == ([ONE], (1024, 1))
    assert (second.launched, second.to_preempt) == ({ONE: 500}, {ONE: None})
    assert (second.blacklist, second.next_container, second.registered) == ({}, 1, False)


def test_a_recovering_master_comes_back_in_the_first_attempt_alone():
    new = application(master=(1024, 1), recovering=True)
    first, second = Attempt(new, 1, 2), Attempt(new, 2, 2)
    assert (first.comes_back, first.waits_for_master) == (True, False)
    assert (second.comes_back, second.waits_for_master) == (False, True)


def test_a_running_application_that_a_limit_holds_back_is_shown_as_pending():
    new = application()
    new.state = ApplicationState.RUNNING
    assert new.shown_state == ApplicationState.PENDING
    new.attempt.runnable = True
    assert new.shown_state == ApplicationState.RUNNING

"""What is remembered of containers."""

import msgspec
import pytest
from tests.observing import follower

from fairshare.core.model.events import (
    ApplicationsForgotten,
    AttemptStarted,
    ContainerAllocated,
    ContainerCompleted,
    ContainerLaunched,
    ContainerRunning,
    Event,
    GangRestarted,
    Locality,
)
from fairshare.core.model.identifiers import container_id
from fairshare.core.model.inputs import NodeBeat
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.record import Record
from fairshare.core.schedulers.fifo import FifoScheduler
from fairshare.runtime.journal.memory import MemoryJournal
from fairshare.runtime.journal.protocol import ObservedJournal
from fairshare.runtime.projections.container_history import (
    MAX_DIAGNOSTICS,
    ContainerHistory,
    ContainerRecord,
)

SCHEDULER = FifoScheduler(ResourceTypes())


def allocated(container: int, application: int = 1, at_ms: int = 5) -> ContainerAllocated:
    return ContainerAllocated(
        container, application, "n1", (512, 1), 1, 0, Locality.OFF_SWITCH, False, False, at_ms
    )


def apply(history: ContainerHistory, now_ms: int, event: Event) -> None:
    follower(history, SCHEDULER)(Record(1, now_ms, NodeBeat("n1"), (event,)))


def test_a_container_goes_from_allocated_to_running_to_complete():
    history = ContainerHistory()
    container = container_id(1, 1, 1)
    states = []
    for now_ms, event in [
        (5, allocated(container)),
        (5, ContainerLaunched(container, None, 0, 3)),
        (6, ContainerRunning(container)),
        (9, ContainerCompleted(container, 1, "boom", 12, 34)),
    ]:
        apply(history, now_ms, event)
        states.append(history.container(container).state)
    assert states == ["ALLOCATED", "ALLOCATED", "RUNNING", "COMPLETE"]
    record = history.container(container)
    assert (record.allocated_ms, record.launched_ms, record.running_ms) == (5, 5, 6)
    assert (record.finished_ms, record.exit_code, record.diagnostics) == (9, 1, "boom")
    assert (record.peak_memory_mb, record.cpu_ms, record.node) == (12, 34, "n1")


def test_a_task_counts_its_containers_and_knows_the_last():
    history = ContainerHistory()
    for number in (1, 2):
        container = container_id(1, 1, number)
        apply(history, number, allocated(container))
        apply(history, number, ContainerLaunched(container, None, 2, 4))
        apply(history, number, ContainerCompleted(container, 3 - number))
    task = history.application(1).tasks[(2, 4)]
    assert task.attempts == 2
    assert task.last.container == container_id(1, 1, 2)
    assert task.last.exit_code == 1


def test_a_task_whose_only_container_did_not_fail_is_not_kept():
    history = ContainerHistory()
    for number, exit_code in enumerate((0, 1)):
        container = container_id(1, 1, number + 1)
        apply(history, 1, allocated(container))
        apply(history, 1, ContainerLaunched(container, None, 0, number))
        assert history.application(1).tasks == {}
        apply(history, 2, ContainerCompleted(container, exit_code))
    ((task, record),) = history.application(1).tasks.items()
    assert (task, record.attempts, record.last.exit_code) == ((0, 1), 1, 1)


@pytest.mark.parametrize("event", [GangRestarted(1, 0), AttemptStarted(1, 2, True)])
def test_a_task_that_runs_again_after_its_success_counts_both_containers(event):
    history = ContainerHistory()
    for number in (1, 2):
        container = container_id(1, 1, number)
        apply(history, 1, allocated(container))
        apply(history, 1, ContainerLaunched(container, None, 0, 7))
        apply(history, 2, ContainerCompleted(container, 0))
        if number == 1:
            apply(history, 3, event)
    task = history.application(1).tasks[(0, 7)]
    assert (task.attempts, task.last.container) == (2, container_id(1, 1, 2))


def test_the_oldest_finished_containers_are_forgotten_first():
    history = ContainerHistory(limit=2)
    containers = [container_id(1, 1, number) for number in range(1, 5)]
    for container in containers:
        apply(history, 1, allocated(container))
        apply(history, 1, ContainerLaunched(container, None, 0, 0))
    for container in containers[:3]:
        apply(history, 2, ContainerCompleted(container, 0))
    assert list(history.application(1).containers) == containers[1:]
    assert history.take_forgotten() == []


def test_an_application_without_a_known_container_is_forgotten_as_a_whole_once():
    history = ContainerHistory(limit=1)
    for application in (1, 2, 3):
        container = container_id(application, 1, 1)
        apply(history, 1, allocated(container, application))
        apply(history, 1, ContainerLaunched(container, None, 0, 0))
        apply(history, 1, ContainerCompleted(container, 0))
    assert history.take_forgotten() == [1, 2]
    assert history.take_forgotten() == []
    assert history.application(1).tasks == {}
    assert history.container(container_id(1, 1, 1)) is None


def finished(history: ContainerHistory, containers: list[int], application: int = 1) -> None:
    for number, container in enumerate(containers):
        apply(history, 1_000, allocated(container, application))
        apply(history, 1_001, ContainerLaunched(container, None, 0, number))
        apply(history, 1_002, ContainerRunning(container, gpus=("gpu0",)))
        apply(history, 1_900, ContainerCompleted(container, number % 2, f"code {number}", 12, 34))


def fields(record: ContainerRecord) -> tuple[object, ...]:
    row: tuple[object, ...] = msgspec.structs.astuple(record)
    return row


def test_a_packed_application_has_the_same_containers_and_tasks():
    whole, packed = ContainerHistory(), ContainerHistory()
    containers = [container_id(7, 2, number) for number in (1, 2, 3)]
    for history in (whole, packed):
        finished(history, containers, 7)
    packed.pack(7)
    one, other = whole.application(7), packed.application(7)
    assert [fields(r) for r in one.containers.values()] == [
        fields(r) for r in other.containers.values()
    ]
    assert {place: (t.attempts, t.last.container) for place, t in one.tasks.items()} == {
        place: (t.attempts, t.last.container) for place, t in other.tasks.items()
    }
    assert other.tasks[0, 1].last is other.containers[containers[1]]
    assert [r.container for r in packed.on_node("n1", 1_500)] == containers
    assert packed.on_node("n1", 2_000) == packed.on_node("n2", 1_500) == []


def test_an_application_of_which_a_container_lives_is_not_packed():
    history = ContainerHistory()
    container = container_id(1, 1, 1)
    apply(history, 1, allocated(container))
    history.pack(1)
    apply(history, 2, ContainerCompleted(container, 0))
    assert history.container(container).finished_ms == 2


def test_the_containers_of_a_packed_application_are_forgotten_one_by_one():
    history = ContainerHistory(limit=2)
    containers = [container_id(1, 1, number) for number in (1, 2)]
    finished(history, containers)
    history.pack(1)
    for number in (2, 3):
        finished(history, [container_id(number, 1, 1)], number)
        assert list(history.application(1).containers) == containers[number - 1 :]
    assert history.take_forgotten() == [1]


def test_a_packed_application_is_forgotten_with_its_containers():
    history = ContainerHistory()
    finished(history, [container_id(1, 1, 1)])
    history.pack(1)
    apply(history, 5, ApplicationsForgotten((1,)))
    assert history.container(container_id(1, 1, 1)) is None
    assert history.is_complete
    assert history.take_forgotten() == [1]


def test_of_long_diagnostics_the_end_is_kept():
    history = ContainerHistory()
    container = container_id(1, 1, 1)
    apply(history, 1, allocated(container))
    apply(history, 1, ContainerCompleted(container, 1, "x" * MAX_DIAGNOSTICS + "end"))
    diagnostics = history.container(container).diagnostics
    assert len(diagnostics) == MAX_DIAGNOSTICS
    assert diagnostics.endswith("xend")


def test_reading_a_journal_fills_the_history():
    journal, history = MemoryJournal(), ContainerHistory()
    container = container_id(1, 1, 1)
    journal.append(Record(1, 5, NodeBeat("n1"), (allocated(container),)))
    journal.append(Record(2, 8, NodeBeat("n1"), (ContainerCompleted(container, 4),)))
    journal.commit()
    observed = ObservedJournal(journal, follower(history, SCHEDULER))
    assert [record.sequence for record in observed.records()] == [1, 2]
    assert history.container(container).exit_code == 4
    assert history.container(container).finished_ms == 8

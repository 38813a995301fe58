"""Names of applications and containers never come again, whatever journal is in the directory."""

from pathlib import Path

import pytest
from tests.managed import SETTINGS, Managed

from fairshare.core.model.events import ContainerAllocated, Event
from fairshare.core.model.identifiers import NUMBERS_AHEAD
from fairshare.core.model.inputs import (
    ContainerExited,
    Input,
    NodeBeat,
    SubmitApplication,
    UpdateShares,
)
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.runtime.observers import Observers
from fairshare.runtime.recovery import Position
from fairshare.server import journal_epochs
from fairshare.server.journal_epochs import CONTAINERS_AT_ONCE, GivenNumbers

pytestmark = pytest.mark.slow

ROOM = 16
MANY = TaskGroup("t", 1_000_000, (1024, 1), Command(("true",)))
SUBMISSION = SubmitApplication("ann", "default", tasks=(MANY,))


class Life:
    """A server's numbers on a node of sixteen containers, behind a journal, which is its inputs.

    Its names are numbers of applications, and of containers.
    """

    def __init__(self, directory: Path, *journal: Input, epoch_ms: int = 1) -> None:
        self.managed = Managed("fair", SETTINGS["fair"], (ROOM * 1024, ROOM))
        self.journal: list[Input] = []
        for given in journal:
            self._decide(given)
        self.numbers = GivenNumbers(directory)
        self.observers = Observers()
        self.numbers.subscribe(self.observers, self.managed.state)
        state, position = self.managed.state, Position(len(journal), 0)
        containers = directory / "containers"
        place = (epoch_ms, containers)
        self.begun = list(self.numbers.begin(state, position, *place))
        containers.mkdir(exist_ok=True)
        for given in self.begun:
            self.feed(given)

    def _decide(self, given: Input) -> tuple[Event, ...]:
        events = self.managed.feed(given)
        if events:
            self.journal.append(given)
        return events

    def feed(self, given: Input) -> tuple[Event, ...]:
        events = self._decide(given)
        if events:
            record = Record(len(self.journal), 0, given, events)
            self.observers.observe([record])
        return events

    def submit(self) -> int:
        self.feed(SUBMISSION)
        return max(self.managed.state.applications)

    def run(self, rounds: int = 1) -> list[int]:
        """The containers that start in so many rounds, all of which end at once."""
        started = []
        for _ in range(rounds):
            self.feed(UpdateShares())
            granted = [
                event.container
                for event in self.feed(NodeBeat("n1"))
                if isinstance(event, ContainerAllocated)
            ]
            assert granted
            for container in granted:
                self.feed(ContainerExited(container, 0))
            started += granted
        return started

    def crash(self) -> "Life":
        """The next life, on the same journal."""
        self.numbers.close(in_order=False)
        return self


def test_a_crash_leaves_no_gap_in_the_numbers(tmp_path):
    first = Life(tmp_path)
    first.submit()
    before = first.run(2)
    again = Life(tmp_path, *first.crash().journal)
    assert again.begun == []
    assert again.run()[0] == before[-1] + 1
    assert again.submit() == 2


def test_a_copy_that_is_put_back_ever_again_gives_no_name_twice(tmp_path):
    life = Life(tmp_path)
    names = [life.submit()]
    containers = life.run()
    copy = tuple(life.journal)
    for _ in range(5):
        containers += life.run(3)
        names.append(life.submit())
        life = Life(tmp_path, *life.crash().journal)  # it goes on for a while
        assert life.begun == []
        containers += life.run()
        life.crash()
        life = Life(tmp_path, *copy)
        containers += life.run()
    assert len(set(containers)) == len(containers)
    assert len(set(names)) == len(names)


def test_a_copy_of_a_branch_that_an_older_copy_had_ended_gives_no_name_twice(tmp_path):
    """The newer one is longer than all that was recorded behind the older one."""
    life = Life(tmp_path)
    life.submit()
    containers = life.run()
    older = tuple(life.journal)
    containers += life.run(5)
    newer = tuple(life.journal)
    containers += life.run(5)
    life.crash()
    life = Life(tmp_path, *older)
    containers += life.run()
    life.crash()
    life = Life(tmp_path, *newer)
    containers += life.run()
    assert len(set(containers)) == len(containers)


def test_a_crash_before_the_numbers_are_continued_does_not_hide_the_copy(tmp_path):
    life = Life(tmp_path)
    life.submit()
    copy = tuple(life.journal)
    containers = life.run(2)
    life.crash()
    for _ in range(2):  # its state and position are read, and nothing comes into the journal
        numbers = GivenNumbers(tmp_path)
        state = life.managed.state
        position = Position(len(copy), 0)
        assert list(numbers.begin(state, position, 1, tmp_path / "containers"))
        numbers.close(in_order=False)
    assert not set(Life(tmp_path, *copy).run()) & set(containers)


def test_after_a_failure_of_the_machine_numbers_continue_behind_all_that_may_be_lost(
    tmp_path, monkeypatch
):
    """The last number in the file may not have reached the disk."""
    life = Life(tmp_path)
    life.submit()
    life.run()
    life.crash()
    monkeypatch.setattr(journal_epochs, "boot_id", lambda: "another boot")
    again = Life(tmp_path, *life.journal)
    assert again.run()[0] & 0xFFFFFFFF == CONTAINERS_AT_ONCE + 1
    again.numbers.close(in_order=True)
    monkeypatch.setattr(journal_epochs, "boot_id", lambda: "a third boot")
    assert Life(tmp_path, *again.journal).begun == []


def test_a_copy_begins_in_a_directory_of_its_own_far_behind_what_it_knows(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    life = Life(tmp_path / "first")
    life.submit()
    copy = tuple(life.journal)
    containers = life.run(100)
    names = [life.submit() for _ in range(20)]
    life.crash()
    other = Life(tmp_path / "second", *copy)
    assert not set(other.run()) & set(containers)
    assert other.submit() not in names
    assert other.submit() > NUMBERS_AHEAD


def test_journals_of_two_epochs_that_take_turns_give_no_name_twice(tmp_path):
    """The journal is lost, and names have a new epoch; then a copy of the old one is found."""
    life = Life(tmp_path)
    life.submit()
    copy = tuple(life.journal)
    containers = life.run()
    for turn in range(2, 5):
        life.crash()
        life = Life(tmp_path, epoch_ms=turn)
        assert life.begun == []
        assert life.submit() == 1
        life.crash()
        life = Life(tmp_path, *copy)
        containers += life.run()
    assert len(set(containers)) == len(containers)


def test_numbers_continue_far_behind_the_journal_if_their_file_is_damaged(tmp_path):
    life = Life(tmp_path)
    life.submit()
    copy = tuple(life.journal)
    containers = life.run()
    life.crash()
    (tmp_path / journal_epochs.NUMBERS_FILE).write_text("damaged")
    (tmp_path / "containers" / "application_1_0001" / "container_1_0001_01_000002").mkdir(
        parents=True
    )
    assert not set(Life(tmp_path, *copy).run()) & set(containers)


def test_a_file_of_numbers_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / journal_epochs.NUMBERS_FILE).mkdir()
    with pytest.raises(Exception, match=r"cannot write .*numbers: Is a directory"):
        GivenNumbers(tmp_path)

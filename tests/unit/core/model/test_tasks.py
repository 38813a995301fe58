"""The tasks of an application: which of them wait, run, and run again."""

import random

import pytest

from fairshare.core.model.tasks import FEW_TASKS, TaskBoard
from fairshare.core.model.work import TaskGroup


def board_of(*groups: TaskGroup) -> TaskBoard:
    board = TaskBoard()
    board.add(groups)
    return board


@pytest.mark.parametrize("count", [3, FEW_TASKS, FEW_TASKS + 1])
def test_tasks_start_in_order_and_those_that_failed_come_last(count):
    board = board_of(TaskGroup("t", count, (1024, 1)))
    for task in range(count):
        assert board.groups[0].waiting[0] == task
        board.launched(100 + task, 0, task)
    assert not board.waits
    board.completed(101, 1)
    board.completed(100, -100)
    board.completed(102, 0)
    assert list(board.groups[0].waiting) == [1, 0]
    assert (board.waits, board.over) == (True, False)
    board.launched(200, 0, 0)  # not the first one: a journal may say so
    assert list(board.groups[0].waiting) == [1]


def test_a_group_finds_an_earlier_one_that_was_added_when_no_group_waited_for_another():
    board = board_of(TaskGroup("map", 2, (1024, 1)))
    board.add((TaskGroup("other", 1, (1024, 1)),))
    board.add((TaskGroup("reduce", 1, (1024, 1), after=("map",)),))
    reduce = board.groups[2]
    assert not board.ready(reduce)
    for task in range(2):
        board.launched(task, 0, task)
        board.completed(task, 0)
    assert board.ready(reduce)
    board.add((TaskGroup("last", 1, (1024, 1), after=("reduce",)),))
    assert not board.ready(board.groups[3])


def test_a_command_that_cannot_start_is_remembered_for_its_group_alone():
    one, other = board_of(TaskGroup("t", 1, (1, 1))), board_of(TaskGroup("t", 1, (1, 1)))
    one.launched(1, 0, 0)
    one.completed(1, 127, final=True)
    assert one.hopeless == (0, 0)
    assert other.hopeless is None
    assert not other.groups[0].unstartable


KINDS = (
    TaskGroup("plain", 3, (1, 1), max_attempts=2),
    TaskGroup("gang", 2, (1, 1), gang=True),
    TaskGroup("next", 2, (1, 1), after=("plain",), keep_going=True, max_attempts=1),
)


@pytest.mark.parametrize("seed", range(40))
def test_what_a_board_counts_is_what_its_groups_say(seed):
    chance = random.Random(seed)
    board = board_of(*chance.sample(KINDS, 2))
    for container in range(60):
        step = chance.random()
        starting = [n for n, progress in enumerate(board.groups) if progress.waiting]
        if step < 0.5 and starting:
            number = chance.choice(starting)
            board.launched(container, number, chance.choice(list(board.groups[number].waiting)))
        elif step < 0.95 and board.assigned:
            board.completed(chance.choice(list(board.assigned)), chance.choice([0, 0, 1, -100]))
        elif step > 0.97:
            board.restart(chance.randrange(len(board.groups)))
        elif step > 0.95 and len(board.groups) < len(KINDS):
            used = {progress.spec.name for progress in board.groups}
            board.add(tuple(kind for kind in KINDS if kind.name not in used))
        groups = board.groups
        assert board.waits == any(progress.waiting for progress in groups)
        assert board.over == (
            not any(one.running or (one.waiting and board.ready(one)) for one in groups)
        )
        assert board.depends_on_running == any(one.spec.gang for one in groups)
        assert board.hopeless == next(
            (
                (number, task)
                for number, one in enumerate(groups)
                if not one.spec.keep_going
                for task in one.failed
                if one.failures_of(task) >= one.spec.attempts
            ),
            None,
        )

"""With little room on the disk nothing is admitted, and what runs goes on."""

import logging

import pytest

from fairshare.core.model.inputs import KillApplication, NodeLost, SubmitApplication
from fairshare.core.model.work import Command, TaskGroup
from fairshare.core.record import Record
from fairshare.errors import InputError, JournalError
from fairshare.runtime.journal import files
from fairshare.runtime.journal.files import Reserve
from fairshare.runtime.journal.sqlite import DiskFullError, SqliteJournal
from fairshare.server.disk import MB, Disk

ONE = SubmitApplication("ann", tasks=(TaskGroup("t", 1, (512, 1), Command(("true",))),))


class Room:
    """What a disk is said to have free."""

    def __init__(self, free: int, size: int = 100 * 1024 * MB) -> None:
        self.free, self.size = free, size

    def __call__(self, path) -> tuple[int, int]:
        return self.free, self.size


@pytest.mark.parametrize(
    ("least_mb", "size", "threshold"),
    [
        (None, 100 * 1024 * MB, 256 * MB),
        (None, 1000 * MB, 50 * MB),
        (7, 1000 * MB, 7 * MB),
    ],
)
def test_the_threshold_is_what_is_said_or_a_share_of_a_small_disk(
    tmp_path, least_mb, size, threshold
):
    room = Room(threshold, size)
    disk = Disk(tmp_path, least_mb, room)
    disk.look()
    assert not disk.problem
    room.free = threshold - 1
    disk.look()
    assert "nothing is admitted" in disk.problem
    assert str(tmp_path) in disk.problem


def test_inodes_have_a_threshold_of_their_own(tmp_path):
    plenty, inodes = Room(100 * 1024 * MB), Room(149, 3_000)
    changes = []
    disk = Disk(tmp_path, probe=plenty, inodes=inodes)
    disk.on_change = changes.append
    disk.look()
    assert disk.shortage == "nearly out of inodes"
    assert "149 of 3,000 are free, and with less than 150 nothing is admitted" in disk.problem
    inodes.free = 150
    disk.look()
    assert disk.shortage  # a tenth more must be free
    inodes.free = 165
    disk.look()
    assert not disk.problem
    assert changes == [True, False]
    for free, size, least in ((9_999, 10**7, None), (4, 3_000, 5)):
        few = Disk(tmp_path, probe=plenty, inodes=Room(free, size), least_inodes=least)
        few.look()
        assert few.shortage == "nearly out of inodes"
    uncounted = Disk(tmp_path, probe=plenty, inodes=Room(0, 0))
    uncounted.look()
    assert not uncounted.problem


def test_a_threshold_of_nothing_is_never_reached(tmp_path):
    disk = Disk(tmp_path, 0, Room(0))
    disk.look()
    assert not disk.problem


def test_a_little_more_room_is_needed_than_was_missing_and_each_change_is_said_once(
    tmp_path, caplog
):
    room = Room(1 * MB)
    disk = Disk(tmp_path, 10, room)
    with caplog.at_level(logging.INFO):
        for free_mb in (1, 2, 10, 12, 13):
            room.free = free_mb * MB
            disk.look()
            assert bool(disk.problem) == (free_mb < 11)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


@pytest.mark.anyio
async def test_submissions_are_refused_and_the_rest_goes_on(server):
    await server.service.ask(ONE)
    server.disk._probe = Room(0)
    server.disk.look()
    with pytest.raises(InputError, match="nearly full") as refused:
        await server.service.ask(ONE)
    assert refused.value.code == "disk-full"
    await server.service.ask(KillApplication(1))
    assert server.service.state.applications[1].over
    server.disk._probe = Room(100 * 1024 * MB)
    server.disk.look()
    await server.service.ask(ONE)
    assert 2 in server.service.state.applications


def test_a_reserve_is_set_aside_once_and_given_up_piece_by_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "RESERVE_BYTES", 2 * files.PIECE_BYTES + 1)
    kept = Reserve(tmp_path)
    assert not kept.give()
    kept.fill()
    path = tmp_path / files.RESERVE_FILE
    assert path.stat().st_size == 2 * files.PIECE_BYTES + 1
    assert path.stat().st_blocks * 512 >= path.stat().st_size
    assert [kept.give() for _ in range(4)] == [True, True, True, False]
    kept.fill()
    assert path.stat().st_size == 2 * files.PIECE_BYTES + 1


def test_a_commit_takes_of_the_reserve_until_it_fits_and_fails_without(tmp_path, monkeypatch):
    journal = SqliteJournal(tmp_path)
    pieces, written = [1, 2], []

    def write(statement, rows):
        if pieces:
            raise DiskFullError("the disk is full")
        written.append(rows)

    monkeypatch.setattr(journal, "_write", write)
    monkeypatch.setattr(journal._reserve, "give", lambda: bool(pieces and pieces.pop()))
    journal.append(Record(1, 1, NodeLost("n1"), ()))
    journal.commit()
    assert [[row[0] for row in rows] for rows in written] == [[1]]
    pieces.append(0)
    journal.append(Record(2, 1, NodeLost("n1"), ()))
    with pytest.raises(JournalError, match="the disk is full"):
        journal.commit()
    journal.append(Record(3, 1, NodeLost("n2"), ()))
    journal.commit()
    assert [[row[0] for row in rows] for rows in written] == [[1], [2, 3]]
    journal.close()

"""How the files of containers are deleted: out of the way at once, then as their owners could."""

import logging
import os
import stat
import time
from pathlib import Path

import pytest

from fairshare.engines.local import removal as module
from fairshare.engines.local.removal import Removal, Unfinished, remove_tree
from fairshare.engines.local.state import StateDirectory

ROOT = os.geteuid() == 0
NOBODY = 65534


def until(holds):
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def state(tmp_path):
    state = StateDirectory(tmp_path / "state")
    state.create()
    return state


@pytest.fixture
def removal(state):
    removal = Removal(state)
    yield removal
    removal.close()


def application(state, number=1):
    """The directory of an application with one container, which has left a file."""
    work = state.container(f"application_1_{number:04}", "container_1").work
    work.mkdir(parents=True)
    (work / "kept").write_text("x")
    return work.parents[1]


def test_a_tree_is_deleted_and_what_a_link_in_it_points_to_is_not(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    inside = tmp_path / "inside" / "a" / "b" / "c" / "d"
    inside.mkdir(parents=True)
    (inside / "link").symlink_to(outside)
    (inside / "file").touch()
    for closed in (inside, *inside.parents[:3]):
        closed.chmod(0)
    remove_tree(tmp_path / "inside")
    remove_tree(tmp_path / "inside")
    assert [entry.name for entry in tmp_path.iterdir()] == ["outside"]
    assert stat.S_IMODE(outside.stat().st_mode) == 0o500


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_a_link_or_a_file_in_the_place_of_a_tree_is_deleted_itself(tmp_path, levels):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch()
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "file", "pipe"):
        remove_tree(tmp_path / name, levels=levels)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"]
    assert (outside / "file").exists()


def test_a_tree_of_any_depth_is_deleted_with_few_descriptors(tmp_path):
    place = os.open(tmp_path, os.O_RDONLY)
    for _ in range(3_000):
        os.mkdir("nested", dir_fd=place)
        inner = os.open("nested", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = inner
    os.close(os.open("file", os.O_CREAT, dir_fd=place))
    os.close(place)
    remove_tree(tmp_path / "nested")
    assert list(tmp_path.iterdir()) == []


def test_a_deletion_stops_when_its_time_is_over_and_can_go_on(tmp_path):
    tree = tmp_path / "tree"
    for name in "abc":
        (tree / name / "inner" / "more" / "again").mkdir(parents=True)
    looks = iter([False] * 3 + [True])
    with pytest.raises(Unfinished):
        remove_tree(tree, lambda: next(looks), levels=0)
    remove_tree(tree)
    assert not tree.exists()


def test_what_is_discarded_is_gone_from_its_place_at_once(state, removal):
    path = application(state)
    removal.discard(path)
    removal.discard(path)
    assert not path.exists()
    assert len(list(state.deleted.iterdir())) == 1
    removal.start()
    until(lambda: not list(state.deleted.iterdir()))


def test_a_tree_that_cannot_be_deleted_is_tried_again_until_it_can(
    state, removal, monkeypatch, caplog
):
    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.01)
    delete, tries = module.remove_tree, []

    def busy(path, *rest):
        if path.parent == state.deleted:
            tries.append(path)
        if len(tries) < 4:
            raise OSError(16, "Device or resource busy", str(path))
        delete(path, *rest)

    monkeypatch.setattr(module, "remove_tree", busy)
    removal.discard(application(state))
    with caplog.at_level(logging.WARNING):
        removal.start()
        until(lambda: not list(state.deleted.iterdir()))
    assert len(tries) == 4
    assert len(caplog.messages) == 1
    assert "is tried again later: Device or resource busy" in caplog.messages[0]


def test_a_tree_that_cannot_be_moved_now_is_not_forgotten(state, removal, monkeypatch):
    monkeypatch.setattr(module, "_FIRST_PAUSE_S", 0.01)
    path, rename, tries = application(state), Path.rename, []

    def full(self, target):
        tries.append(self)
        if len(tries) == 1:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", full)
    removal.discard(path)
    assert path.exists()
    removal.start()
    until(lambda: not path.exists() and not list(state.deleted.iterdir()))


def test_the_next_server_deletes_what_an_earlier_one_left(state):
    Removal(state).discard(application(state))
    second = Removal(state)
    second.start()
    until(lambda: not list(state.deleted.iterdir()))
    second.close()


def test_a_tree_that_is_filled_as_fast_as_it_is_emptied_does_not_keep_others(
    state, removal, monkeypatch
):
    delete, turns, others = module.remove_tree, [], []

    def filled(path, is_over, *rest):
        if path.parent != state.deleted or not path.name.endswith("_0001"):
            return delete(path, is_over, *rest)
        turns.append(path)
        if len(turns) < 20:  # each time another tree is to be deleted, too
            others.append(application(state, len(turns) + 1))
            removal.discard(others[-1])
            raise Unfinished
        return delete(path, is_over, *rest)

    left = []

    def watched(name, try_one=removal._try):
        if name.endswith("_0001"):  # no other tree waits when it gets a further turn
            left.append(len(list(state.deleted.iterdir())))
        try_one(name)

    monkeypatch.setattr(module, "remove_tree", filled)
    monkeypatch.setattr(removal, "_try", watched)
    removal.discard(application(state))
    removal.start()
    until(lambda: not list(state.deleted.iterdir()))
    assert left == [1] * 20
    assert len(others) == 19


@pytest.mark.skipif(not ROOT, reason="only root can give files to another account")
class TestFilesOfOtherAccounts:
    """Root deletes what a tenant made with that tenant's rights, and not with its own."""

    def given(self, state):
        path = application(state)
        work = path / "container_1" / "work"
        for each in (work, work / "kept"):
            os.chown(each, NOBODY, NOBODY)
        return path, work

    def test_root_deletes_them(self, state):
        path, work = self.given(state)
        (work / "closed" / "inner").mkdir(parents=True)
        for each in (work / "closed" / "inner", work / "closed"):
            os.chown(each, NOBODY, NOBODY)
        for each in (work / "closed" / "inner", work / "closed", work):
            each.chmod(0)
        remove_tree(path)
        assert not path.exists()

    def test_root_neither_changes_nor_deletes_what_the_tenant_could_not(self, state, tmp_path):
        path, work = self.given(state)
        foreign = work / "foreign"
        foreign.mkdir(mode=0o755)
        (foreign / "file").touch()
        target = tmp_path / "target"
        target.mkdir(mode=0o751)
        (work / "link").symlink_to(target)
        with pytest.raises(PermissionError):
            remove_tree(path)
        [left] = work.iterdir()  # all else is gone
        assert (left / "file").exists()
        assert stat.S_IMODE(left.stat().st_mode) == 0o755
        assert stat.S_IMODE(target.stat().st_mode) == 0o751
        assert not (path / "container_1" / "launch.json").exists()

    def test_a_directory_exchanged_with_a_link_between_two_steps_leads_nowhere(
        self, state, tmp_path, monkeypatch
    ):
        """The race of a process of the tenant, decided: it always wins."""
        path, work = self.given(state)
        inner = work / "inner"
        inner.mkdir(mode=0)
        os.chown(inner, NOBODY, NOBODY)
        (inner / "file").touch()
        target = tmp_path / "target"
        target.mkdir(mode=0o700)
        (target / "file").touch()
        look, exchanges = os.open, []

        def exchanged(name, *rest, **named):
            if name == "inner" and not exchanges:
                work_of = named["dir_fd"]
                os.rename("inner", "aside", src_dir_fd=work_of, dst_dir_fd=work_of)
                os.symlink(target, "inner", dir_fd=work_of)
                exchanges.append(name)
            return look(name, *rest, **named)

        chmod, changed = os.chmod, []

        def recorded(name, *rest, **named):
            status = Path("/proc/thread-self/status").read_text()
            changed.append(status.split("Uid:")[1].split()[3])
            return chmod(name, *rest, **named)

        monkeypatch.setattr(os, "open", exchanged)
        monkeypatch.setattr(os, "chmod", recorded)
        remove_tree(path)
        assert (target / "file").exists()
        assert stat.S_IMODE(target.stat().st_mode) == 0o700
        assert set(changed) == {str(NOBODY)}

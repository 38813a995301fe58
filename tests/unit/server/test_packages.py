"""Packages in the state directory: shared contents, own names, deleted when nobody needs them."""

import os
from pathlib import Path

import pytest

from fairshare.server.packages import KEEP_S, Packages, copy_packages

NAME = "_ray_pkg_1.zip"
MOST = 1_000_000


@pytest.fixture
def clock():
    return [1_000_000.0]


@pytest.fixture
def packages(tmp_path, clock):
    return Packages(tmp_path, lambda: clock[0])


def stored(packages, user, content, name=NAME, needed=frozenset()):
    with packages.draft() as draft:
        draft.write_bytes(content)
        return packages.store(user, name, draft, MOST, needed)


def contents(folder: Path):
    return {path.read_bytes() for path in (folder / "packages/content").glob("*")}


def test_users_do_not_see_each_others_packages_and_equal_ones_are_one_file(packages, tmp_path):
    digest = stored(packages, "ann", b"same")
    assert packages.find("bob", NAME) is None
    assert stored(packages, "bob", b"same") == digest == packages.find("bob", NAME)
    assert contents(tmp_path) == {b"same"}


def test_another_content_of_a_name_replaces_it_for_its_user_alone(packages, tmp_path):
    stored(packages, "ann", b"one")
    stored(packages, "bob", b"one")
    digest = stored(packages, "ann", b"two")
    assert packages.find("ann", NAME) == digest != packages.find("bob", NAME)
    assert packages.path(digest).read_bytes() == b"two"


def test_what_was_not_used_for_long_is_deleted_unless_a_job_needs_it(packages, tmp_path, clock):
    needed = stored(packages, "ann", b"needed", "needed.zip")
    stored(packages, "ann", b"unused", "unused.zip")
    used = stored(packages, "ann", b"used", "used.zip")
    for path in (tmp_path / "packages/names").glob("*/*"):
        os.utime(path, (clock[0], clock[0]))
    clock[0] += KEEP_S + 1
    assert packages.find("ann", "used.zip") == used
    stored(packages, "bob", b"new", needed=frozenset({needed}))
    assert contents(tmp_path) == {b"needed", b"used", b"new"}


def test_a_package_is_held_while_a_job_is_submitted(packages, tmp_path, clock):
    digest = stored(packages, "ann", b"held")
    os.utime(next((tmp_path / "packages/names").glob("*/*")), (clock[0], clock[0]))
    clock[0] += KEEP_S + 1
    with packages.hold(frozenset({digest})):
        stored(packages, "bob", b"x")
        assert contents(tmp_path) == {b"held", b"x"}
    stored(packages, "bob", b"y")
    assert contents(tmp_path) == {b"y"}


def test_uploads_that_were_cut_off_leave_nothing(packages, tmp_path):
    with packages.draft() as draft:
        draft.write_bytes(b"half")
    assert not draft.exists()
    (tmp_path / "packages/drafts/left").write_bytes(b"by a killed server")
    Packages(tmp_path)
    assert not (tmp_path / "packages/drafts").exists()


def test_a_backup_has_the_packages(packages, tmp_path):
    digest = stored(packages, "ann", b"one")
    copy_packages(tmp_path, tmp_path / "copy")
    assert Packages(tmp_path / "copy").find("ann", NAME) == digest

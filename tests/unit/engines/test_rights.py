"""Acting with the rights of a tenant: what a thread may then access, and that it gets them back."""

import json
import os
import tempfile
import threading
from pathlib import Path

import pytest

from fairshare.engines.local.directories import ContainerDirectory
from fairshare.engines.local.outcome import tail
from fairshare.engines.log_files import describe, place_of, read_part, write_outputs
from fairshare.engines.rights import Rights, acting_as, check_rights, closed_program

NOBODY = Rights(65534, 65534, (4242,))
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")


def identity():
    """The thread's numbers for access to files: user, group, groups."""
    text = Path("/proc/thread-self/status").read_text()
    lines = dict(line.split(":", 1) for line in text.splitlines())
    return lines["Uid"].split()[3], lines["Gid"].split()[3], lines["Groups"].split()


@needs_root
def test_a_thread_has_the_rights_of_the_account_and_then_its_own_again(tmp_path):
    private = tmp_path / "private"
    private.touch(mode=0o600)
    before = identity()
    check_rights()
    with acting_as(NOBODY):
        assert identity() == ("65534", "65534", ["4242"])
        with pytest.raises(PermissionError):
            private.read_bytes()
        with acting_as(Rights(1, 1)):
            assert identity() == ("1", "1", [])
        assert identity() == ("65534", "65534", ["4242"])
    assert identity() == before
    assert private.read_bytes() == b""


@needs_root
def test_a_program_in_a_closed_directory_is_found_also_behind_a_link():
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        place.chmod(0o755)
        program = place / "home" / "bin" / "python"
        program.parent.mkdir(parents=True)
        program.touch(mode=0o755)
        (place / "link").symlink_to(program)
        linked = str(place / "link")
        assert closed_program((str(program), linked, str(place / "missing"))) == ""
        program.chmod(0o750)
        assert closed_program((linked,)).startswith(f"{program} is closed to other accounts")
        program.chmod(0o755)
        (place / "home").chmod(0o700)
        for file in (str(program), linked):
            assert closed_program((file,)).startswith(f"{place}/home is closed to other accounts")
            assert f"which need {file}. Install" in closed_program((file,))


@needs_root
def test_other_threads_keep_their_rights():
    found, before, go_on = [], identity(), threading.Event()
    worker = threading.Thread(target=lambda: (go_on.wait(30), found.append(identity())))
    worker.start()  # before: it would inherit what this thread has
    with acting_as(NOBODY):
        go_on.set()
        worker.join()
        assert identity()[0] == "65534"
    assert found == [before]


@needs_root
def test_the_rights_come_back_after_an_error():
    before = identity()
    with pytest.raises(ZeroDivisionError), acting_as(NOBODY):
        1 / 0  # noqa: B018
    assert identity() == before


@needs_root
def test_an_account_that_cannot_be_had_leaves_the_rights_as_they_were():
    before = identity()
    with pytest.raises(OSError), acting_as(Rights(2**32 - 1, 1)):
        pytest.fail("the block ran")
    assert identity() == before


def test_without_other_rights_nothing_changes():
    before = identity()
    with acting_as(None):
        assert identity() == before


class Written:
    """A container's directory, whose output is in a file that its user named."""

    def __init__(self, tmp_path, account):
        self.directory = ContainerDirectory(tmp_path / "container")
        self.directory.path.mkdir()
        order = {"account": account, "uid": 65534, "gid": 65534, "supplementary": [4242]}
        self.directory.launch.write_text(json.dumps(order))
        self.output = tmp_path / "output"
        self.output.write_text("printed\n")
        with self.output.open("rb") as file:
            path, device, inode, _ = describe(str(self.output), file.fileno())
        write_outputs(self.directory.path, {"stderr": (path, device, inode, 0)})

    def read(self):
        return read_part(self.directory.stderr, 0, 100)[0]


def test_output_in_a_file_of_the_server_is_read_as_ever(tmp_path):
    written = Written(tmp_path, "")
    assert written.read() == b"printed\n"
    assert place_of(written.directory.stderr).rights is None


@needs_root
def test_output_is_read_only_if_its_account_can_read_it(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != folder.parent and not folder.stat().st_mode & 1:
            folder.chmod(folder.stat().st_mode | 0o011)
    written = Written(tmp_path, "nobody")
    assert written.read() == b"printed\n"
    written.output.chmod(0o600)  # the same file still, but another account's now
    assert written.read() == b""
    assert tail(written.directory.stderr) == ""
    os.chown(written.output, -1, 4242)
    written.output.chmod(0o640)
    assert written.read() == b"printed\n"  # by one of its groups


def test_output_without_an_order_beside_it_is_not_read(tmp_path):
    written = Written(tmp_path, "nobody")
    written.directory.launch.unlink()
    assert written.read() == b""

"""A tenant of a server of root turns what he owns into what he does not: links, exchanged
directories, files of others. Root then neither reads, changes nor deletes anything for him."""

import os
import pwd
import stat
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.e2e.test_accounts import USERS, Cluster, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "all is there")
TENANT, OTHER = map(pwd.getpwnam, USERS) if not missing() else (None, None)


@pytest.fixture
def folder():
    """A folder that others may pass through."""
    with tempfile.TemporaryDirectory(prefix="fairshare-hostile-") as made:
        Path(made).chmod(0o711)
        yield Path(made)


@pytest.fixture
def cluster(folder):
    cluster = Cluster(folder, "[retention]\nfinished_applications = 1\n")
    yield cluster
    cluster.server.end()


def home(folder, account, mode):
    path = folder / account.pw_name
    path.mkdir(mode=mode)
    os.chown(path, account.pw_uid, account.pw_gid)
    return path


def until(holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)


def test_logs_do_not_show_a_file_of_another_account_that_took_the_place_of_the_output(
    cluster, folder
):
    """The same file, as far as its number says: file systems give numbers again."""
    own, others = home(folder, TENANT, 0o711), home(folder, OTHER, 0o700)
    way = folder / TENANT.pw_name / "way"
    way.symlink_to(own)
    ended, printed = cluster.run(TENANT.pw_name, command="echo mine", output=str(way / "out"))
    assert printed == "mine\n"
    secret = others / "out"
    (own / "out").rename(secret)
    secret.write_text("her secret\n")
    os.chown(secret, OTHER.pw_uid, OTHER.pw_gid)
    secret.chmod(0o600)
    way.unlink()
    way.symlink_to(others)
    with cluster.client(TENANT.pw_name) as http:
        assert http.get(f"/containers/{ended['id']}/logs/stdout").text == ""


def test_diagnostics_do_not_quote_a_file_of_another_account(cluster, folder):
    own, others = home(folder, TENANT, 0o711), home(folder, OTHER, 0o700)
    secret = others / "error"
    secret.write_text("her secret\n")
    os.chown(secret, OTHER.pw_uid, OTHER.pw_gid)
    way = own / "way"
    way.mkdir()
    os.chown(way, TENANT.pw_uid, TENANT.pw_gid)
    command = f"mv {way} {own}/aside; ln -s {others} {way}; exit 3"
    ended, _ = cluster.run(TENANT.pw_name, command=command, error=str(way / "error"))
    assert ended["exit_code"] == 3
    assert "her secret" not in ended["diagnostics"]


@pytest.mark.parametrize("name", ["there", "not-there"])
def test_the_reason_why_a_command_cannot_run_does_not_say_what_exists_elsewhere(
    cluster, folder, name
):
    others = home(folder, OTHER, 0o700)
    (others / "there").write_text("#!/bin/sh\n")
    (others / "there").chmod(0o755)
    for task in (
        {"arguments": [str(others / name)]},
        {"command": "true", "directory": str(others / name)},
        {"command": "true", "input": str(others / name)},
    ):
        ended, _ = cluster.run(TENANT.pw_name, **task)
        assert ended["exit_code"] == 126
        assert ended["diagnostics"].endswith("Permission denied")


def test_deleting_a_tenants_files_changes_nothing_else_and_is_tried_until_it_succeeds(
    cluster, folder
):
    """A process of the tenant, outside of any container, exchanges directories for links while they
    are deleted, and creates files so that the deletion fails."""
    canary = folder / "canary"
    canary.mkdir(mode=0o755)
    (canary / "file").write_text("kept")
    ended, _ = cluster.run(TENANT.pw_name, command="touch kept")
    files = cluster.files(ended)
    program = f"""
import os
for turn in range(10**9):
    name = f"d{{turn % 100}}"
    try:
        os.mkdir(name, 0)
    except OSError:
        pass
    try:
        os.rename(name, "x" + name)
        os.symlink({str(canary)!r}, name)
        os.close(os.open(f"f{{turn}}", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pass
"""
    python = "/usr/bin/python3" if Path("/usr/bin/python3").exists() else None
    if python is None:
        pytest.skip("users need a Python of the system")
    racing = subprocess.Popen(
        [python, "-c", program],
        cwd=files.work,
        user=TENANT.pw_uid,
        group=TENANT.pw_gid,
        extra_groups=[],
    )
    try:
        deleted = cluster.state / "deleted"
        for _ in range(2):
            cluster.run(TENANT.pw_name, command="true")
        until(lambda: not files.path.exists())
        assert stat.S_IMODE(deleted.stat().st_mode) == 0o700
        time.sleep(1)  # the race
    finally:
        racing.kill()
        racing.wait()
    until(lambda: not any(path.name.endswith(files.path.parent.name) for path in deleted.iterdir()))
    assert stat.S_IMODE(canary.stat().st_mode) == 0o755
    assert (canary / "file").read_text() == "kept"

"""Which code of the server may access files by name: it may run as root, and tenants choose names.

Each module that does is listed with the paths that it accesses. A path that a tenant can choose or
change is accessed with the tenant's rights only (docs/security.md).
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "fairshare"
ROOMS = ("engines", "server", "runtime/journal", "yarn/rest", "yarn/rpc", "ray")

OS = {
    *("open", "chmod", "chown", "lchown", "rename", "replace", "unlink", "remove", "rmdir"),
    *("removedirs", "renames", "listdir", "scandir", "walk", "fwalk", "mkdir", "makedirs", "link"),
    *("symlink", "readlink", "truncate", "utime", "stat", "lstat", "mkfifo", "mknod", "access"),
    *("setxattr", "getxattr", "chdir", "chroot", "statvfs"),
}
"""Functions of `os` that take a path."""

MODULES = ("shutil", "tempfile", "glob", "zipfile", "tarfile")
"""Modules whose functions work on paths."""

METHODS = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes", "chmod", "rename", "unlink"),
    *("rmdir", "iterdir", "glob", "rglob", "mkdir", "touch", "symlink_to", "hardlink_to"),
    *("readlink", "resolve", "lchmod"),
}
"""Methods of Path, whatever they are given."""

QUESTIONS = {
    *("exists", "stat", "lstat", "is_file", "is_dir", "is_symlink", "is_socket", "is_fifo"),
    *("is_mount", "owner", "group"),
}
"""Methods of Path without arguments."""


def accesses(text: str) -> list[str]:
    """The calls that take a path, each as `LINE: NAME`."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        match node.func:
            case ast.Name(id="open"):
                name = "open"
            case ast.Attribute(value=ast.Name(id="os"), attr=attr) if attr in OS:
                name = f"os.{attr}"
            case ast.Attribute(value=ast.Name(id=module), attr=attr) if module in MODULES:
                name = f"{module}.{attr}"
            case ast.Attribute(value=ast.Name(id="os")):
                continue
            case ast.Attribute(attr=attr) if (
                attr in METHODS
                or (attr in QUESTIONS and not node.args)
                or (attr == "replace" and len(node.args) == 1 and not node.keywords)
            ):
                name = f".{attr}"
            case _:
                continue
        found.append(f"{node.lineno}: {name}")
    return found


ALLOWED: dict[str, tuple[str, ...]] = {
    "the server's own files in the state directory, whose directories only the server can change": (
        *("engines/local/accounts.py", "engines/local/adoption.py"),
        *("engines/local/directories.py", "engines/local/engine.py", "engines/local/liveness.py"),
        *("engines/local/preparation.py", "engines/local/reports.py"),
        *("engines/local/sessions/console.py", "engines/local/sessions/opening.py"),
        *("engines/local/state.py", "engines/local/supervisor.py", "engines/local/watcher.py"),
        *("engines/local/zygote.py", "engines/local/zygote_client.py"),
        *("runtime/journal/files.py", "runtime/journal/memory.py"),
        *("runtime/journal/sqlite.py", "server/access/audit.py", "server/access/tokens.py"),
        *("server/accounting/queries.py", "server/configuration_editor.py", "server/cron/cron.py"),
        *("server/disk.py", "server/journal_epochs.py"),
        *(
            "server/insight/ledger_file.py",
            "server/long_history.py",
            "server/packages.py",
            "server/payloads.py",
        ),
        *("server/shared/copy.py", "server/shared/leadership.py", "server/shared/leading.py"),
        "server/shared/migration.py",
        *("server/side_file.py", "server/state_directory.py", "server/stored_configuration.py"),
        *("ray/web/jobs.py", "ray/web/packages.py"),
        *("yarn/rpc/engine/engine.py", "yarn/rpc/own/engine.py", "yarn/rpc/own/node_manager.py"),
        "yarn/rpc/own/shuffle.py",
        *("ray/agent.py", "ray/driver.py", "ray/engine.py"),
        *("ray/joined.py", "ray/keeper.py", "ray/node.py"),
        "yarn/rest/pages.py",
    ),
    "the configuration directory, or a file that the configuration names": (
        *("server/draft_trial.py", "server/file_watch.py"),
        *("server/notices/delivery.py", "server/users/groups.py", "server/web/unix_socket.py"),
        *("yarn/rpc/configuration.py", "ray/setup.py"),
    ),
    "the container's own LOG_DIRS, with the rights of its account; the time of its own logs": (
        "yarn/rest/own_node.py",
    ),
    "the machine's: /proc, /sys, cgroups, devices, the time zone": (
        *("engines/local/gpus/engine.py", "engines/local/gpus/fence.py"),
        *("engines/local/gpus/found.py", "engines/local/groups.py"),
        *("engines/local/hierarchies.py", "engines/local/limits.py", "engines/local/processes.py"),
        *("engines/local/private_mounts.py", "engines/local/processors.py"),
        *("server/access/pam.py", "server/access/peers.py", "server/retention.py"),
        "yarn/rest/beans.py",
    ),
    "cgroups, /proc, and a container's logs, in its directory that only the server can change": (
        "engines/local/enforcement.py",
    ),
    "files of the installed package and its interpreter": (
        *("engines/local/compiled.py", "server/web/pages/files.py", "yarn/rpc/engine/launch.py"),
        *("yarn/rpc/wire/descriptors.py", "engines/rights.py"),
    ),
    "other objects that are opened: keys, and a connection": (
        *("yarn/rpc/ports.py", "yarn/rpc/wire/client.py"),
    ),
    "with the rights of the account, which this thread has for the moment": (
        *("engines/log_files.py", "engines/local/removal.py", "yarn/rpc/own/map_outputs.py"),
        "yarn/rpc/own/log_aggregation.py",
    ),
    "in the container, with the rights of its account": (
        *("engines/local/invocation.py", "yarn/rpc/engine/call_program.py"),
        *("yarn/rpc/own/launcher.py", "ray/job.py", "ray/program.py"),
        *("ray/warnings.py", "ray/worker.py", "server/archives.py"),
    ),
    "in the container's first process after it has switched to the account, or with its rights": (
        "engines/local/execution.py",
    ),
    "from a directory that is open already, never through a link": ("engines/local/disk_usage.py",),
    "a log in the container's directory, which is the server's; or by engines/log_files.py": (
        "server/web/containers.py",
    ),
}
"""What the modules access by name, and why that is safe for a server of root."""

RECURSIVE = {"os.walk", "os.fwalk", "shutil.rmtree", "shutil.copytree", "shutil.chown", ".rglob"}
"""Calls that descend into directories: a tenant can exchange one for a link in the meantime."""

DESCEND = {
    *(
        "server/packages.py",
        "server/payloads.py",
        "server/web/pages/files.py",
        "yarn/rpc/engine/engine.py",
    ),
    *("yarn/rpc/own/launcher.py", "ray/program.py"),
}
"""The modules that use them: in directories of the server alone, the last two in the container."""


def accessing() -> dict[str, list[str]]:
    """The accesses of each module of the rooms that has any."""
    found = {
        str(path.relative_to(SOURCE)): accesses(path.read_text())
        for room in ROOMS
        for path in sorted((SOURCE / room).rglob("*.py"))
        if path.name != "verb.py"  # which users run
    }
    return {name: calls for name, calls in found.items() if calls}


def test_only_listed_modules_of_the_server_access_files_by_name() -> None:
    listed = Counter(name for names in ALLOWED.values() for name in names)
    assert [name for name, count in listed.items() if count > 1] == []
    found = accessing()
    unlisted = {name: calls for name, calls in found.items() if name not in listed}
    assert unlisted == {}, "say in ALLOWED which paths, and see docs/security.md"
    assert sorted(set(listed) - set(found)) == [], "these access nothing any more"


def test_only_directories_of_the_server_alone_are_walked() -> None:
    walking = {
        name
        for name, calls in accessing().items()
        if any(call.split()[1] in RECURSIVE for call in calls)
    }
    assert walking == DESCEND


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("import os\nos.chmod(path, 0o700)", "2: os.chmod"),
        ("import shutil\nshutil.rmtree(path)", "2: shutil.rmtree"),
        ("with open(path) as file: pass", "1: open"),
        ("path.open('rb')", "1: .open"),
        ("(folder / name).unlink(missing_ok=True)", "1: .unlink"),
        ("draft.replace(path)", "1: .replace"),
        ("path.exists()", "1: .exists"),
    ],
)
def test_an_access_is_found(code: str, name: str) -> None:
    assert accesses(code) == [name]


@pytest.mark.parametrize(
    "code", ["text.replace('a', 'b')", "os.close(descriptor)", "os.fchmod(descriptor, mode)"]
)
def test_what_takes_no_path_is_none(code: str) -> None:
    assert accesses(code) == []

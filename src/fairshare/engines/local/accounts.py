"""The choice of the account under which a container runs, its preconditions, and whether it can run
a program.

With `run_as = "user"` a container has only the rights of the user who submitted its application:
the server has to be root, the user needs an account on this machine, and the parents of the working
directories must be searchable. Used by the server only; `execution` makes the switch.
"""

import os
import socket
import stat
import subprocess
import threading
import time
from pathlib import Path
from typing import NamedTuple

from fairshare.engines.local.outcome import ABORTED, NOT_EXECUTABLE, StartFailure
from fairshare.engines.rights import check_rights
from fairshare.errors import AccountsUnavailable, EngineError
from fairshare.this_machine import account_named
from fairshare.wording import cause

SUBMITTING_USER = "submitting-user"
"""The value of the node attribute `run-as` in this mode."""

_OWN_FOLDER = 0o711
"""Others may traverse the folder to their own files, but not list it."""


class Account(NamedTuple):
    """An account of this machine."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str

    def groups(self) -> tuple[int, ...]:
        """All groups of the account, its own among them."""
        return tuple(os.getgrouplist(self.name, self.gid))


def find_account(user: str) -> Account:
    """The account of a user; raises StartFailure if there is none, it is root's, or it cannot be
    looked up now, which is not final."""
    try:
        entry = account_named(user)
    except AccountsUnavailable as error:
        raise StartFailure(ABORTED, str(error)) from error
    if entry is None:
        raise StartFailure(
            NOT_EXECUTABLE,
            f"there is no account {user!r} on {socket.gethostname()}, and containers run under that"
            ' of who submits them (run_as = "user" below [engine] in fairshare.toml)',
        )
    if entry.pw_uid == 0:
        raise StartFailure(
            NOT_EXECUTABLE,
            f"{user!r} is root here, and nothing runs as root: submit under another name",
        )
    return Account(
        entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir or "/", entry.pw_shell or "/bin/sh"
    )


def check_switch(state_directory: Path) -> None:
    """Raise EngineError if this server cannot run containers under the accounts of users."""
    if os.geteuid() != 0:
        raise EngineError(
            'run_as = "user" needs root: a server of another user cannot run containers under the'
            " accounts of users. Start it as root (docs/security.md says what that means), or write"
            ' run_as = "server" below [engine] in fairshare.toml'
        )
    try:
        check_rights()
    except OSError as error:
        raise EngineError(
            f'run_as = "user" needs threads that act with the rights of users: {cause(error)}'
        ) from error
    for folder in state_directory.absolute().parents:
        if folder.exists() and not folder.stat().st_mode & stat.S_IXOTH:
            raise EngineError(
                f"users cannot reach their working directories in {state_directory}, since {folder}"
                ' is closed to others, and run_as = "user" needs that: name a state directory such'
                " as /var/lib/fairshare with --state"
            )


def open_way(state_directory: Path, *opened: Path) -> None:
    """Let users traverse the state directory to their own files only.

    Everything beside the `opened` directories becomes accessible to the server only, whatever its
    mode was. Raises OSError.
    """
    for entry in sorted(state_directory.iterdir()):
        if entry not in opened and not entry.is_symlink():
            mode = stat.S_IMODE(entry.stat().st_mode)
            entry.chmod(mode & stat.S_IRWXU)
    for folder in opened:
        folder.chmod(_OWN_FOLDER)
    state_directory.chmod(_OWN_FOLDER)


def close_way(state_directory: Path) -> None:
    """Undo `open_way`, after which containers of users cannot find their files by name."""
    if stat.S_IMODE(state_directory.stat().st_mode) != stat.S_IRWXU:
        state_directory.chmod(stat.S_IRWXU)


_TEST = 'if ! [ -e "$0" ]; then exit 3; elif ! [ -f "$0" ] || ! [ -x "$0" ]; then exit 4; fi'
_PATIENCE_S = 10
_REMEMBERED_S = 60.0
_MOST_REMEMBERED = 1_000

_good: dict[tuple[int, str], float] = {}
"""Until when a program needs no second test, by account and path."""
_turn = threading.Lock()


def interpreter_problem(path: str, account: Account | None) -> str:
    """Why a Python interpreter cannot be run; empty if it can. `account` None: the server's own.

    The kernel answers, by a short process under that account: permissions may come from access
    lists or from a directory that is mounted from elsewhere.
    """
    key = (-1 if account is None else account.uid, path)
    with _turn:
        if _good.get(key, 0.0) > time.monotonic():
            return ""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", _TEST, path],
            cwd="/",
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE_S,
            check=False,
            user=None if account is None else account.uid,
            group=None if account is None else account.gid,
            extra_groups=None if account is None else os.getgrouplist(account.name, account.gid),
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"whether {path} can be run cannot be found out: {cause(error)}"
    runner = "the server's account" if account is None else account.name
    if done.returncode == 3:
        return f"there is no Python interpreter {path} on this machine that {runner} can reach"
    if done.returncode:
        return f"{runner} cannot run {path}: it is not an executable file for this account"
    with _turn:
        if len(_good) >= _MOST_REMEMBERED:
            _good.clear()
        _good[key] = time.monotonic() + _REMEMBERED_S
    return ""

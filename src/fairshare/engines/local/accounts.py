"""Owns the choice of the account under which a container runs, and its preconditions.

With `run_as = "user"` a container has only the rights of the user who submitted its application:
the server has to be root, the user needs an account on this machine, and the parents of the working
directories must be searchable. Used by the server only; `execution` makes the switch.
"""

import os
import stat
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
        found = account_named(user)
    except AccountsUnavailable as error:
        raise StartFailure(ABORTED, str(error)) from error
    if found is None:
        raise StartFailure(
            NOT_EXECUTABLE,
            f"there is no account {user!r} on this machine, and containers run under that of who"
            ' submits them (run_as = "user" below [engine] in fairshare.toml)',
        )
    if found.pw_uid == 0:
        raise StartFailure(
            NOT_EXECUTABLE,
            f"{user!r} is root here, and nothing runs as root: submit under another name",
        )
    return Account(
        found.pw_name, found.pw_uid, found.pw_gid, found.pw_dir or "/", found.pw_shell or "/bin/sh"
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


def open_way(state_directory: Path, containers: Path) -> None:
    """Let users traverse the state directory to their own files only.

    Everything beside the containers becomes accessible to the server only, whatever its mode was.
    Raises OSError.
    """
    for entry in sorted(state_directory.iterdir()):
        if entry != containers and not entry.is_symlink():
            mode = stat.S_IMODE(entry.stat().st_mode)
            entry.chmod(mode & stat.S_IRWXU)
    containers.chmod(_OWN_FOLDER)
    state_directory.chmod(_OWN_FOLDER)


def close_way(state_directory: Path) -> None:
    """Undo `open_way`, after which containers of users cannot find their files by name."""
    if stat.S_IMODE(state_directory.stat().st_mode) != stat.S_IRWXU:
        state_directory.chmod(stat.S_IRWXU)

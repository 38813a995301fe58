"""Owns the question whether an account can run a program, before a container tries to.

The kernel answers it, by a short process under that account: permissions may come from access lists
or from a directory that is mounted from elsewhere.
"""

import os
import subprocess
import threading
import time

from fairshare.engines.local.accounts import Account
from fairshare.wording import cause

_TEST = 'if ! [ -e "$0" ]; then exit 3; elif ! [ -f "$0" ] || ! [ -x "$0" ]; then exit 4; fi'
_PATIENCE_S = 10
_REMEMBERED_S = 60.0
_MOST_REMEMBERED = 1_000

_good: dict[tuple[int, str], float] = {}
"""Until when a program needs no second test, by account and path."""
_turn = threading.Lock()


def interpreter_problem(path: str, account: Account | None) -> str:
    """Why a Python interpreter cannot be run; empty if it can. `account` None: the server's own."""
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
            extra_groups=None if account is None else _groups(account),
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


def _groups(account: Account) -> list[int]:
    return os.getgrouplist(account.name, account.gid)

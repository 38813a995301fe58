"""Owns how a container gets the Python callable that it runs, from the payload of its command.

The server writes and deletes payloads (`server/payloads.py`). Each payload is one file, with a hard
link in the directory of each container that runs it. The account of a user has a copy of its own,
since an account can change its own files.
"""

import contextlib
import os
import shutil
from pathlib import Path

from fairshare.core.model.work import Command
from fairshare.engines.local.outcome import NOT_FOUND, StartFailure

OWN_COPIES = "users"
"""The directory, among the payloads, with a directory for each account."""


def forget_copies(payloads: Path, digest: str) -> None:
    """Delete the accounts' copies of a payload, as far as possible."""
    with contextlib.suppress(OSError):  # no copies: containers run under the server's account
        for user in os.scandir(payloads / OWN_COPIES):
            with contextlib.suppress(OSError):
                Path(user.path, digest).unlink()


def call_of(state: Path, command: Command, owner: tuple[int, int] | None) -> bytes | Path:
    """The content of the call's file, or a file with it; empty if the command is not a call.

    `owner` is the container's user and group, unless it runs as the server. Raises StartFailure if
    the payload is missing or incomplete, OSError if it cannot be read or copied.
    """
    payload = command.payload
    if payload is None:
        return command.callable
    shared = state / payload.file
    try:
        size = shared.stat().st_size
    except FileNotFoundError:
        raise StartFailure(
            NOT_FOUND,
            f"the Python call is gone: there is no file {shared}. Was the state directory copied"
            " without its payloads? Submit the call once more",
        ) from None
    if size != payload.size:
        raise StartFailure(
            NOT_FOUND,
            f"the Python call is damaged: {shared} has {size} bytes, not {payload.size};"
            " submit the call once more",
        )
    return shared if owner is None else _own_copy(shared, *owner)


def _own_copy(shared: Path, uid: int, gid: int) -> Path:
    folder = shared.parent / OWN_COPIES / str(uid)
    copy = folder / shared.name
    if copy.exists():
        return copy
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = copy.with_name(f"{copy.name}.new")
    draft.unlink(missing_ok=True)
    shutil.copyfile(shared, draft)
    draft.chmod(0o400)
    os.chown(draft, uid, gid)
    return draft.replace(copy)

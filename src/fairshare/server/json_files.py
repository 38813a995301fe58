"""The reading of the server's small files: one structure as JSON, or a secret."""

import logging
import os
import stat
from pathlib import Path
from typing import TypeVar

import msgspec

from fairshare.errors import FairshareError

Content = TypeVar("Content")

_log = logging.getLogger("fairshare.server")


def read_private(path: Path) -> bytes:
    """The content of a file that only the server may know and change.

    One that is open to others is closed, with a warning: they may have read it. Raises OSError, and
    FairshareError for what is not a file of the server's account.
    """
    own = os.geteuid()
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or (own and status.st_uid not in (own, 0)):
            raise FairshareError(
                f"{path} must be a file of the server's account ({own}), and belongs to"
                f" {status.st_uid}: delete it, so that it is made again"
            )
        if stat.S_IMODE(status.st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
            os.fchmod(descriptor, stat.S_IRUSR | stat.S_IWUSR)
            _log.warning(
                "%s was open to others (mode %o), and is closed now: if others could have read or"
                " changed it, stop the server and delete it, so that it is made again",
                *(path, stat.S_IMODE(status.st_mode)),
            )
        return file.read()


def read_json_file(
    path: Path, kind: type[Content], remedy: str, *, private: bool = False
) -> Content | None:
    """What a file contains; None if there is no such file. `private`: it holds secrets.

    Raises FairshareError for a file that cannot be read or understood, with the remedy.
    """
    try:
        content = read_private(path) if private else path.read_bytes()
        return msgspec.json.decode(content, type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FairshareError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise FairshareError(f"{path} is damaged ({error}). {remedy}") from error

"""Owns the atomic replacement of a file that people edit too, with its permissions kept.

Must not know its content.
"""

import os
import stat
from pathlib import Path

from fairshare.errors import FairshareError


def swap_file(path: Path, content: bytes | None) -> bytes | None:
    """Replace the content of a file, or delete it (None), and return the old content; None: it did
    not exist.

    A link stays a link; its target is changed. Raises FairshareError with what to do; then the file
    is unchanged.
    """
    target = path.resolve()
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        before, mode = None, 0o644
        if target.exists():
            before, mode = target.read_bytes(), stat.S_IMODE(target.stat().st_mode)
        if content is None:
            target.unlink(missing_ok=True)
            return before
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(mode)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise FairshareError(
            f"cannot write {path}: {error.strerror or error}. The server's user needs to write"
            " there; nothing has changed"
        ) from error
    return before

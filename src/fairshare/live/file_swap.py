"""Owns the replacing of a file that people write too: whole, at once, with its permissions kept.

Knows nothing of what stands in it.
"""

import os
import stat
from pathlib import Path

from fairshare.errors import FairshareError


def swap_file(path: Path, content: bytes | None) -> bytes | None:
    """Put other content into a file, or take it away (None), and give back what it held; None: it
    was not there.

    A link stays a link to the file that is changed. Raises FairshareError with what to do; then
    the file is as it was.
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

"""Owns the one folder in which a demonstration keeps everything."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from fairshare.demonstration.errors import DemonstrationFailed
from fairshare.demonstration.verification import Check

NOTHING_LEFT = Check(True, "nothing is left: no process, no file")
"""Said only after the server and the folder have been put away, which raises if it fails."""


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, which goes whatever happens; DemonstrationFailed says that it cannot."""
    folder = Path(tempfile.mkdtemp(prefix="fairshare-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            raise DemonstrationFailed(f"{folder} cannot be removed: delete it by hand")

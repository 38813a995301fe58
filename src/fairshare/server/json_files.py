"""Owns the reading of the server's small files: one structure as JSON. Knows none of them."""

from pathlib import Path
from typing import TypeVar

import msgspec

from fairshare.errors import FairshareError

Content = TypeVar("Content")


def read_json_file(path: Path, kind: type[Content], remedy: str) -> Content | None:
    """What a file contains; None if there is no such file.

    Raises FairshareError for a file that cannot be read or understood, with the remedy.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FairshareError(f"cannot read {path}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise FairshareError(f"{path} is damaged ({error}). {remedy}") from error

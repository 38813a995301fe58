"""How the image of a command and its mounts are written: `--image python:3.12`, `--mount
/data:/data:ro`.
"""

import re
from typing import NamedTuple

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_IMAGE = r"[A-Za-z0-9/][A-Za-z0-9_./:@+-]{0,1000}"
_READ_ONLY, _WRITABLE = "ro", "rw"


class Mount(NamedTuple):
    """A directory or file of the machine, and where a command in an image finds it."""

    source: str
    target: str
    read_only: bool = False

    def __str__(self) -> str:
        return f"{self.source}:{self.target}" + (f":{_READ_ONLY}" if self.read_only else "")


def check_image(name: str) -> str:
    """The name of an image, of a registry or of a file; raises ValueError.

    >>> check_image("docker.io/library/python:3.12")
    'docker.io/library/python:3.12'
    """
    if not re.fullmatch(_IMAGE, name):
        raise ValueError(
            f"{name!r} is not the name of an image: write one such as python:3.12,"
            " docker.io/library/python:3.12 or /images/python.sif"
        )
    return name


def parse_mount(text: str) -> Mount:
    """A mount, SOURCE[:TARGET][:ro]; the target is the source by default. Raises ValueError.

    >>> parse_mount("/data/sets:/data:ro")
    Mount(source='/data/sets', target='/data', read_only=True)
    """
    source, *rest = text.split(":")
    mode = rest.pop() if rest and rest[-1] in (_READ_ONLY, _WRITABLE) else _WRITABLE
    target = rest[0] if rest else source
    if len(rest) > 1 or not source or not target or "\0" in text:
        raise ValueError(f"{text!r} is not a mount: write /data, /data:/in/the/image or /data:ro")
    for path in (source, target):
        if not path.startswith("/"):
            raise ValueError(f"{text!r}: {path!r} is not an absolute path")
    return Mount(source, target, mode == _READ_ONLY)

"""The grammar of the GPUs that a server assigns, in fairshare.toml and options.

    gpus = "auto" | "none" | 4 | ["0", "1"]        --gpus auto | none | 4 | 0,1 | 0,

`auto`: all that are found; a number: so many of these; names: these (indexes, UUIDs).
"""

import re
from typing import Final

GPU: Final = "yarn.io/gpu"
"""The resource type of GPUs, as YARN calls it."""

NO_GPUS: Final = ". For GPUs of the server's machine set gpus in [engine] of fairshare.toml"
"""What to do where a request for GPUs finds none."""

GpuSetting = str | int | tuple[str, ...]
"""`auto`, `none`, a number of GPUs, or their names."""

MOST: Final = 1024
# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,99}"
_FORM: Final = '"auto", "none", a number of GPUs, or a list of their names such as ["0", "1"]'


def wrong_gpus(value: object) -> str:
    """What is wrong with a value of fairshare.toml; empty if it can be used."""
    if isinstance(value, float):
        return f"gpus: {value} is not a number of GPUs: a GPU is assigned whole; write 1, 2, ..."
    if isinstance(value, int) and not isinstance(value, bool):
        return "" if 1 <= value <= MOST else f"gpus must be 1 to {MOST}, not {value}"
    if isinstance(value, str):
        return "" if value in ("auto", "none") else f"gpus must be {_FORM}, not {value!r}"
    if not isinstance(value, list | tuple) or not value:
        return f"gpus must be {_FORM}, not {value!r}"
    for name in value:
        if not isinstance(name, str) or not re.fullmatch(_NAME, name):
            return f"gpus: {name!r} is not the name of a GPU: write an index or a UUID as a text"
    twice = [name for name in value if value.count(name) > 1]
    return f"gpus names the GPU {twice[0]} twice" if twice else ""


def parse_gpus(text: str) -> GpuSetting:
    """The value of an option; raises ValueError.

    >>> parse_gpus("auto"), parse_gpus("4"), parse_gpus("0,1"), parse_gpus("3,")
    ('auto', 4, ('0', '1'), ('3',))
    """
    value: GpuSetting = text.strip()
    assert isinstance(value, str)
    if "," in value:
        value = tuple(part.strip() for part in value.rstrip(",").split(","))
    elif value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if value != "auto" and value != "none" and not isinstance(value, int | tuple):
        raise ValueError(f"{text!r}: write auto, none, a number of GPUs, or names: 0,1 (one: 0,)")
    if message := wrong_gpus(value):
        raise ValueError(message)
    return value

"""What a user submits with by default: `~/.config/fairshare/config.toml`, and FAIRSHARE_QUEUE.

    queue = "ml"
    memory = "4g"
    vcores = 2
    export = ["HF_HOME", "WANDB_API_KEY"]   # beside the variables that come along in any case
    notify = "mailto:ann@example.org"

Options, the lines of a script and job files come before it, and FAIRSHARE_QUEUE before its queue.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from fairshare.client.discovery import token_file

QUEUE_VARIABLE: Final = "FAIRSHARE_QUEUE"
"""A container has it too: what is submitted there goes into the queue of the container."""

EVERY: Final = ("all", "none")


def defaults_file(environment: Mapping[str, str] = os.environ) -> Path:
    """Where a user keeps defaults, beside the token."""
    return token_file(environment).with_name("config.toml")


def user_defaults(environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """The options that a user does not have to write, by their fields; `exported` are variables
    that come along beside others. Raises ConfigurationError with every problem of the file."""
    path = defaults_file(environment)
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        said = {}
    except OSError as error:
        from fairshare.errors import ConfigurationError

        raise ConfigurationError([f"{path}: {error.strerror}"]) from error
    else:
        said = _read(content, path)
    if queue := environment.get(QUEUE_VARIABLE):
        said["queue"] = queue
    return said


def _read(content: bytes, path: Path) -> dict[str, Any]:
    # Imported here: only those who have such a file wait for the reader of documents.
    from fairshare.cli.units import parse_name, parse_notify, parse_variable_name
    from fairshare.documents.bounds import NOTICE_EVENTS
    from fairshare.documents.problems import Problems
    from fairshare.documents.sizes import parse_memory_mb
    from fairshare.documents.structs import read
    from fairshare.documents.toml_tree import read_toml
    from fairshare.documents.values import Reader, one_of, one_or_several, parsed, whole

    form: Any = msgspec.defstruct(
        "UserDefaults",
        [
            ("queue", Annotated[Any, parsed(parse_name)], None),
            ("memory", Annotated[Any, parsed(parse_memory_mb)], None),
            ("vcores", Annotated[Any, whole(1, 2**31 - 1)], None),
            ("export", Annotated[Any, one_or_several(parsed(parse_variable_name), "")], None),
            ("notify", Annotated[Any, one_or_several(parsed(parse_notify), "")], None),
            ("notify_on", Annotated[Any, one_or_several(one_of(NOTICE_EVENTS), "")], None),
        ],
        frozen=True,
        rename={"notify_on": "notify-on"},
    )
    problems = Problems()
    root = read_toml(content, str(path), problems)
    defaults = read(root, form, Reader(problems, "defaults", untyped=True))
    problems.raise_errors()
    assert defaults is not None
    said = {name: value for name, value in msgspec.structs.asdict(defaults).items() if value}
    names = said.pop("export", ())
    if names and names[0] in EVERY:
        said["export"] = names[0]
    elif names:
        said["exported"] = names
    return said

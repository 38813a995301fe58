"""Owns what a user wants to run in a container, as the first message says it, read strictly.

Must stay light: it is read beside containers.
"""

from typing import Any, NamedTuple

MOST_ARGUMENTS = 10_000
_TYPES = {"arguments": list, "terminal": bool, "term": str, "rows": int, "columns": int}


class Request(NamedTuple):
    """The vector of a command, and whether it gets a terminal, of which type (TERM) and size."""

    arguments: tuple[str, ...]
    terminal: bool = False
    term: str = ""
    rows: int = 24
    columns: int = 80

    @classmethod
    def read(cls, said: dict[str, Any]) -> "Request":
        """Read the message; raises ValueError with what is wrong."""
        for name, value in said.items():
            if name not in _TYPES:
                raise ValueError(f"there is no {name!r} in a request, only {', '.join(_TYPES)}")
            if type(value) is not _TYPES[name]:
                raise ValueError(f"{name} must be of the type {_TYPES[name].__name__}")
        arguments = said.get("arguments", [])
        if not arguments or not all(isinstance(one, str) for one in arguments):
            raise ValueError("arguments: the words of a command are needed")
        if not arguments[0]:
            raise ValueError("arguments: the first one names no program")
        if len(arguments) > MOST_ARGUMENTS:
            raise ValueError(f"arguments: at most {MOST_ARGUMENTS}")
        if any("\0" in text for text in (*arguments, said.get("term", ""))):
            raise ValueError("a text has a NUL character")
        return cls(**{**said, "arguments": tuple(arguments)})

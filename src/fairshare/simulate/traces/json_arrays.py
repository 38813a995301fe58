"""Owns how the elements of a large JSON array are read, one after another. Knows no format."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from fairshare.simulate.traces.rows import DamagedLine, pieces_of

MOST_CHARACTERS: Final = 10_000_000
"""Of one element."""
_SPACES: Final = " \t\r\n"


def beginning_of(path: Path) -> str:
    """The first characters of a file."""
    return next(pieces_of(path), "")


def elements_of(path: Path) -> Iterator[tuple[int, Any]]:
    """The elements of the array that a file is, each with the line on which it begins."""
    pieces = pieces_of(path)
    text, line = next(pieces, ""), 1
    decoder = json.JSONDecoder()
    wanted, ended = "[", False
    while True:
        rest = text.lstrip(_SPACES)
        line += text.count("\n", 0, len(text) - len(rest))
        text = rest
        if not text:
            if (piece := next(pieces, None)) is None:
                break
            text = piece
        elif ended:
            raise DamagedLine(path, line, "something follows the end of the array")
        elif wanted and text[0] in wanted:
            ended = text[0] == "]"
            wanted = "" if text[0] in "[," else wanted
            text = text[1:]
        elif wanted:
            raise DamagedLine(path, line, f"is not a JSON array: {' or '.join(wanted)} is missing")
        elif text[0] == "]":
            wanted = "]"
        else:
            try:
                found, end = decoder.raw_decode(text)
                whole = end < len(text)  # a number may go on
            except json.JSONDecodeError as error:
                whole = False
                reason = error.msg
            else:
                reason = "the array does not end"
            if whole:
                yield line, found
                line += text.count("\n", 0, end)
                text, wanted = text[end:], ",]"
                continue
            piece = next(pieces, None)
            if piece is None or len(text) > MOST_CHARACTERS:
                raise DamagedLine(path, line, f"is not JSON: {reason}")
            text += piece
    if not ended:
        raise DamagedLine(path, line, "the array does not end")

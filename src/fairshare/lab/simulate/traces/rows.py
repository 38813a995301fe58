"""How files of traces are opened, and how their values are parsed.

Files may be compressed by gzip or xz. A large JSON array is read element by element. A mistake is a
DamagedLine, with file and line.
"""

import csv
import datetime
import gzip
import json
import lzma
import math
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

from fairshare.errors import FairshareError
from fairshare.wording import cause, counted

Record = TypeVar("Record")

LONGEST_LINE = 1_000_000
"""The maximum number of characters of a line: a file without any is not a trace."""


class TraceUnreadable(FairshareError):
    """A file cannot be read as the trace that it seems to be."""


class DamagedLine(TraceUnreadable):
    """A line is not what its format says."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.line = line
        self.reason = reason


on_read: ContextVar[Callable[[int], None] | None] = ContextVar("on_read", default=None)
"""What is called with the number of characters that were read of a trace, for lines of progress."""


class Skipped:
    """How many damaged lines were left out, and what is wrong with the first one."""

    def __init__(self) -> None:
        self.count = 0
        self.first = ""

    @property
    def note(self) -> str:
        """A sentence for the notes of a trace; empty if there was none."""
        if not self.count:
            return ""
        return f"{counted(self.count, 'damaged line')} left out, the first one: {self.first}."


skipped: ContextVar[Skipped | None] = ContextVar("skipped", default=None)
"""Counts damaged lines instead of refusing the trace."""


def damaged(path: Path, line: int, reason: str, error: Exception | None = None) -> None:
    """Refuse a trace for one of its lines, or let its reader go on without that line."""
    counts = skipped.get()
    if counts is None:
        raise DamagedLine(path, line, reason) from error
    counts.count += 1
    counts.first = counts.first or f"{path}:{line}: {reason}"


LONGEST_PIECE = 65_536
"""The number of characters that are read at once where lines may be of any length."""


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, without their ends."""
    for number, text in _read(path, lambda file: file.readline(LONGEST_LINE + 1)):
        if len(text) > LONGEST_LINE:
            raise DamagedLine(path, number, f"is longer than {LONGEST_LINE:,} characters")
        yield number, text.rstrip("\r\n")


def pieces_of(path: Path) -> Iterator[str]:
    """The text of a file, in pieces that end anywhere."""
    return (text for _, text in _read(path, lambda file: file.read(LONGEST_PIECE)))


def _read(path: Path, read: Callable[[IO[str]], str]) -> Iterator[tuple[int, str]]:
    """What `read` reads until it reads nothing, each with the line on which it begins."""
    line = 1
    count = on_read.get()
    try:
        with _opened(path) as file:
            while text := read(file):
                if count is not None:
                    count(len(text))
                yield line, text
                line += text.count("\n")
    except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise DamagedLine(path, line, f"the file is damaged: {error}") from error
    except UnicodeDecodeError as error:
        raise DamagedLine(path, line, "is not UTF-8 text") from error
    except OSError as error:
        raise TraceUnreadable(f"cannot read {path}: {cause(error)}") from error


def _opened(path: Path) -> IO[str]:
    match path.suffix.lower():
        case ".gz":
            return cast(IO[str], gzip.open(path, "rt", encoding="utf-8-sig"))
        case ".xz":
            return cast(IO[str], lzma.open(path, "rt", encoding="utf-8-sig"))
        case _:
            return path.open(encoding="utf-8-sig")


def kind_of(path: Path) -> str:
    """The suffix of a file, without that of its compression: `.swf` for `a.swf.gz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".xz"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def header_of(path: Path, separator: str = ",") -> tuple[str, ...]:
    """The names in the first line of a table; empty if it cannot be read."""
    try:
        _, first = next(lines_of(path), (1, ""))
    except TraceUnreadable:
        return ()
    return tuple(first.split(separator))


def rows_of(
    path: Path, separator: str = ",", *, quotes: bool = True
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with a header, by the names of its columns, with their lines.

    `quotes` says whether a value in quotation marks may have the separator in it.
    """
    lines = lines_of(path)
    _, first = next(lines, (1, ""))
    names = first.split(separator)
    for number, text in lines:
        if not text.strip():
            continue
        values = next(csv.reader([text], delimiter=separator)) if quotes and '"' in text else None
        cells = values or text.split(separator)
        if len(cells) != len(names):
            wanted = counted(len(names), "column")
            damaged(path, number, f"has {len(cells)}, and the header {wanted}")
            continue
        yield number, dict(zip(names, cells, strict=True))


def parsed(
    path: Path, rows: Iterable[tuple[int, Record]], parse: Callable[[Record], Any]
) -> Iterator[tuple[int, Any]]:
    """What `parse` makes of each row; its ValueError is a damaged line."""
    for number, row in rows:
        try:
            record = parse(row)
        except ValueError as error:
            damaged(path, number, str(error), error)
        else:
            yield number, record


def number(row: Mapping[str, str], name: str, *, missing: float | None = None) -> float:
    """A number of a row that is not negative; raises ValueError."""
    text = row[name].strip()
    if not text and missing is not None:
        return missing
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and 0 <= value <= 2**53):
        raise ValueError(f"{name} is {text!r}, not a number that is at least 0")
    return value


def whole(row: Mapping[str, str], name: str, *, missing: int | None = None) -> int:
    """The same, rounded up."""
    return math.ceil(number(row, name, missing=missing))


def seconds_of(text: str) -> float:
    """The seconds of a date and time without a zone since 1970; raises ValueError.

    >>> seconds_of("1970-01-02 00:00:01"), seconds_of("1970-01-01T00:00:00")
    (86401.0, 0.0)
    """
    try:
        moment = datetime.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is not a date and time such as 2017-10-09 07:01:55") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return moment.timestamp()


def left_out(counts: Mapping[str, int]) -> list[str]:
    """Notes about jobs that were left out, by the reason."""
    return [
        f"Jobs left out because they {why}: {count:,}."
        for why, count in sorted(Counter(counts).items())
    ]


def files_in(path: Path) -> Sequence[Path]:
    """The files of a trace: the file itself, or those of a directory by name."""
    return sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]


def table_in(path: Path, columns: frozenset[str]) -> Path | None:
    """The first file of a trace that is a table, separated by commas, with these columns."""
    return next((one for one in files_in(path) if columns <= set(header_of(one))), None)


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
    expected, ended = "[", False
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
        elif expected and text[0] in expected:
            ended = text[0] == "]"
            expected = "" if text[0] in "[," else expected
            text = text[1:]
        elif expected:
            raise DamagedLine(
                path, line, f"is not a JSON array: {' or '.join(expected)} is missing"
            )
        elif text[0] == "]":
            expected = "]"
        else:
            try:
                element, end = decoder.raw_decode(text)
                whole = end < len(text)  # a number may go on
            except json.JSONDecodeError as error:
                whole = False
                reason = error.msg
            else:
                reason = "the array does not end"
            if whole:
                yield line, element
                line += text.count("\n", 0, end)
                text, expected = text[end:], ",]"
                continue
            piece = next(pieces, None)
            if piece is None or len(text) > MOST_CHARACTERS:
                raise DamagedLine(path, line, f"is not JSON: {reason}")
            text += piece
    if not ended:
        raise DamagedLine(path, line, "the array does not end")

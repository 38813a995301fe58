"""Owns how every list is printed: a table, chosen columns, or all that is known as CSV or JSON.

A column has the name of its title, in lower case and with hyphens: `Mem. eff.` is `mem-eff`. Fields
of the rows that have no column can be chosen as well; instants are printed in ISO 8601.
"""

import csv
import difflib
import functools
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click
import msgspec
from rich.console import RenderableType
from rich.text import Text

from fairshare.cli.cells import NOTHING
from fairshare.cli.options import print_json
from fairshare.cli.tables import Column, open_console, print_all, table

Row = TypeVar("Row", bound=msgspec.Struct)
Cells = list[str | Text]
Verb = Callable[..., None]

TABLE, CSV, JSON = "table", "csv", "json"


def list_options(verb: Verb) -> Verb:
    """Add `--format` and `--json`; the verb gets the format as `form`."""

    @click.option(
        "--format",
        "form",
        metavar="FORMAT",
        default=TABLE,
        help="table, csv, json, or columns by name: application,user,state.",
    )
    @click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
    @functools.wraps(verb)
    def formatted(*arguments: Any, form: str, as_json: bool, **options: Any) -> None:
        verb(*arguments, form=JSON if as_json else form.strip(), **options)

    return formatted


def print_list(
    form: str,
    rows: Sequence[Row],
    row_type: type[Row],
    columns: Sequence[Column],
    cells: Callable[[Row], Cells],
    *,
    answer: Callable[[], Any],
    nothing: str,
    more: RenderableType | None = None,
) -> None:
    """Print rows in a format; `answer` makes what JSON prints, `nothing` is the text without rows,
    and `more` follows a table. Raises click.UsageError for unknown columns."""
    if form == JSON:
        print_json(msgspec.to_builtins(answer()))
    elif form == CSV:
        print_csv(rows, row_type)
    elif form != TABLE:
        _print_columns(form, rows, row_type, columns, cells)
    elif rows:
        console = open_console()
        print_all(console, table(console, columns, [cells(row) for row in rows]), more)
    else:
        print_all(open_console(), nothing)


def column_name(title: str) -> str:
    """The name by which a column is chosen.

    >>> column_name("Mem. eff."), column_name("Reserved for")
    ('mem-eff', 'reserved-for')
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def print_csv(rows: Sequence[Row], row_type: type[Row]) -> None:
    """A line with the names of the fields, and one for each row."""
    names = row_type.__struct_fields__
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(name.removesuffix("_ms") if name.endswith("_ms") else name for name in names)
    for row in rows:
        writer.writerow(field_text(name, getattr(row, name)) for name in names)


def field_text(name: str, value: object) -> str:
    """The text of a field, for scripts.

    >>> field_text("used", {"memory-mb": 512, "vcores": 1}), field_text("tags", ("a", "b"))
    ('memory-mb=512 vcores=1', 'a b')
    """
    if value is None:
        return ""
    if name.endswith("_ms") and isinstance(value, int):
        moment = datetime.fromtimestamp(value / 1_000, UTC).astimezone()
        return moment.isoformat(timespec="seconds")
    if isinstance(value, Mapping):
        return " ".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    if isinstance(value, tuple | msgspec.Struct):
        return json.dumps(msgspec.to_builtins(value))
    return str(value)


def _print_columns(
    form: str,
    rows: Sequence[Row],
    row_type: type[Row],
    columns: Sequence[Column],
    cells: Callable[[Row], Cells],
) -> None:
    numbers = {column_name(column.title): number for number, column in enumerate(columns)}
    fields = {
        name.removesuffix("_ms").replace("_", "-"): name for name in row_type.__struct_fields__
    }
    chosen = [name.strip().lower().replace("_", "-") for name in form.split(",")]
    for name in chosen:
        if name not in numbers and name not in fields:
            _refuse(name, [*numbers, *(field for field in fields if field not in numbers)])
    drawn = [cells(row) for row in rows] if any(name in numbers for name in chosen) else []
    made = [
        [
            drawn[at][numbers[name]]
            if name in numbers
            else field_text(fields[name], getattr(row, fields[name])) or NOTHING
            for name in chosen
        ]
        for at, row in enumerate(rows)
    ]
    shown = [
        Column(columns[numbers[name]].title, right=columns[numbers[name]].right, whole=True)
        if name in numbers
        else Column(name.capitalize().replace("-", " "), whole=True)
        for name in chosen
    ]
    console = open_console()
    print_all(console, table(console, shown, made))


def _refuse(name: str, known: Sequence[str]) -> None:
    near = difflib.get_close_matches(name, [*known, TABLE, CSV, JSON], 1)
    advice = f"did you mean {near[0]}? " if near else ""
    raise click.UsageError(
        f"--format: there is no column {name!r}: {advice}Write table, csv, json, or some of"
        f" {', '.join(known)}"
    )

"""How every list is printed: a table, chosen columns, or all that is known as CSV or JSON.

A column has the name of its title, in lower case and with hyphens: `Mem. eff.` is `mem-eff`. Fields
of the rows that have no column can be chosen as well; instants are printed in ISO 8601.
"""

import functools
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

import click
import msgspec

from fairshare.cli.cells import NOTHING
from fairshare.cli.options import print_json
from fairshare.cli.tables import Cell, Column, Listing, Styled, open_output, print_all
from fairshare.cli.verbs import nearest

Row = TypeVar("Row", bound=msgspec.Struct)
Verb = Callable[..., None]

TABLE, CSV, JSON = "table", "csv", "json"


class Shown(Column, Generic[Row], frozen=True, kw_only=True):
    """A column of a list, and `of`, its value in a row; None: a dash."""

    of: Callable[[Row], str | int | Styled | None]

    def cell(self, row: Row) -> Cell:
        """What the column shows of a row."""
        value = self.of(row)
        if value is None:
            return NOTHING
        return value if isinstance(value, Styled) else str(value)


def list_table(columns: Sequence[Shown[Row]], rows: Iterable[Row]) -> Listing:
    """A table with a line for each row."""
    return Listing(columns, [[column.cell(row) for column in columns] for row in rows])


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
    def formatted(*arguments: object, form: str, as_json: bool, **options: object) -> None:
        verb(*arguments, form=JSON if as_json else form.strip(), **options)

    return formatted


def print_list(
    form: str,
    rows: Sequence[Row],
    row_type: type[Row],
    columns: Sequence[Shown[Row]],
    *,
    answer: Callable[[], object],
    nothing: str,
    more: Listing | None = None,
) -> None:
    """Print rows in a format; `answer` makes what JSON prints, `nothing` is the text without rows,
    and `more` follows a table or that text. Raises click.UsageError for unknown columns."""
    if form == JSON:
        print_json(msgspec.to_builtins(answer()))
    elif form == CSV:
        print_csv(rows, row_type)
    elif form != TABLE:
        _print_columns(form, rows, row_type, columns)
    elif rows:
        print_all(open_output(), list_table(columns, rows), more)
    else:
        print_all(open_output(), nothing, more)


def column_name(title: str) -> str:
    """The name by which a column is chosen.

    >>> column_name("Mem. eff."), column_name("Reserved for")
    ('mem-eff', 'reserved-for')
    """
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def print_csv(rows: Sequence[Row], row_type: type[Row]) -> None:
    """A line with the names of the fields, and one for each row."""
    import csv  # which few lists need

    names = row_type.__struct_fields__
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(map(_shown_name, names))
    for row in rows:
        writer.writerow(_cell(name, getattr(row, name)) for name in names)


def _cell(name: str, value: object) -> str:
    """The text of a field for a spreadsheet, which would run a text that begins as a formula.

    >>> _cell("name", "=1+1"), _cell("name", "train"), _cell("priority", -1)
    ("'=1+1", 'train', '-1')
    """
    text = field_text(name, value)
    may_run = text[:1] in ("=", "+", "-", "@", "\t", "\r") and not isinstance(value, int | float)
    return f"'{text}" if may_run else text


_DURATIONS: Final = (
    *("_timeout_ms", "_limit_ms", "_interval_ms", "cpu_ms", "idle_ms", "waited_ms", "running_ms"),
    *("lifetime_ms", "grace_ms"),
)


def _is_instant(name: str) -> bool:
    """Whether a field is an instant; other fields in milliseconds are durations.

    >>> [_is_instant(name) for name in ("started_ms", "cpu_ms", "gpus_idle_ms", "time_limit_ms")]
    [True, False, False, False]
    """
    return name.endswith("_ms") and not name.endswith(_DURATIONS)


def _shown_name(name: str) -> str:
    """The name of a field without a unit that its text does not have."""
    return name.removesuffix("_ms") if _is_instant(name) else name


def field_text(name: str, value: object) -> str:
    """The text of a field, for scripts.

    >>> field_text("used", {"memory-mb": 512, "vcores": 1}), field_text("tags", ("a", "b"))
    ('memory-mb=512 vcores=1', 'a b')
    """
    if value is None:
        return ""
    if _is_instant(name) and isinstance(value, int):
        moment = datetime.fromtimestamp(value / 1_000, UTC).astimezone()
        return moment.isoformat(timespec="seconds")
    if isinstance(value, Mapping):
        return " ".join(f"{key}={part}" for key, part in value.items())
    if isinstance(value, tuple) and all(isinstance(one, str) for one in value):
        return " ".join(value)
    if isinstance(value, tuple | msgspec.Struct):
        import json  # which few lists need

        return json.dumps(msgspec.to_builtins(value))
    return str(value)


def _print_columns(
    form: str, rows: Sequence[Row], row_type: type[Row], columns: Sequence[Shown[Row]]
) -> None:
    columns_by_name = {column_name(column.title): column for column in columns}
    fields = {_shown_name(name).replace("_", "-"): name for name in row_type.__struct_fields__}
    chosen = [name.strip().lower().replace("_", "-") for name in form.split(",")]
    for name in chosen:
        if name not in columns_by_name and name not in fields:
            names = [*columns_by_name, *(field for field in fields if field not in columns_by_name)]
            near = nearest(name, [*names, TABLE, CSV, JSON])
            advice = f"did you mean {near}? " if near else ""
            raise click.UsageError(
                f"--format: there is no column {name!r}: {advice}Write table, csv, json, or some of"
                f" {', '.join(names)}"
            )
    shown = [
        Shown(
            columns_by_name[name].title,
            right=columns_by_name[name].right,
            whole=True,
            of=columns_by_name[name].of,
        )
        if name in columns_by_name
        else field_column(name, fields[name])
        for name in chosen
    ]
    print_all(open_output(), list_table(shown, rows))


def field_column(name: str, field: str) -> Shown[Any]:
    """A column of a field that has none of its own, by its name and that of the field."""
    title = name.capitalize().replace("-", " ")
    return Shown(
        title, whole=True, of=lambda row: field_text(field, getattr(row, field)) or NOTHING
    )

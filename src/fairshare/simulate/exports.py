"""Owns how the tables of a report are written: to an SQLite file, or to Parquet files.

Parquet needs pyarrow, which is an extra: it is imported when it is needed. Knows no column.
"""

import contextlib
import importlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from fairshare.errors import FairshareError
from fairshare.simulate.tables import Table
from fairshare.wording import cause

_SQL: Final = {int: "INTEGER", float: "REAL", str: "TEXT"}
NO_PYARROW: Final = "Parquet files need pyarrow: pip install 'fairshare[parquet]'"


class ExportError(FairshareError):
    """A file cannot be written."""


def write_sqlite(path: Path, tables: Sequence[Table]) -> None:
    """Write a new file with these tables, in place of an earlier one. Raises ExportError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with contextlib.closing(sqlite3.connect(draft)) as connection, connection:
            for table in tables:
                columns = ", ".join(f'"{name}" {_SQL[kind]}' for name, kind in table.columns)
                connection.execute(f"CREATE TABLE {table.name} ({columns})")
                marks = ", ".join("?" * len(table.columns))
                statement = f"INSERT INTO {table.name} VALUES ({marks})"  # noqa: S608 - our names
                connection.executemany(statement, table.rows)
        draft.replace(path)
    except (sqlite3.Error, OSError) as error:
        draft.unlink(missing_ok=True)
        raise ExportError(f"cannot write {path}: {cause(error)}") from error


def check_parquet() -> None:
    """Raise ExportError, with what to install, if Parquet files cannot be written here."""
    _pyarrow()


def write_parquet(directory: Path, tables: Sequence[Table]) -> list[Path]:
    """Write a file for each table to a directory, which is made. Raises ExportError."""
    arrow, parquet = _pyarrow()
    kinds = {int: arrow.int64(), float: arrow.float64(), str: arrow.string()}
    written = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for table in tables:
            names = [name for name, _ in table.columns]
            columns = list(zip(*table.rows, strict=True)) or [()] * len(names)
            arrays = [
                arrow.array(column, kinds[kind])
                for column, (_, kind) in zip(columns, table.columns, strict=True)
            ]
            path = directory / f"{table.name}.parquet"
            parquet.write_table(arrow.Table.from_arrays(arrays, names=names), path)
            written.append(path)
    except OSError as error:
        raise ExportError(f"cannot write {directory}: {cause(error)}") from error
    return written


def _pyarrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExportError(NO_PYARROW) from error

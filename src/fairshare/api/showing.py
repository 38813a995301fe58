"""How answers show themselves in a notebook, and become frames. The room of the command line, which
has the tables, draws them: it is imported when one is shown."""

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final, Self, TypeVar

from fairshare.api.values import EMPTY

Row = TypeVar("Row", covariant=True)

DRAWING: Final = "fairshare.cli.notebook"


def shown(answer: object) -> str:
    """An answer in HTML: the `_repr_html_` of the class whose answer it is."""
    text: str = import_module(DRAWING).html_of(answer)
    return text


def framed(answer: object) -> Any:
    """A DataFrame of pandas with a row for each record and a column for each field, in the units of
    the fields; a field in parts has a column for each, such as `used.memory-mb`.

    Raises ImportError without pandas.
    """
    return import_module(DRAWING).frame_of(answer)


class Rows(tuple[Row, ...]):
    """A tuple of records that a notebook shows as a table.

    It is equal to any tuple of the same records. `of` is the class of its records, and `total` all
    that the cluster has, of which the bars of queues are parts.
    """

    of: type | None
    total: Mapping[str, int]

    def __new__(
        cls, rows: Iterable[Row] = (), of: type | None = None, total: Mapping[str, int] = EMPTY
    ) -> Self:
        made = super().__new__(cls, rows)
        made.of, made.total = of, dict(total)
        return made

    _repr_html_ = shown

    to_frame = framed

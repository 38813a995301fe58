"""Empty tables and amounts: one object for all that have nothing, since an empty dictionary
takes 64 bytes, and an application has a dozen."""

from functools import cache
from typing import Any, Final, NoReturn

from fairshare.core.model.resources import Resource


class _Nothing(dict[Any, Any]):
    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this empty table is shared: replace it by one with the first entry")

    __setitem__ = __ior__ = setdefault = update = _refuse  # the others do not use the first one


NOTHING: Final = _Nothing()
"""The empty table: replaced by one with the first entry, and read as any other."""


@cache
def no_amounts(types: int) -> Resource:
    """Nothing of so many resource types."""
    return (0,) * types

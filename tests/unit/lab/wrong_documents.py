"""Documents that differ from a right one in one place, for what takes and what refuses them."""

from collections.abc import Iterator
from typing import Any

WRONG = ({"colour": 1}, [["colour"]], "colour of 1", "", 7, -7, 0, 0.5, True, None)


def changed(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Each place where one value is replaced, one key removed, or one key more; and what is there
    then."""
    for wrong in WRONG:
        yield path, wrong
    if isinstance(value, dict):
        yield path, value | {"colour": "red"}
        for key, inner in value.items():
            yield path, {name: one for name, one in value.items() if name != key}
            yield from changed(inner, (*path, key))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from changed(inner, (*path, number))


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The document with another value in a place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], new)
    return copy

"""Owns the reading of typed fields from a located mapping; every problem is reported with its line.

A reader goes on after a problem with the field's default, so that one run tells everything. Knows
no meaning of any field.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fairshare.config.problems import Place, Problems
from fairshare.documents.booleans import parse_boolean
from fairshare.documents.durations import NO_DURATION, parse_duration_ms
from fairshare.documents.sizes import parse_size
from fairshare.model.resources import MEMORY, Resource, ResourceTypes
from fairshare.simulate.readers.documents import Located

Value = TypeVar("Value")

_RULE = "workload"
_LARGEST = 2**53


class Fields:
    """The fields of one mapping. What is not asked for is unknown, and an error at `finish`."""

    def __init__(self, located: Located, what: str, file: str, problems: Problems) -> None:
        self.what = what
        self.line = located.line
        self._file = file
        self._problems = problems
        self._asked: dict[str, None] = {}
        self._found: dict[str, Located] = {}
        if isinstance(located.value, dict):
            self._found = located.value
        else:
            self.problem(f"{what} must be a mapping of names to values")

    def problem(self, message: str, line: int | None = None) -> None:
        """Report something about this mapping, or a line in it."""
        self._problems.error(Place(self._file, line or self.line), _RULE, message)

    def finish(self) -> None:
        """Report the keys that nobody asked for."""
        for name, located in self._found.items():
            if name not in self._asked:
                known = ", ".join(self._asked)
                self.problem(f"{self.what} has no field {name} (it has {known})", located.line)

    def get(self, name: str, *, required: bool = False) -> Located | None:
        """The raw value of a field."""
        self._asked[name] = None
        located = self._found.get(name)
        if located is None and required:
            self.problem(f"{self.what} needs the field {name}")
        return located

    def _typed(
        self,
        name: str,
        default: Value,
        convert: Callable[[Any], Value],
        *,
        required: bool = False,
    ) -> Value:
        located = self.get(name, required=required)
        if located is None:
            return default
        try:
            return convert(located.value)
        except ValueError as error:
            self.problem(f"{name}: {error}", located.line)
            return default

    def text(self, name: str, default: str = "", *, required: bool = False) -> str:
        """A text that is not empty."""
        return self._typed(name, default, _text, required=required)

    def integer(self, name: str, default: int, *, least: int = 0, required: bool = False) -> int:
        """A whole number of at least `least`."""
        return self._typed(name, default, lambda v: _integer(v, least), required=required)

    def optional_integer(self, name: str) -> int | None:
        """A whole number of any sign, or None where there is none."""
        return self._typed(name, None, lambda v: _integer(v, -_LARGEST))

    def fraction(self, name: str, default: float) -> float:
        """A number from 0 to 1."""
        return self._typed(name, default, _fraction)

    def boolean(self, name: str, default: bool) -> bool:
        """A truth value: `true` or `false`."""
        return self._typed(name, default, _boolean)

    def duration_ms(self, name: str, default: int, *, required: bool = False) -> int:
        """A duration with its unit."""
        return self._typed(name, default, _duration_ms, required=required)

    def optional_duration_ms(self, name: str) -> int | None:
        """A duration, or None where there is none."""
        return self._typed(name, None, _duration_ms)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; one text stands for a list of one."""
        return self._typed(name, (), lambda v: _several(v, _text))

    def durations_ms(self, name: str, *, required: bool = False) -> int | tuple[int, ...]:
        """One duration for all, or a list."""
        none: int | tuple[int, ...] = 0
        return self._typed(
            name, none, lambda v: _one_or_several(v, _duration_ms), required=required
        )

    def integers(self, name: str, default: int) -> int | tuple[int, ...]:
        """One whole number for all, or a list."""
        alike: int | tuple[int, ...] = default
        return self._typed(name, alike, lambda v: _one_or_several(v, lambda w: _integer(w, 0)))

    def resource(self, name: str, types: ResourceTypes) -> Resource:
        """Whole numbers by resource type, memory also with a unit; types not named are 0."""
        return self._typed(name, types.none, lambda v: _resource(v, types), required=True)

    def items(self, name: str, *, required: bool = False) -> Sequence[Located]:
        """A list, as it stands."""
        return self._typed(name, (), _items, required=required)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{_shown(value)} is not a text (write it in quotes if it looks like one)")
    return value


def _integer(value: Any, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{_shown(value)} is not a whole number")
    if not least <= value <= _LARGEST:
        raise ValueError(f"{value} must be at least {least} and at most {_LARGEST}")
    return value


def _fraction(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise ValueError(f"{_shown(value)} is not a number from 0.0 to 1.0")
    return float(value)


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise ValueError(f"{_shown(value)} is neither true nor false: write true or false")
    return parse_boolean(value)


def _duration_ms(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{_shown(value)} {NO_DURATION}")
    return parse_duration_ms(str(value))


def _several(value: Any, convert: Callable[[Any], Value]) -> tuple[Value, ...]:
    if isinstance(value, list):
        return tuple(convert(item.value) for item in value)
    return (convert(value),)


def _one_or_several(value: Any, convert: Callable[[Any], int]) -> int | tuple[int, ...]:
    return _several(value, convert) if isinstance(value, list) else convert(value)


def _resource(value: Any, types: ResourceTypes) -> Resource:
    if not isinstance(value, dict):
        raise ValueError(f"must name amounts, such as {{{types.names[0]}: 1024}}")
    amounts = {
        name: (_memory_mb if name == MEMORY else _amount)(located.value)
        for name, located in value.items()
    }
    try:
        return types.vector(amounts)
    except KeyError as error:
        known = ", ".join(types.names)
        raise ValueError(f"there is no resource type {error.args[0]} (there are {known})") from None


def _amount(value: Any) -> int:
    return _integer(value, 0)


def _memory_mb(value: Any) -> int:
    return _amount(parse_size(value) if isinstance(value, str) else value)


def _items(value: Any) -> Sequence[Located]:
    if not isinstance(value, list):
        raise ValueError("must be a list")
    return value


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return repr(value)

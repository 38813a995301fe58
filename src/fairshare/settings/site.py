"""Properties, as Hadoop's *-site.xml files have them: their values, by name and type.

A Site remembers which properties were asked for, so that a scheduler's reader can name the unknown
ones.
"""

import bisect
import re
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import TypeVar

import msgspec

from fairshare.core.schedulers.access_lists import parts_of
from fairshare.documents import literals
from fairshare.documents.problems import Place, Problems

_VARIABLE = re.compile(r"\$\{([^{}$ ]+)\}")
_MAX_EXPANSIONS = 20
_OF_JAVA = ("user.", "java.", "os.", "file.", "path.", "line.")

_T = TypeVar("_T")


class Property(msgspec.Struct, frozen=True):
    """One property as it is written, with the place of its value."""

    name: str
    value: str
    place: Place
    final: bool = False


class Site:
    """An ordered mapping of property names, with getters that report bad values with their place.
    `misplaced` are properties in a file from which Hadoop does not read them.

    >>> site = Site.of({"yarn.scheduler.fair.preemption": True, "a": "${b} GB", "b": 4})
    >>> site.string("a", "", Problems())
    '4 GB'
    """

    def __init__(
        self,
        properties: Mapping[str, Property],
        environment: Mapping[str, str] | None = None,
        misplaced: Mapping[str, Property] | None = None,
    ) -> None:
        self._properties = dict(properties)
        self.misplaced = dict(misplaced or {})
        self._environment = dict(environment or {})
        self._read: set[str] = set()
        self.defaults: dict[str, str] = {}
        """What holds of properties that were asked for and are not set."""
        self._sorted: list[tuple[str, int]] | None = None  # by name, with the place in the files

    @classmethod
    def of(cls, values: Mapping[str, object], file: str = "properties") -> "Site":
        """A site of plain values; True and False are written as Hadoop does."""
        return cls({}).with_values(values, file)

    def with_values(self, values: Mapping[str, object], file: str = "properties") -> "Site":
        """A copy in which some properties have other values. None removes one, and so does an empty
        text: as in Hadoop's files it counts as not written."""
        properties = dict(self._properties)
        for name, value in values.items():
            if value is None or value == "":
                properties.pop(name, None)
            else:
                text = str(value).lower() if isinstance(value, bool) else str(value)
                properties[name] = Property(name, text, Place(file))
        return Site(properties, self._environment, self.misplaced)

    def with_misplaced(self) -> "Site":
        """A copy in which properties count wherever they are written."""
        return Site({**self._properties, **self.misplaced}, self._environment)

    def __iter__(self) -> Iterator[Property]:
        return iter(self._properties.values())

    def __contains__(self, name: str) -> bool:
        return name in self._properties

    def place(self, *names: str) -> Place:
        """The place of the first of these properties that is set; else one without a line."""
        for name in names:
            if name in self._properties:
                return self._properties[name].place
        return Place("yarn-site.xml")

    def names(self, prefix: str) -> list[str]:
        """The names that begin with `prefix`, in the order of the files."""
        if self._sorted is None:
            self._sorted = sorted((name, place) for place, name in enumerate(self._properties))
        end = first = bisect.bisect_left(self._sorted, (prefix,))
        while end < len(self._sorted) and self._sorted[end][0].startswith(prefix):
            end += 1
        return [name for name, _ in sorted(self._sorted[first:end], key=itemgetter(1))]

    def unread(self, prefix: str) -> list[Property]:
        """The properties below `prefix` that no getter was asked for."""
        return [self._properties[name] for name in self.names(prefix) if name not in self._read]

    def text(self, name: str, problems: Problems) -> str | None:
        """A property's value, variables replaced, blanks kept; None if it is not set."""
        self._read.add(name)
        written = self._properties.get(name)
        if written is None:
            return None
        return self._expand(written, problems)

    def string(self, name: str, default: str, problems: Problems) -> str:
        """A text without blanks around it."""
        text = self.text(name, problems)
        return self._default(name, default) if text is None else literals.trim(text)

    def strings(self, name: str, problems: Problems) -> tuple[str, ...]:
        """A list divided by commas or line ends: its parts without blanks, none empty, none twice
        (Hadoop: Configuration.getTrimmedStringCollection)."""
        return tuple(dict.fromkeys(part for part in self.parts(name, problems) if part))

    def parts(self, name: str, problems: Problems) -> tuple[str, ...]:
        """The same with empty and repeated parts (Hadoop: Configuration.getTrimmedStrings)."""
        return tuple(parts_of(self.text(name, problems) or ""))

    def between_commas(self, name: str, problems: Problems) -> tuple[str, ...]:
        """A list divided by commas alone: its parts without blanks, none empty
        (Hadoop: Configuration.getStrings)."""
        parts = (literals.trim(part) for part in (self.text(name, problems) or "").split(","))
        return tuple(part for part in parts if part)

    def integer(
        self, name: str, default: int, problems: Problems, minimum: int | None = None
    ) -> int:
        """A whole number of 32 bits, at least `minimum`."""
        value = self._typed(name, default, problems, lambda t: literals.property_integer(t, 32))
        return self._at_least(name, value, default, problems, minimum)

    def long(self, name: str, default: int, problems: Problems, minimum: int | None = None) -> int:
        """A whole number of 64 bits, at least `minimum`."""
        value = self._typed(name, default, problems, lambda t: literals.property_integer(t, 64))
        return self._at_least(name, value, default, problems, minimum)

    def single(self, name: str, default: float, problems: Problems) -> float:
        """A number rounded to 32 bits; so is the default."""
        return self._typed(name, literals.to_single(default), problems, literals.single)

    def double(self, name: str, default: float, problems: Problems) -> float:
        """A number."""
        return self._typed(name, default, problems, literals.double)

    def duration_ms(self, name: str, default: int, problems: Problems, unit: str = "ms") -> int:
        """A time such as `10s`, in milliseconds; `unit` counts for a number without suffix."""
        return self._typed(name, default, problems, lambda t: literals.duration_ms(t, unit))

    def boolean(self, name: str, default: bool, problems: Problems) -> bool:
        """True or false. Hadoop takes any other word for the default, and so does this."""
        text = self.text(name, problems)
        if not text:
            return self._default(name, default)
        value = literals.boolean(text)
        if value is None:
            word = "true" if default else "false"
            problems.trap(
                self.place(name),
                "property-value",
                f"{name} is {literals.trim(text)!r}, neither true nor false:"
                f" its default {word} holds",
                f"takes the default {word} without a word",
            )
            return default
        return value

    def _typed(self, name: str, default: _T, problems: Problems, read: Callable[[str], _T]) -> _T:
        text = self.text(name, problems)
        if text is None:
            return self._default(name, default)
        try:
            return read(text)
        except ValueError as error:
            message = f"{name}: {error}"
            problems.error(self.place(name), "property-value", message, "does not start")
            return default

    def _default(self, name: str, default: _T) -> _T:
        if name not in self._properties:
            text = str(default)
            self.defaults[name] = text.lower() if isinstance(default, bool) else text
        return default

    def _at_least(
        self, name: str, value: int, default: int, problems: Problems, minimum: int | None
    ) -> int:
        if minimum is None or value >= minimum:
            return value
        message = f"{name} is {value}: it must be at least {minimum}"
        problems.error(self.place(name), "property-value", message, "does not start")
        return default

    def _expand(self, written: Property, problems: Problems) -> str:
        """Replace `${name}` and `${env.NAME:-default}`, innermost and leftmost first
        (Hadoop: Configuration.substituteVars).

        As in Hadoop the first one that is not set ends it, and a value that refers to itself stays
        as it is written.
        """
        text, start = written.value, 0
        for _ in range(_MAX_EXPANSIONS):
            match = _VARIABLE.search(text, start)
            value = None if match is None else self._variable(match.group(1))
            if match is not None and value is None and match.group(1).startswith(_OF_JAVA):
                start = match.end()  # a property of Hadoop's process: it has one, and goes on
                continue
            if match is None or value is None:
                return text
            if match.group() in value:
                message = f"{written.name}: {match.group()} needs itself, so nothing is replaced"
                problems.trap(written.place, "variable", message, "keeps the text as it is written")
                return written.value
            text = text[: match.start()] + value + text[match.end() :]
        problems.error(
            written.place,
            "variable",
            f"{written.name}: {_MAX_EXPANSIONS} variables or more in {written.value!r}, or some"
            " that need each other",
            "fails when it reads the value",
        )
        return written.value

    def _variable(self, name: str) -> str | None:
        if not name.startswith("env."):
            self._read.add(name)
            found = self._properties.get(name)
            return None if found is None else found.value
        variable, separator, default = name[len("env.") :], "", ""
        for mark in (":-", "-"):
            if mark in variable:
                variable, separator, default = variable.partition(mark)
                break
        value = self._environment.get(variable)
        if separator and (value is None or (separator == ":-" and not value)):
            return default
        return value

"""What a reader of configuration and a lint rule have to say: problems with a place, and their
collector.

A reader goes on after a problem, so that one run tells all of them.
"""

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

import msgspec

from fairshare.errors import ConfigurationError

Severity = Literal["error", "warning", "trap"]
"""`error`: cannot be used. `warning`: has no effect. `trap`: legal, but hardly what is meant."""


class Problem(msgspec.Struct, frozen=True):
    """One problem of a configuration file; line and column count from 1, 0 where there is none.

    `rule` is the stable name of what was checked; `hadoop` says what Hadoop itself does here.

    >>> str(Problem("fair-scheduler.xml", 3, 5, "weight", "error", "'two' is not a number"))
    "fair-scheduler.xml:3:5: error: 'two' is not a number [weight]"
    """

    file: str
    line: int = 0
    column: int = 0
    rule: str = ""
    severity: Severity = "error"
    message: str = ""
    hadoop: str = ""

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        return f"{place}: {self.severity}: {self.message} [{self.rule}]"


class Place(msgspec.Struct, frozen=True):
    """A place in a file: line and column from 1; 0 where there is none."""

    file: str
    line: int = 0
    column: int = 0


MOST_LISTED: Final = 1_000
"""More is never read, and the answer to a file that a caller sends must stay small."""


class Problems:
    """Collects problems; `all` gives them by file (in the order of first mention), line, column."""

    def __init__(self) -> None:
        self._unlisted = 0
        self._has_error = False
        # A dictionary as an ordered set: a problem that is found twice is reported once.
        self._found: dict[Problem, None] = {}

    def error(self, place: Place, rule: str, message: str, hadoop: str = "") -> None:
        """Report what makes the configuration unusable."""
        self._add(place, rule, "error", message, hadoop)

    def warning(self, place: Place, rule: str, message: str, hadoop: str = "") -> None:
        """Report what has no effect."""
        self._add(place, rule, "warning", message, hadoop)

    def trap(self, place: Place, rule: str, message: str, hadoop: str = "") -> None:
        """Report what is legal, and hardly what its author means."""
        self._add(place, rule, "trap", message, hadoop)

    def _add(self, place: Place, rule: str, severity: Severity, message: str, hadoop: str) -> None:
        problem = Problem(place.file, place.line, place.column, rule, severity, message, hadoop)
        if len(self._found) >= MOST_LISTED and (self._has_error or severity != "error"):
            self._unlisted += 1
            return
        self._has_error |= severity == "error"
        self._found[problem] = None

    def add(self, problems: Iterable[Problem]) -> None:
        """Add problems that others have found."""
        for one in problems:
            place = Place(one.file, one.line, one.column)
            self._add(place, one.rule, one.severity, one.message, one.hadoop)

    def add_idle(self, others: "Problems", hadoop: str) -> None:
        """Add what was found in settings that nothing reads at present: an error is a trap."""
        for problem in others.all:
            idle = problem.severity == "error"
            severity: Severity = "trap" if idle else problem.severity
            place = Place(problem.file, problem.line, problem.column)
            self._add(
                place, problem.rule, severity, problem.message, hadoop if idle else problem.hadoop
            )

    @property
    def all(self) -> tuple[Problem, ...]:
        """Everything that was found, in the order of the files."""
        files = list(dict.fromkeys(problem.file for problem in self._found))
        listed = sorted(self._found, key=lambda p: (files.index(p.file), p.line, p.column))
        if self._unlisted:
            message = f"{self._unlisted} more problems are not listed: correct these first"
            listed.append(Problem(files[-1], 0, 0, "more", "warning", message))
        return tuple(listed)

    @property
    def errors(self) -> tuple[Problem, ...]:
        """Those of severity `error`."""
        return tuple(problem for problem in self.all if problem.severity == "error")

    def raise_errors(self) -> None:
        """Raise ConfigurationError with everything that was found, if an error is among it."""
        if self.errors:
            raise ConfigurationError(self.all)


class Finding(NamedTuple):
    """What a rule says; its name is added where it is registered."""

    place: Place
    message: str
    hadoop: str
    severity: Severity = "trap"


def add_findings(rule: str, findings: Iterable[Finding], problems: Problems) -> None:
    """Add what one rule has found."""
    for finding in findings:
        add = {
            "trap": problems.trap,
            "warning": problems.warning,
            "error": problems.error,
        }[finding.severity]
        add(finding.place, rule, finding.message, finding.hadoop)

"""The errors of the whole package, as one tree.

    FairshareError                 what a user may see; the message says where, what, what to do
      ConfigurationError           a file or setting is wrong; carries every problem found
      InputError                   a tenant's call is wrong; carries a stable code
      JournalError                 the record of what happened cannot be written or read
      UndecidedError               a defect kept an input from being decided; nothing has changed
      EngineError                  a container could not be started or watched
    InvariantViolation             the scheduler itself is wrong: stop, do not go on

A tenant's mistake that becomes part of history (a refused submission) is an *event* with a reason
and no exception. `InvariantViolation` stands apart on purpose: nothing catches it.
"""

from collections.abc import Sequence


class FairshareError(Exception):
    """The root of everything that a user may see."""


class ConfigurationError(FairshareError):
    """A configuration that cannot be used. `problems` holds one printable line for each problem."""

    def __init__(self, problems: Sequence[object]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InputError(FairshareError):
    """A call that cannot be served. `code` is stable (`unknown-queue`), the message for people."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class JournalError(FairshareError):
    """The journal cannot be written or read."""


class UndecidedError(FairshareError):
    """An input could not be decided because of a defect of fairshare; it has changed nothing.

    The exception that shows the defect is its cause.
    """


class EngineError(FairshareError):
    """An engine could not do what it was ordered to do."""


class InvariantViolation(AssertionError):
    """The state contradicts itself: a defect of fairshare, never of its input."""

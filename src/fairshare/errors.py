"""The errors of the whole package, as one tree.

    FairshareError                 shown to users; the message says where, what, and what to do
      ConfigurationError           a file or setting is wrong; carries every problem found
      InputError                   a client's call is wrong; carries a stable code
      JournalError                 the journal cannot be written or read
      UndecidedError               because of a defect an input was not decided; nothing changed
      EngineError                  a container could not be started or watched
    InvariantViolation             the state is inconsistent: the process must stop

A client's mistake that becomes part of history (a refused submission) is an *event* with a reason,
not an exception. `InvariantViolation` does not derive from FairshareError, so that no handler of
user errors catches it.
"""

from collections.abc import Sequence


class FairshareError(Exception):
    """The base class of all errors that are shown to users."""


class ConfigurationError(FairshareError):
    """A configuration is invalid. `problems` has one printable line for each problem."""

    def __init__(self, problems: Sequence[object]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class InputError(FairshareError):
    """A call cannot be served. `code` is stable (`unknown-queue`); the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class JournalError(FairshareError):
    """The journal cannot be written or read."""


class UndecidedError(FairshareError):
    """A defect in fairshare prevented the decision on an input; the state is unchanged.

    `__cause__` is the exception that shows the defect.
    """


class EngineError(FairshareError):
    """An engine could not carry out an order."""


class InvariantViolation(AssertionError):
    """The state is inconsistent: a defect in fairshare, never in its input."""


class AccountsUnavailable(InputError):
    """Whether an account exists cannot be found out now: the directory service does not answer, or
    this process has no file left to ask it with."""

    def __init__(self, account: str, reason: str) -> None:
        super().__init__(
            "accounts-unavailable",
            f"the account {account} cannot be looked up on the server's machine now: {reason}; try"
            " again",
        )

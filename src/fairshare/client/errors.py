"""What can go wrong between a client and a server.

FairshareError
  ServerUnreachable       no server answers at the URL, or no URL is known
  InterpreterUnusable     the Python that was chosen cannot run calls
  NotHere                 a submission should take along what this process does not have
  TokenUnusable           the file with the token is not for its owner alone, or holds none
  AnswerNotUnderstood     something answers, but not as a fairshare server of this version does
  InputError
    Refused               the server says no; carries its code and the HTTP status
  ApplicationFailed       the application that was waited for did not finish well
  WaitTimedOut            it is not over yet
  NotPicklable            a Python callable cannot be sent, or its result cannot be read
  CallFailed              the process of a call of an executor has failed

Refusals that Hadoop words at length have plain words here. Hadoop's own words remain in the REST
interfaces and in `fairshare yarn`, where programs and users of YARN look for them.
"""

import re
from typing import Final

from fairshare.documents.gpus import GPU, NO_GPUS
from fairshare.errors import FairshareError, InputError

# Not compiled here, which every command would wait for: `re` keeps what it has compiled.
_NOTHING = r"because queue (\S+) has 0 amount of resource for a resource type!"
_TOO_LARGE = (
    r"Requested resource type=\[([^\]]+)\], Requested resource=<([^>]+)>, maximum allowed"
    r" allocation=<([^>]+)>"
)
_OUT_OF_MEMORY = r"killed: used \d+ MB, limit (\d+) MB; out of memory(?:: [^\n]*resources\))?"
_AMOUNT = r"([^\s,:]+):\s*(\d+)"
_TYPE = r"\bname: ([^,\s]+), units:"
_NAMES: Final = {"memory-mb": "memory", "vcores": "vCores"}
_PROPERTIES: Final = {
    "memory-mb": "yarn.scheduler.maximum-allocation-mb",
    "vcores": "yarn.scheduler.maximum-allocation-vcores",
}


def in_plain_words(message: str) -> str:
    """A refusal in plain words; a message without Hadoop's stays as it is.

    For a queue with a maximum of 0 of a type: `queue root.a may have no vcores (its maximum is 0):
    submit to another queue, ...`
    """
    large = re.search(_TOO_LARGE, message)
    if large is not None:
        name = large[1]
        requested, most = _amount(large[2], name), _amount(large[3], name)
        raised = _PROPERTIES.get(name, f"yarn.resource-types.{name}.maximum-allocation")
        if not most:
            return (
                f"no container can have {name}: no node offers any (`fairshare nodes`), or {raised}"
                " is 0" + (NO_GPUS if name == GPU else "")
            )
        return (
            f"a container with {_text(requested, name, most)} is larger than any may be: the most"
            f" is {_text(most, name, requested)}. Request smaller containers, or have an"
            f" administrator raise {raised} or enlarge the nodes"
        )
    match = re.search(_NOTHING, message)
    if match is None:
        return message
    types = " and no ".join(dict.fromkeys(re.findall(_TYPE, message))) or "such resources"
    return (
        f"queue {match[1]} may have no {types} (its maximum is 0): submit to another queue, or have"
        f" maxResources of {match[1]}, or of a queue above it, raised"
    )


def _amount(amounts: str, name: str) -> int:
    """The amount of a type in Hadoop's list, which leaves out 0 of further types: `memory:102400,
    vCores:1`."""
    return int(dict(re.findall(_AMOUNT, amounts)).get(_NAMES.get(name, name), 0))


def _text(amount: int, name: str, other: int) -> str:
    """An amount in words, in a unit in which the other one is whole, too."""
    if name != "memory-mb":
        return f"{amount:,} {name.removesuffix('s') if amount == 1 and name == 'vcores' else name}"
    whole = amount % 1024 == other % 1024 == 0 and max(amount, other) >= 10_240
    return f"{amount // 1024:,} GB of memory" if whole else f"{amount:,} MB of memory"


START_ONE = "start one with `fairshare serve --conf DIR`"


class ServerUnreachable(FairshareError):
    """No server answers. `url` is None when no server is known at all."""

    def __init__(self, message: str, url: str | None = None) -> None:
        self.url = url
        super().__init__(message)


class TokenUnusable(FairshareError):
    """The file with the user's token cannot be trusted, or cannot be read."""


class NotHere(FairshareError):
    """A submission should take along a directory, a variable or a file that does not exist here."""


class InterpreterUnusable(FairshareError):
    """The Python that was chosen for calls cannot run them."""


class AnswerNotUnderstood(FairshareError):
    """The answer is not from a fairshare server of this version."""


class Refused(InputError):
    """The server refused the call; its message says what to do. `status` is that of HTTP.

    A refused submission stays known to the server as `application`, in the state REJECTED.
    """

    def __init__(
        self, status: int, code: str, message: str, application: str | None = None
    ) -> None:
        self.status = status
        self.application = application
        super().__init__(code, in_plain_words(message))


class ApplicationFailed(FairshareError):
    """An application ended as FAILED, KILLED or REJECTED. `log` has its last lines, if any.

    The message ends with them, unless the diagnostics contain the same.
    """

    def __init__(self, application: str, state: str, diagnostics: str, log: str = "") -> None:
        self.application = application
        self.state = state
        self.diagnostics = diagnostics = in_plain_words(diagnostics)
        self.log = log
        reason = f": {diagnostics}" if diagnostics else ""
        included = not log.strip() or log.splitlines()[-1] in diagnostics
        lines = "" if included else f"\nThe last lines of its last failure:\n{log}"
        super().__init__(f"{application} ended as {state}{reason}{lines}")


class WaitTimedOut(FairshareError, TimeoutError):
    """An application is not over yet; it goes on."""

    def __init__(self, application: str, timeout_s: float) -> None:
        self.application = application
        super().__init__(
            f"{application} is not over after {timeout_s:g} s and goes on;"
            f" wait again, or kill it with `fairshare kill {application}`"
        )


class NotPicklable(FairshareError):
    """A callable or its result does not survive the way to a container and back."""


class CallFailed(FairshareError):
    """A call of an executor did not come to an end: its process died, or what it raised is unknown
    here."""

    @classmethod
    def of_process(cls, reason: str, log: str = "") -> "CallFailed":
        """For a process that died; `log` is what was written last."""
        lines = f"\nThe last lines that were written:\n{log}" if log.strip() else ""
        if memory := re.search(_OUT_OF_MEMORY, reason):
            more = f'resources={{"memory-mb": {2 * int(memory[1])}}}'
            words = memory[0].partition(": ask for")[0]
            reason = reason.replace(memory[0], f"{words}: give calls more, {more}")
        return cls(f"the call's process failed: {reason}{lines}")


class RemoteTraceback(Exception):
    """Where a call raised, over there. It is the `__cause__` of what the future raises."""

    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(text)

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'

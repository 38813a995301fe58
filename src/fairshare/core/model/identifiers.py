"""The identifiers of applications and containers, and their textual form.

Applications are numbered from 1. A container's identifier contains its application and attempt, so
that no table is needed to find them: `application << 40 | attempt << 32 | number`. Clients see both
in Hadoop's textual form.
"""

import re
from functools import lru_cache

ApplicationId = int
ContainerId = int

APPLICATION_SHIFT = 40
"""`container >> APPLICATION_SHIFT` is the application of a container, as `application_of` says; for
the hottest code, where a call costs more than the shift."""

ATTEMPT_SHIFT = 32
"""`container >> ATTEMPT_SHIFT` is the same for all containers of an attempt."""

NUMBER_MASK = (1 << ATTEMPT_SHIFT) - 1
"""The bits of a container's identifier that are its number within the attempt."""

NUMBERS_AHEAD = 10_000
"""How far beyond the last application's number a client may choose one; Hadoop accepts any. The
next number follows the largest, so that without a bound one request could use up all of them."""

# As many digits as a 64-bit number has: clients could send thousands.
_APPLICATION = re.compile(r"application_([0-9]{1,19})_([0-9]{1,19})")
_CONTAINER = re.compile(r"container_([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,3})_([0-9]{1,10})")


def container_id(application: ApplicationId, attempt: int, number: int) -> ContainerId:
    """The identifier of the `number`-th container (from 1) of an application's attempt."""
    return application << APPLICATION_SHIFT | attempt << ATTEMPT_SHIFT | number


def application_of(container: ContainerId) -> ApplicationId:
    """The application that a container belongs to."""
    return container >> APPLICATION_SHIFT


def attempt_of(container: ContainerId) -> int:
    """The application's attempt that a container belongs to, from 1."""
    return container >> ATTEMPT_SHIFT & 0xFF


def number_of(container: ContainerId) -> int:
    """The container's number within its attempt, from 1."""
    return container & NUMBER_MASK


def application_name(epoch_ms: int, application: ApplicationId) -> str:
    """`application_name(1700000000000, 7) == 'application_1700000000000_0007'`."""
    return f"application_{epoch_ms}_{application:04d}"


def attempt_name(epoch_ms: int, application: ApplicationId, attempt: int) -> str:
    """`appattempt_<epoch>_<application>_<attempt>`, padded as Hadoop does."""
    return f"appattempt_{epoch_ms}_{application:04d}_{attempt:06d}"


def container_name(epoch_ms: int, container: ContainerId) -> str:
    """`container_<epoch>_<application>_<attempt>_<number>`, padded as Hadoop does."""
    return f"{_of_attempt(epoch_ms, container >> ATTEMPT_SHIFT)}{container & NUMBER_MASK:06d}"


@lru_cache(256)
def _of_attempt(epoch_ms: int, attempt: int) -> str:
    """How the names of an attempt's containers begin: thousands are made one after the other."""
    application = attempt >> APPLICATION_SHIFT - ATTEMPT_SHIFT
    return f"container_{epoch_ms}_{application:04d}_{attempt & 0xFF:02d}_"


def parse_application(text: str) -> ApplicationId | None:
    """The number in `application_<epoch>_<number>`, or a bare number; otherwise None."""
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 19 else None
    match = _APPLICATION.fullmatch(text)
    return int(match.group(2)) if match else None


def parse_container(text: str) -> ContainerId | None:
    """The identifier in the form that `container_name` returns; otherwise None."""
    match = _CONTAINER.fullmatch(text)
    if not match:
        return None
    return container_id(int(match.group(2)), int(match.group(3)), int(match.group(4)))

"""Owns the numbers of applications and containers, and how they are written. Knows no state.

An application is numbered from 1. A container's number holds its application and attempt, so that
a container can be traced without a table: `application << 40 | attempt << 32 | number`. On the
border both are written as Hadoop writes them.
"""

import re

ApplicationId = int
ContainerId = int

NUMBER_MASK = (1 << 32) - 1
"""The bits of a container's identifier that are its number within the attempt."""

NUMBERS_AHEAD = 10_000
"""How far beyond the last number of an application a client may choose one; in Hadoop it may choose
any. The next number follows the largest: without a bound one request would use all of them up."""

# As many digits as a 64-bit number has; what callers send may have thousands.
_APPLICATION = re.compile(r"application_([0-9]{1,19})_([0-9]{1,19})")
_CONTAINER = re.compile(r"container_([0-9]{1,19})_([0-9]{1,19})_([0-9]{1,3})_([0-9]{1,10})")


def container_id(application: ApplicationId, attempt: int, number: int) -> ContainerId:
    """The identifier of the `number`-th container (from 1) of an application's attempt."""
    return application << 40 | attempt << 32 | number


def application_of(container: ContainerId) -> ApplicationId:
    """The application that a container belongs to."""
    return container >> 40


def attempt_of(container: ContainerId) -> int:
    """The application's attempt that a container belongs to, from 1."""
    return container >> 32 & 0xFF


def number_of(container: ContainerId) -> int:
    """The container's number within its attempt, from 1."""
    return container & NUMBER_MASK


def application_name(epoch_ms: int, application: ApplicationId) -> str:
    """`application_name(1700000000000, 7) == 'application_1700000000000_0007'`."""
    return f"application_{epoch_ms}_{application:04d}"


def container_name(epoch_ms: int, container: ContainerId) -> str:
    """`container_<epoch>_<application>_<attempt>_<number>`, padded as Hadoop does."""
    return (
        f"container_{epoch_ms}_{application_of(container):04d}"
        f"_{attempt_of(container):02d}_{number_of(container):06d}"
    )


def parse_application(text: str) -> ApplicationId | None:
    """The number in `application_<epoch>_<number>`; a bare number is taken too; else None."""
    if text.isascii() and text.isdigit():
        return int(text) if len(text) <= 19 else None
    match = _APPLICATION.fullmatch(text)
    return int(match.group(2)) if match else None


def parse_container(text: str) -> ContainerId | None:
    """The identifier written as `container_name` writes it; else None."""
    match = _CONTAINER.fullmatch(text)
    if not match:
        return None
    return container_id(int(match.group(2)), int(match.group(3)), int(match.group(4)))

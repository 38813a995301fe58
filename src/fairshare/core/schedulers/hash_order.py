"""The iteration order of Java's hash maps, where YARN's behaviour depends on it.

YARN iterates over hash maps when it ends the containers of an application or of a lost node and
when it chooses victims of preemption. The order has no meaning, but with the same order a run can
be compared with Hadoop's event by event. It follows from the keys' 32-bit hash codes and from the
size of the table, a power of two that only grows: `slot = (h ^ h >> 16) & size - 1`; within a slot,
the older key comes first.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from fairshare.core.model.identifiers import (
    ApplicationId,
    ContainerId,
    application_of,
    attempt_of,
    number_of,
)

_BITS = (1 << 32) - 1
SMALLEST_TABLE = 16

KeyType = TypeVar("KeyType")


def in_hash_order(
    keys: Iterable[KeyType], code: Callable[[KeyType], int], size: int = SMALLEST_TABLE
) -> list[KeyType]:
    """Sort keys, given in insertion order, as a table of `size` slots iterates over them.

    >>> in_hash_order(["/r1", "*", "n1"], text_code)
    ['n1', '*', '/r1']
    """
    return sorted(keys, key=lambda key: _spread(code(key)) & (size - 1))


def _spread(code: int) -> int:
    return code ^ code >> 16


def table_size(most: int, *, concurrent: bool) -> int:
    """The number of slots of a table that has held up to `most` keys: it doubles at three quarters.

    A HashMap doubles when it holds more than that, a ConcurrentHashMap when it holds as many.

    >>> table_size(12, concurrent=False), table_size(12, concurrent=True)
    (16, 32)
    """
    size = SMALLEST_TABLE
    while 4 * most > 3 * size or (concurrent and 4 * most == 3 * size):
        size *= 2
    return size


def text_code(text: str) -> int:
    """The hash code of a string, over its UTF-16 units.

    >>> text_code("*"), text_code("n1")
    (42, 3459)
    """
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(units), 2):
        code = 31 * code + (units[place] << 8 | units[place + 1]) & _BITS
    return code


def request_code(priority: int, request: int) -> int:
    """The hash code of a scheduler key: an ask's priority and allocation request id."""
    code = 517861 * 9511 + priority
    code = 31 * code + (request ^ request >> 32)
    return 31 * code & _BITS


def node_code(host: str, port: int) -> int:
    """The hash code of a node's id."""
    code = 493217 * 8501 + text_code(host)
    return 493217 * code + port & _BITS


def application_code(epoch_ms: int, application: ApplicationId) -> int:
    """The hash code of an application's id."""
    code = 371237 * 6521 + (epoch_ms ^ epoch_ms >> 32)
    return 371237 * code + application & _BITS


def attempt_code(epoch_ms: int, application: ApplicationId, attempt: int) -> int:
    """The hash code of an attempt's id, which includes that of its application."""
    code = 347671 * 5501 + application_code(epoch_ms, application)
    return 347671 * code + attempt & _BITS


def container_code(epoch_ms: int, container: ContainerId) -> int:
    """The hash code of a container's id, which includes that of its attempt."""
    code = attempt_code(epoch_ms, application_of(container), attempt_of(container))
    return 31 * number_of(container) + code & _BITS

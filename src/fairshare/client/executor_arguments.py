"""Owns futures as arguments of a call: which there are, when all are done, and their results.

Only arguments that are futures themselves count, not those inside of lists or other objects, as
with Ray.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any


def futures_among(
    arguments: Sequence[object], keywords: Mapping[str, object]
) -> tuple[Future[Any], ...]:
    """The different futures among arguments."""
    found = [one for one in (*arguments, *keywords.values()) if isinstance(one, Future)]
    return tuple(dict.fromkeys(found))


def with_results(
    arguments: Sequence[object], keywords: Mapping[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    """The arguments with the results of futures in their places; raises what one of these has
    raised, CancelledError too. All must be done."""
    return (
        tuple(_result(one) for one in arguments),
        {name: _result(one) for name, one in keywords.items()},
    )


def after_all(futures: Sequence[Future[Any]], then: Callable[[], None]) -> None:
    """Call `then` once, when all futures are done: from the thread that ends the last one, or at
    once."""
    left = len(futures)
    turn = threading.Lock()

    def done(future: Future[Any]) -> None:
        nonlocal left
        with turn:
            left -= 1
            last = left == 0
        if last:
            then()

    for future in futures:
        future.add_done_callback(done)


def _result(value: object) -> object:
    return value.result() if isinstance(value, Future) else value

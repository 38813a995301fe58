"""The way of a Python callable to a container and of its result back.

What is sent is the pickled triple of function, arguments and keyword arguments. Functions of the
main program, lambdas and closures travel by value. Those of a module that can be imported travel by
name, so that module has to be importable where the container runs too
(`cloudpickle.register_pickle_by_value(module)` makes it travel instead).
"""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fairshare.client.errors import NotPicklable

Item = TypeVar("Item")


def pickled(function: Callable[..., object], *arguments: object, **keywords: object) -> bytes:
    """What to send as a task's `callable`; raises NotPicklable."""
    return _dumped((function, arguments, keywords))


def _dumped(what: object, named: str = "the callable") -> bytes:
    try:
        data = _bytes_of(what)
    except Exception as error:  # pickling runs the code of whatever hangs on the callable
        raise NotPicklable(
            f"{named} cannot be sent to a container ({type(error).__name__}: {error}):"
            " open files, locks and connections have to be made inside of the call"
        ) from error
    return data


def _bytes_of(what: object) -> bytes:
    import cloudpickle  # no verb but those that send calls waits for its import

    data: bytes = cloudpickle.dumps(what)
    return data


def pickled_apart(
    function: Callable[..., object], *arguments: object, **keywords: object
) -> tuple[bytes, bytes]:
    """The function, and what it is called with: many calls of one function then send it once.

    An object that is in both arrives as two. Raises NotPicklable.
    """
    sent = _dumped(function, f"the function {name_of(function)}")
    try:
        return sent, _bytes_of((arguments, keywords))
    except Exception:  # which of them it is, is found out only then
        for number, argument in enumerate(arguments, 1):
            _dumped(argument, f"argument {number} of {name_of(function)}, {_kind(argument)},")
        for name, argument in keywords.items():
            _dumped(argument, f"the argument {name} of {name_of(function)}, {_kind(argument)},")
        return sent, _dumped((arguments, keywords), f"the arguments of {name_of(function)}")


def name_of(function: Callable[..., object]) -> str:
    """The name of a function, as a user would write it."""
    return str(getattr(function, "__name__", "") or type(function).__name__)


def _kind(value: object) -> str:
    kind = type(value).__name__
    return f"an {kind}" if kind[:1] in "aeiouAEIOU" else f"a {kind}"


def unpickled(data: bytes, container: str) -> Any:
    """The result that a container kept; raises NotPicklable.

    Loading it runs what is in it: this trusts the task whose result it is, and all that can write
    its folder (docs/security.md).
    """
    import pickle  # which no verb without a call needs

    try:
        return pickle.loads(data)  # noqa: S301 - see above
    except Exception as error:
        raise NotPicklable(
            f"the result of {container} cannot be read here ({type(error).__name__}: {error}):"
            " return plain data, or objects of a module that this program can import too"
        ) from error


def call_by_index(
    function: Callable[[Item], object], items: Sequence[Item]
) -> Callable[[], object]:
    """A callable for a whole group: each task calls `function` with the item of its own number.

    The inner function travels by value and names nothing of this package, not even in its
    annotations, so fairshare need not be importable over there.
    """

    def call() -> object:
        return function(items[int(os.environ["FAIRSHARE_TASK_INDEX"])])

    return call

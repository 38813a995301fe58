"""Classes that several threads decode.

msgspec gathers what it knows of a class when it first decodes one, and takes the class as known
from the beginning: a thread that decodes it meanwhile reads fields that have no type yet, and the
process ends with SIGSEGV. So what threads may decode at once is made ready by one of them.
"""

import threading
from functools import cache
from typing import Any, TypeVar

import msgspec

Form = TypeVar("Form")

_ONE_AT_A_TIME = threading.Lock()  # for all: classes have other classes in common


def ready(form: type[Form]) -> type[Form]:
    """The same type, of which msgspec knows everything now.

    >>> msgspec.convert([1, 2], ready(tuple[int, ...]))
    (1, 2)
    """
    hashable: Any = form
    _make_ready(hashable)
    return form


@cache
def _make_ready(form: Any) -> None:
    with _ONE_AT_A_TIME:
        msgspec.json.Decoder(form)

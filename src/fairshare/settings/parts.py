"""What is loaded when it is first used: parts and modules of a family, and names of rooms above.

A process needs one scheduler, and of that mostly not all: a server shows no conversions, a command
that validates decides nothing. So a family's module imports only what chooses between families; its
other modules are `lazy`, and its attributes are parts.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

Value = TypeVar("Value")


class _Part(Generic[Value]):
    """A class attribute whose value is made when it is first read."""

    def __init__(self, load: Callable[[], Value]) -> None:
        self._load = load
        self._name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Value:
        value = self._load()
        for one in owner.__mro__:
            if vars(one).get(self._name) is self:
                setattr(one, self._name, value)
        return value


def part(load: Callable[[], Value]) -> Value:
    """A class attribute that `load` gives its value when it is first read, of the class or of an
    object; for the type checker it is that value.

    >>> class Family:
    ...     words = part(lambda: print("loaded") or ("map", "reduce"))
    >>> Family().words, Family.words
    loaded
    (('map', 'reduce'), ('map', 'reduce'))
    """
    return cast(Value, _Part(load))


def named(name: str) -> Any:
    """What `module:attribute` names: the way to call a room that lies above.

    >>> named("math:pi")
    3.141592653589793
    """
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


class _LazyModule:
    """A module by its name, which is imported when one of its attributes is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


def lazy(name: str) -> Any:
    """A module that is imported when it is first used; to the type checker show an import.

    >>> lazy("math").pi
    3.141592653589793
    """
    return _LazyModule(name)

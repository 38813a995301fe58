"""The Python functions of a job: their serialisation and their signatures.

They are serialised as described in `fairshare.client.callables`: functions of the main program,
lambdas and closures by value, functions of an importable module by its name.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Pair = tuple[Any, Any]
Mapper = Callable[[Any], Iterable[Pair]]
Reducer = Callable[[Any, Iterator[Any]], Iterable[Any]]
Partitioner = Callable[[Any, int], int]


class Functions(NamedTuple):
    """The functions of a job.

    `mapper(line)` yields pairs, and so does `combiner(key, values)`. `reducer(key, values)` yields
    pairs, or lines that are written verbatim. `partitioner(key, reduces)` returns a number below
    `reduces`.
    """

    mapper: Mapper
    reducer: Reducer | None = None
    combiner: Reducer | None = None
    partitioner: Partitioner | None = None

    def write(self, path: Path) -> None:
        """Write the functions to a file; raises whatever cloudpickle raises."""
        import cloudpickle

        path.write_bytes(cloudpickle.dumps(tuple(self)))

    @classmethod
    def read(cls, path: Path) -> "Functions":
        """Read the functions of a file."""
        return cls(*pickle.loads(path.read_bytes()))  # noqa: S301 - the job's own code


def line_of(result: object) -> bytes:
    """The line of the output for a value that a reducer (or a mapper without reduces) yielded.

    >>> line_of(("cat", 3)), line_of("as it is"), line_of(("alone", None))
    (b'cat\\t3', b'as it is', b'alone')
    """
    if type(result) is tuple and len(result) == 2:
        key, value = result
        return _text(key) if value is None else _text(key) + b"\t" + _text(value)
    return _text(result)


def _text(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "surrogateescape")

"""Owns the run of a Python callable as a container: `python invocation.py CALL RESULT`.

CALL holds a pickled `(function, args, kwargs)`. What the function returns is pickled to RESULT,
which appears as a whole or not at all. A function that raises ends the container with exit code 1
and its traceback in stderr. Runs in the container, alone: imports nothing of fairshare.
"""

import os
import pickle
import sys
from pathlib import Path

import cloudpickle


def invoke(call: Path, result: Path) -> None:
    """Make the call and keep what it returns; raises what the function raises."""
    with call.open("rb") as file:
        function, arguments, keywords = pickle.load(file)  # noqa: S301 - it is this container's code
    value = function(*arguments, **keywords)
    temporary = result.with_name(result.name + ".new")
    with temporary.open("wb") as file:
        cloudpickle.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(result)


if __name__ == "__main__":
    invoke(Path(sys.argv[1]), Path(sys.argv[2]))

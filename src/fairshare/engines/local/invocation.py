"""The execution of a Python callable in a container: `python invocation.py CALL RESULT`.

CALL contains a pickled `(function, args, kwargs)`. The return value is pickled to RESULT, which is
created atomically. If the function raises, the container exits with code 1, with the traceback in
stderr. Runs in the container, so that it imports nothing of fairshare.
"""

import os
import pickle
import sys
from pathlib import Path

try:
    import cloudpickle
except ImportError:
    sys.exit(
        f"{sys.executable} has no cloudpickle, which Python calls need: install it there, or choose"
        " another interpreter"
    )


def invoke(call: Path, result: Path) -> None:
    """Call the function and store its return value; raises what the function raises."""
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

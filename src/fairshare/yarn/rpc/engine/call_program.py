"""Runs a Python call in a container of a NodeManager: its source is an argument of the command.

The call is a secret among the container's tokens, so that only the container can read it. What it
returns is left, in base64, beside the logs: the node's web server shows texts only.
"""

import base64
import os
import pickle
import sys
from pathlib import Path
from typing import BinaryIO

try:
    import cloudpickle
except ImportError:
    sys.exit(
        f"{sys.executable} on this node has no cloudpickle, which Python calls need: install it, or"
        " name another interpreter in the environment of the call, FAIRSHARE_PYTHON"
    )

CALL_SECRET = "fairshare.call"  # noqa: S105 - the name of a secret
RESULT = "result"


def number(file: BinaryIO) -> int:
    """A length in Hadoop's variable form (WritableUtils); lengths are never negative."""
    first = int.from_bytes(file.read(1), "big", signed=True)
    return first if first >= -112 else int.from_bytes(file.read(-112 - first), "big")


def secret(file: BinaryIO, name: str) -> bytes:
    """The secret of this name in a file of tokens; KeyError: there is none."""
    file.read(len(b"HDTS") + 1)  # the version
    for _ in range(number(file)):
        for _ in range(5):
            file.read(number(file))
    for _ in range(number(file)):
        found = file.read(number(file)).decode()
        content = file.read(number(file))
        if found == name:
            return content
    raise KeyError(name)


def invoke() -> None:
    """Call the function and leave what it returns; raises what it raises."""
    with Path(os.environ["HADOOP_TOKEN_FILE_LOCATION"]).open("rb") as file:
        call = secret(file, CALL_SECRET)
    function, arguments, keywords = pickle.loads(call)  # noqa: S301 - the container's own code
    value = function(*arguments, **keywords)
    result = Path(os.environ["LOG_DIRS"].split(",")[0], RESULT)
    draft = result.with_name(RESULT + ".new")
    draft.write_bytes(base64.b64encode(cloudpickle.dumps(value)))
    draft.replace(result)
    sys.stdout.flush()


if __name__ == "__main__":
    invoke()

"""The first program of a container with a launch context: `python launcher.py SPECIFICATION`.

It copies the context's files into its working directory, writes the tokens and the script, and
becomes the shell that runs it. So all this is done with the container's rights, and within its
limits. Standard library only.
"""

import base64
import contextlib
import json
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from fairshare.yarn.rpc.own.resources import NotLocalized, localize
from fairshare.yarn.rpc.own.script import script

SCRIPT = "launch_container.sh"
TOKENS = "container_tokens"
LOGS = ".logs"
LOCAL = ".local"
TEMPORARY = "tmp"
"""MapReduce's masters have their temporary files here, as in Hadoop's DefaultContainerExecutor."""

NOT_LOCALIZED = 1

_FIRST_MODULAR_JAVA = 17
_OPENS = (
    "--add-opens=java.base/java.lang=ALL-UNNAMED"
    " --add-exports=java.base/sun.net.dns=ALL-UNNAMED"
    " --add-exports=java.base/sun.net.util=ALL-UNNAMED"
)


def main(file: Path) -> None:
    """Prepare the working directory, and run. The specification has secrets and is deleted."""
    specification: dict[str, Any] = json.loads(file.read_bytes())
    with contextlib.suppress(OSError):  # of another account: the engine deletes it
        file.unlink()
    os.umask(0o077)
    here = Path.cwd()
    try:
        localize(specification["resources"], here)
        logs = _logs(here)
    except (NotLocalized, OSError) as problem:
        print(problem, file=sys.stderr)
        sys.exit(NOT_LOCALIZED)
    for folder in (LOCAL, TEMPORARY):
        (here / folder).mkdir(exist_ok=True)
    (here / TOKENS).write_bytes(base64.b64decode(specification["tokens"]))
    fixed = {
        **specification["fixed"],
        "PWD": str(here),
        "LOCAL_DIRS": str(here / LOCAL),
        "LOG_DIRS": str(logs),
        "HADOOP_TOKEN_FILE_LOCATION": str(here / TOKENS),
    }
    inherited, given = specification["inherited"], specification["environment"]
    text = script(
        specification["commands"],
        given,
        {**{name: value for name, value in inherited.items() if name not in given}, **fixed},
        str(logs),
        _opens(given.get("JAVA_HOME") or inherited.get("JAVA_HOME", "")),
    )
    (here / SCRIPT).write_text(text)
    os.execv("/bin/bash", ["bash", str(here / SCRIPT)])  # noqa: S606


def _logs(here: Path) -> Path:
    """The folder for logs; its `stdout` and `stderr` are those that the engine keeps."""
    logs = here / LOGS
    logs.mkdir(exist_ok=True)
    for number, name in ((1, "stdout"), (2, "stderr")):
        with contextlib.suppress(FileExistsError):
            (logs / name).symlink_to(Path(f"/proc/self/fd/{number}").readlink())
    return logs


def _opens(java_home: str) -> str:
    """The options that Hadoop gives to Java 17 and later; empty for an older or unknown one."""
    if not java_home or "$" in java_home or "{" in java_home:
        program = shutil.which("java")
        java_home = str(Path(program).resolve().parents[1]) if program else ""
    try:
        release = (Path(java_home) / "release").read_text()
    except OSError:
        return ""
    found = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    return _OPENS if found and int(found[1]) >= _FIRST_MODULAR_JAVA else ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Starts and stops a real ResourceManager in the background, as `yarn --daemon` does.

python -m tests.hadoop.daemon start|stop RUN CLASSPATH
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.hadoop.cluster import OPENS, RESOURCE_MANAGER
from tests.hadoop.configuration import JVM


def main(what: str, run: str, classpath: str) -> None:
    """Start one that writes its pid into the run's folder, or end that one."""
    file = Path(run) / "resourcemanager.pid"
    if what == "start":
        with (Path(run) / "log" / "resourcemanager.log").open("ab") as log:
            command = ["java", "-Xmx500m", *JVM.split(), *OPENS]
            process = subprocess.Popen(
                [*command, "-cp", classpath, RESOURCE_MANAGER],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        file.write_text(str(process.pid))
        return
    pid = int(file.read_text())
    os.kill(pid, signal.SIGTERM)
    for _ in range(300):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    sys.exit(f"the ResourceManager {pid} does not end")


if __name__ == "__main__":
    main(*sys.argv[1:])

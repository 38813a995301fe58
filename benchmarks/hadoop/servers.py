"""The two servers that are measured: ours, and Hadoop's ResourceManager, each as a process of
its own on free ports, with the same configuration directory.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.hadoop import configuration
from tests.hadoop.installation import Installation

RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class MeasuredServer:
    """A server as a process; `kind` is `fairshare` or `yarn`."""

    def __init__(self, kind: str, run: Path, installation: Installation, scheduler: str) -> None:
        shutil.rmtree(run, ignore_errors=True)
        names = configuration.SERVER_PORTS
        self.ports = dict(zip(names, configuration.free_ports(len(names)), strict=True))
        more: dict[str, object] = {"yarn.scheduler.maximum-allocation-mb": 16_384}
        conf = configuration.write_server(run, installation.jars, scheduler, self.ports, more)
        if kind == "yarn":
            opens = ("--add-opens", "java.base/java.lang=ALL-UNNAMED")
            heap = ("-Xmx4g", "-Djava.net.preferIPv4Stack=true", *opens)
            classpath = f"{conf}:{installation.jars}/*"
            command = ["java", *heap, "-cp", classpath, RESOURCE_MANAGER]
        else:
            serve = [sys.executable, "-m", "fairshare", "serve", "--conf", str(conf)]
            where = ["--port", str(self.ports["web"]), "--state", str(run / "state")]
            command = [*serve, *where, "--engine", "nodemanagers"]
        with (run / "server.log").open("wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=run
            )
        self._log = run / "server.log"
        self._wait()

    def _wait(self) -> None:
        """Wait until all ports listen."""
        end = time.monotonic() + 60
        for port in self.ports.values():
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    if self.process.poll() is not None or time.monotonic() > end:
                        self.process.kill()
                        raise SystemExit(self._log.read_text()[-3_000:]) from None
                    time.sleep(0.1)

    def processor_s(self) -> float:
        """The processor time of the process until now."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

    def memory_mb(self) -> float:
        """The memory that is resident now."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise SystemExit("the server has ended")

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

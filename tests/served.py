"""A real server for tests: `fairshare serve` of a configuration directory, as a process."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from tests.forked import PATIENCE_S, Forked, fairshare
from tests.postgres import share

Found = TypeVar("Found")

FAIR_SITE = """<configuration>
<property><name>yarn.resourcemanager.scheduler.class</name>
<value>org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler</value></property>
<property><name>yarn.scheduler.minimum-allocation-mb</name><value>64</value></property>
<property><name>yarn.resource-types.memory-mb.increment-allocation</name><value>64</value></property>
</configuration>
"""
"""A yarn-site.xml for small containers under the Fair Scheduler."""

SMALL_MACHINE = ("--memory-mb", "1024", "--vcores", "4")


def until(look: Callable[[], Found]) -> Found:
    """What a look returns as soon as it is true, for what no change of the cluster announces."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := look()):
        assert time.monotonic() < deadline_s, "it never came true"
        time.sleep(0.02)
    return found


class Served:
    """A process of `fairshare serve`; `start` begins one again after `kill` or `end`.

    `conf` is the configuration directory, into which `files` are written; `state` is beside it
    unless given. Without `--port` among the options the port is any free one. An `interpreter` of
    its own reads what Python reads at its start. A server that begins again has one: what it finds
    was written with another seed of hashes.
    """

    def __init__(
        self,
        conf: Path,
        *options: str,
        files: Mapping[str, str] | None = None,
        state: Path | None = None,
        interpreter: bool = False,
    ) -> None:
        self._interpreter = interpreter
        self.conf = conf
        self.state = state or conf.parent / "state"
        self.options = options
        if files is not None:
            conf.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                (conf / name).write_text(text)
        self._stderr = self.state.with_name(f"{self.state.name}.stderr")
        self.start()

    def start(self, *more: str) -> None:
        """Begin a process, and wait until it listens at `url`."""
        self.state.parent.mkdir(parents=True, exist_ok=True)
        self.conf = share(self.conf, self.state)
        options = (*self.options, *more)
        if "--port" not in options:
            options = ("--port", "0", *options)
        with self._stderr.open("a") as stderr:  # a pipe that no one reads would be full some time
            words = ("serve", "--conf", str(self.conf), "--state", str(self.state))
            words += ("--stop-containers", *options)
            self.process: Forked | subprocess.Popen[str]
            if self._interpreter:
                self.process = subprocess.Popen(
                    [sys.executable, "-m", "fairshare", *words],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=stderr,
                    text=True,
                )
            else:
                self.process = Forked(*words, stderr=stderr)
        self._interpreter = True
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            self.process.communicate(timeout=PATIENCE_S)
            raise AssertionError(f"the server did not start: {line}{self.stderr}")
        self.url = line.removeprefix("listening on ").strip()

    @property
    def stderr(self) -> str:
        """What it has written to stderr."""
        return self._stderr.read_text()

    def verb(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What a verb of the command line says of this server."""
        verb, *arguments = words
        return fairshare(verb, "--url", self.url, *arguments)

    def kill(self) -> None:
        """As a crash would."""
        self.end(signal.SIGKILL)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal, and wait for the end; the exit code and stderr."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> tuple[int, str]:
        """Wait for the end; the exit code and stderr."""
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, self.stderr

"""A running cluster: our server, and the NodeManagers of Hadoop that belong to it.

Every process of a run carries the run's mark in its environment, containers too. `stop` ends the
processes that it started and then what carries the mark, and nothing else.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from tests.hadoop import configuration
from tests.hadoop.installation import Installation

NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
HISTORY_SERVER = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"
RESOURCE_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
OPENS = ("--add-opens", "java.base/java.lang=ALL-UNNAMED")
READY_S = 180


class Cluster:
    """Our server with `nodes` NodeManagers; 0: its own local engine runs the containers. While
    `real` is set, a real ResourceManager is started in its place."""

    def __init__(
        self,
        run: Path,
        installation: Installation,
        scheduler: str = "capacity",
        nodes: int = 2,
        more: dict[str, object] | None = None,
    ) -> None:
        self.run = run
        self.installation = installation
        self.real = False
        self.scheduler = scheduler
        self.nodes = nodes
        self.aggregates_logs = (more or {}).get("yarn.log-aggregation-enable") == "true"
        self.mutable = scheduler == "capacity" and configuration.STORE in (more or {})
        self.mark = secrets.token_hex(8)
        numbers = configuration.free_ports(len(configuration.SERVER_PORTS))
        self.ports = dict(zip(configuration.SERVER_PORTS, numbers, strict=True))
        self.url = f"http://127.0.0.1:{self.ports['web']}"
        self.conf = configuration.write_server(
            run, installation.jars, scheduler, self.ports, more or {}
        )
        self.server: subprocess.Popen[bytes] | None = None
        self.standby: subprocess.Popen[bytes] | None = None
        self.server_conf = self.conf
        self.managers: dict[str, subprocess.Popen[bytes]] = {}
        (run / "log").mkdir()

    def __enter__(self) -> "Cluster":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """The variables of all processes."""
        return {
            **os.environ,
            configuration.MARK: self.mark,
            "HADOOP_CONF_DIR": str(self.conf),
            "YARN_CONF_DIR": str(self.conf),
            "JAVA_HOME": self.installation.java_home,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "FAIRSHARE_STATE": str(self.run / "state"),
        }

    def start(self) -> None:
        """Start everything, and wait until all nodes are registered; raises RuntimeError."""
        self.start_server()
        for number in range(1, self.nodes + 1):
            self.start_node(f"node{number}")
        self.wait(lambda: self.active_nodes() == (self.nodes or 1), "all nodes are registered")

    def start_server(self) -> None:
        """Start the server, on the state directory that a server before it left."""
        if self.real:
            classpath = f"{self.server_conf}:{self.installation.jars}/*"
            java = ("nice", "-n", "10", "java", "-Xmx500m", *configuration.JVM.split(), *OPENS)
            words = [*java, "-cp", classpath, RESOURCE_MANAGER]
            self.server = self.spawn("resourcemanager", words)
        else:
            self.server = self.spawn("server", self.serve(self.server_conf, self.ports["web"]))
        self.wait(lambda: self.active_nodes() >= 0, "the server answers")

    def start_standby(self, conf: Path, port: int) -> None:
        """Start a second server, which waits until the first one ends."""
        self.standby = self.spawn("standby", [*self.serve(conf, port), "--standby"])

    def fail_over(self, port: int) -> None:
        """Kill the server; the standby, whose web port is given, is the server from now on."""
        self.kill_server()
        self.server, self.standby = self.standby, None
        self.url = f"http://127.0.0.1:{port}"
        self.wait(lambda: self.active_nodes() == self.nodes, "all nodes have found the standby")

    def serve(self, conf: Path, port: int, state: str = "state") -> list[str]:
        """The command of a server whose state is in a folder of the run."""
        engine = ("--engine", "nodemanagers") if self.nodes else ("--hadoop",)
        return [
            *(sys.executable, "-m", "fairshare", "serve", "--conf", str(conf)),
            *("--port", str(port), "--state", str(self.run / state)),
            *(*engine, "--trust-local-users"),
        ]

    def stop_server(self) -> None:
        """End the server as its administrator would."""
        assert self.server is not None
        self.server.terminate()
        self.server.wait()

    def kill_server(self) -> None:
        """End the server as a crash would."""
        assert self.server is not None
        self.server.kill()
        self.server.wait()

    def start_node(self, name: str) -> None:
        """Start a NodeManager; the second time with the ports of the first."""
        folder = self.run / f"conf-{name}"
        if not folder.exists():
            configuration.write_node(self.run, name)
        self._start_java(name, folder, NODE_MANAGER)

    def start_history_server(self) -> None:
        """Start MapReduce's history server, at the addresses of `configuration.history`."""
        self._start_java("history", self.conf, HISTORY_SERVER)

    def _start_java(self, name: str, folder: Path, main: str) -> None:
        classpath = f"{folder}:{self.conf}:{self.installation.jars}/*"
        java = ("java", "-Xmx400m", *configuration.JVM.split(), *OPENS)
        self.managers[name] = self.spawn(name, [*java, "-cp", classpath, main])

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = READY_S) -> None:
        """Wait until something holds; raises RuntimeError, also when a process has ended."""
        end = time.monotonic() + seconds
        while not condition():
            processes = {"server": self.server, **self.managers}
            gone = [n for n, one in processes.items() if one is not None and one.poll() is not None]
            if gone or time.monotonic() > end:
                why = f"{gone[0]} has ended" if gone else f"not within {seconds:.0f} s"
                logs = self._last_words(gone or ["server", "resourcemanager", *self.managers])
                raise RuntimeError(f"{what}: {why}; see {self.run}/log\n{logs}")
            time.sleep(0.2)

    def active_nodes(self) -> int:
        """The number of registered nodes; -1 while the server does not answer."""
        try:
            answer = httpx.get(f"{self.url}/ws/v1/cluster/metrics", timeout=3, trust_env=False)
            found: int = answer.json()["clusterMetrics"]["activeNodes"]
        except (httpx.HTTPError, ValueError, KeyError):
            return -1
        return found

    def spawn(self, name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        """Start a process of the run, whose output goes into a log of its name."""
        with (self.run / "log" / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                cwd=self.run,
                start_new_session=True,
            )

    def _last_words(self, names: list[str]) -> str:
        logs = [self.run / "log" / f"{name}.log" for name in names]
        return "\n".join(log.read_text(errors="replace")[-2_000:] for log in logs if log.exists())

    def stop(self) -> list[int]:
        """End all processes of the run; the pids of those that could not be ended."""
        processes = (*self.managers.values(), self.standby, self.server)
        for manager in self.managers.values():
            manager.kill()  # when terminated, it waits many seconds for the logs of applications
        for process in processes:
            if process is not None and process.poll() is None:
                process.terminate()
        for process in processes:
            if process is not None:
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for _ in range(25):
            left = self.marked()
            if not left:
                break
            for pid in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.2)
        return self.marked()

    def marked(self) -> list[int]:
        """The processes that carry the mark of this run."""
        mark = f"{configuration.MARK}={self.mark}".encode()
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if mark in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
            except OSError:
                continue
        return found

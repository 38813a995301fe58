"""What administrators ask of a cluster, while nodes of it are lost, leave, or were sent away."""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.hadoop import configuration
from tests.hadoop.clients import COMMANDS, SHELL, Clients, Result
from tests.hadoop.departing import EXCLUDED, LOST, SHUTDOWN

NODE, MANAGE, LOGS, APPLICATION, CLUSTER, CONFIGURATION, TOP = (
    COMMANDS + name
    for name in (
        *("NodeCLI", "RMAdminCLI", "LogsCLI", "ApplicationCLI", "ClusterCLI", "SchedConfCLI"),
        "TopCLI",
    )
)


def administer(clients: Clients) -> Result:
    """The commands of administrators; on Hadoop's nodes with a lost, a shut-down, a decommissioned
    and a draining one."""
    administrator = _Administrator(clients)
    with administrator.sleeper() as application:
        if clients.cluster.nodes:
            with administrator.departures(application) as drained:
                administrator.ask_about_nodes(drained)
                administrator.ask_about_work(application)
                administrator.label(drained)
        else:
            administrator.ask_about_work(application)
        administrator.configure()
        administrator.watch()
    if clients.cluster.aggregates_logs:
        clients.aggregated(application)
        administrator.ask_for_logs("logs-am-ended", application)
    return Result(0, "", tuple(administrator.problems))


class _Administrator:
    """Runs commands, and keeps what is wrong with their answers."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients
        self.problems: list[str] = []

    def ask(self, name: str, main: str, arguments: str, *patterns: str, exit_code: int = 0) -> None:
        """Run a command of Hadoop; its output must match all patterns."""
        words = self.clients.java(main, *arguments.split())
        result = self.clients.run(name, words, *patterns, exit_code=exit_code)
        self.problems += [f"{name}: {problem}" for problem in result.problems]

    @contextlib.contextmanager
    def sleeper(self) -> Iterator[str]:
        """An application whose master and containers run until it is killed at the end."""
        clients = self.clients
        (jar,) = clients.cluster.installation.jars.glob("*applications-distributedshell-*.jar")
        options = "-shell_command sleep -shell_args 600 -container_memory 128 -master_memory 256"
        words = clients.java(SHELL, "-jar", str(jar), *options.split(), "-num_containers", "2")
        client = clients.start("sleeper", words)
        application = clients.submitted("sleeper", client)
        if application is None:
            raise RuntimeError(
                f"{SHELL} has not submitted anything; see {clients.output}/sleeper.txt"
            )
        try:
            clients.running(application)
            yield application
        finally:
            self.ask("kill-sleeper", APPLICATION, f"application -kill {application}", "Killed")
            clients.finish("sleeper", client, 60)

    @contextlib.contextmanager
    def departures(self, application: str) -> Iterator[str]:
        """Nodes that are gone, and one that drains, whose name is yielded."""
        clients = self.clients
        port = str(clients.cluster.ports["tracker"])
        departing = subprocess.Popen(
            [sys.executable, "-m", "tests.hadoop.departing", port],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert departing.stdout is not None
            departing.stdout.readline()
            containers = clients.document(f"/api/v1/applications/{application}/containers")
            drained: str = containers["containers"][0]["node"]
            (clients.run_folder / configuration.EXCLUDED_FILE).write_text(f"{EXCLUDED}\n")
            self.ask("refresh-nodes", MANAGE, "-refreshNodes")
            clients.cluster.wait(self._lost, f"{LOST}:1 is lost", 120)
            clients.fairshare("admin", "decommission", drained)  # what refreshes nodes would undo
            yield drained
            clients.fairshare("admin", "undrain", drained)
        finally:
            departing.communicate("")

    def _lost(self) -> bool:
        metrics = self.clients.document("/ws/v1/cluster/metrics")["clusterMetrics"]
        return bool(metrics["lostNodes"] == 1)

    def ask_about_nodes(self, drained: str) -> None:
        """`yarn node`."""
        states = {
            f"{LOST}:1": "LOST",
            f"{SHUTDOWN}:1": "SHUTDOWN",
            f"{EXCLUDED}:1": "DECOMMISSIONED",
            drained: "DECOMMISSIONING",
        }
        rows = [rf"{name}\s+{state}\b" for name, state in states.items()]
        self.ask("nodes-all", NODE, "-list -all", *rows, r"\sRUNNING\b")
        self.ask("node-details", NODE, "-list -states LOST -showDetails", rf"{LOST}:1\s+LOST")
        self.ask("node-drained", NODE, f"-status {drained}", "DECOMMISSIONING")
        self.ask("node-lost", NODE, f"-status {LOST}:1", "Node-State : LOST")

    def ask_about_work(self, application: str) -> None:
        """What runs, and who may do what."""
        attempt = application.replace("application", "appattempt") + "_000001"
        self.ask("groups", MANAGE, "-getGroups root", "root :")
        self.ask("refresh-groups", MANAGE, "-refreshUserToGroupsMappings")
        self.ask("apps", APPLICATION, "application -list", application)
        self.ask("attempts", APPLICATION, f"applicationattempt -list {application}", attempt)
        running = r"container_\d+_\d+_01_000001\s.*RUNNING"
        self.ask("containers", APPLICATION, f"container -list {attempt}", running)
        self.ask_for_logs("logs-am-running", application)

    def ask_for_logs(self, name: str, application: str) -> None:
        """`yarn logs -am 1`: what the first master wrote."""
        patterns = ("LogType:AppMaster.stderr", r"Container: container_\d+_\d+_01_000001 ")
        self.ask(name, LOGS, f"-applicationId {application} -am 1", *patterns)

    def label(self, node: str) -> None:
        """Labels with and without exclusivity, given to a node and taken away again."""
        if self.clients.cluster.scheduler != "capacity":
            return
        host = node.partition(":")[0]
        self.ask("labels-added", MANAGE, "-addToClusterNodeLabels spot(exclusive=false),gpu")
        shown = (r"<spot:exclusivity=false>", r"<gpu:exclusivity=true>")
        self.ask("labels", CLUSTER, "--list-node-labels", *shown)
        self.ask("label-given", MANAGE, f"-replaceLabelsOnNode {host}=spot")
        self.ask("label-of-node", NODE, f"-status {node}", r"Node-Labels : spot\b")
        self.ask("label-taken", MANAGE, f"-replaceLabelsOnNode {host}=")
        self.ask("labels-removed", MANAGE, "-removeFromClusterNodeLabels spot,gpu")

    def configure(self) -> None:
        """`yarn schedulerconf`: a configuration that is a file is not changed by it."""
        change = "-global yarn.scheduler.capacity.maximum-applications=5000"
        if not self.clients.cluster.mutable:
            refused = "only supported by (a )?MutableConfScheduler|underneath scheduler"
            self.ask("configuration-refused", CONFIGURATION, change, refused, exit_code=255)
            return
        self.ask("configuration-changed", CONFIGURATION, change, "changed successfully")
        shown = r"maximum-applications</name>\s*<value>5000"
        self.ask("configuration", CONFIGURATION, "-getConf", shown)
        self.ask("configuration-format", CONFIGURATION, "-format", "successfully formatted")

    def watch(self) -> None:
        """`yarn top`, which shows its screen each few seconds."""
        screen = (r"NodeManager\(s\): \d+ total, \d+ active", r"application_\d+_\d+ ", "up 0d, ")
        client = self.clients.start("top", self.clients.java(TOP, "-rows", "30", "-cols", "150"))
        output = self.clients.output / "top.txt"
        end = time.monotonic() + 60
        while client.poll() is None and time.monotonic() < end:
            text = output.read_text(errors="replace")
            if all(re.search(pattern, text) for pattern in screen):
                break
            time.sleep(0.2)
        else:
            self.problems.append(f"top: shows not all of {screen}")
        client.terminate()
        client.wait()

"""How programs run against a cluster, and those of YARN and MapReduce, with the exit code and the
output that each must have: the same as with the real ResourceManager.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import msgspec
from tests import engine_contract
from tests.hadoop import our_work
from tests.hadoop.cluster import OPENS, Cluster
from tests.hadoop.configuration import JVM

COMMANDS = "org.apache.hadoop.yarn.client.cli."
EXAMPLES = "org.apache.hadoop.examples.ExampleDriver"
SLEEP = "org.apache.hadoop.mapreduce.SleepJob"
SHELL = "org.apache.hadoop.yarn.applications.distributedshell.Client"
ABSENT = "application_1_0001"


class Result(msgspec.Struct, frozen=True):
    """How a program ended, and what is wrong with that; nothing if all is as it must be."""

    exit_code: int
    output: str
    problems: tuple[str, ...] = ()


class Clients:
    """Runs programs against one cluster; their output is kept below `RUN/out`."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.run_folder = cluster.run
        self.output = cluster.run / "out"
        self.output.mkdir(exist_ok=True)

    def start(
        self, name: str, arguments: list[str], variables: dict[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start a program in the background, with further variables in its environment."""
        with (self.output / f"{name}.txt").open("wb") as log:
            return subprocess.Popen(
                ["nice", "-n", "10", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self.cluster.environment, **(variables or {})},
                cwd=self.run_folder,
                start_new_session=True,
            )

    def finish(self, name: str, process: "subprocess.Popen[bytes]", limit_s: float) -> Result:
        """Wait for a program; one that takes too long is killed, with -9."""
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        return Result(code, (self.output / f"{name}.txt").read_text(errors="replace"))

    def run(
        self,
        name: str,
        arguments: list[str],
        *patterns: str,
        limit_s: float = 60,
        exit_code: int = 0,
        variables: dict[str, str] | None = None,
    ) -> Result:
        """Run a program; its output must match all patterns."""
        result = self.finish(name, self.start(name, arguments, variables), limit_s)
        problems = [f"no /{one}/" for one in patterns if not re.search(one, result.output)]
        if result.exit_code != exit_code:
            problems.insert(0, f"exit code {result.exit_code}, not {exit_code}")
        return msgspec.structs.replace(result, problems=tuple(problems))

    def java(self, main: str, *arguments: str, more: tuple[Path, ...] = ()) -> list[str]:
        """The command of a Java program; `more` folders of jars come behind Hadoop's."""
        installation = self.cluster.installation
        classpath = ":".join(
            (str(self.cluster.conf), *(f"{folder}/*" for folder in (installation.jars, *more)))
        )
        java = ["java", "-Xmx300m", *JVM.split(), *OPENS, f"-Duser.home={self.run_folder}"]
        return [*java, "-cp", classpath, main, *arguments]

    # What YARN's command line asks.

    def node_list(self) -> Result:
        """`yarn node -list -all`"""
        return self.run(
            "node-list",
            self.java(COMMANDS + "NodeCLI", "-list", "-all"),
            rf"Total Nodes:{self.cluster.nodes or 1}",
            "RUNNING",
        )

    def app_list(self) -> Result:
        """`yarn application -list -appStates ALL`"""
        return self.run(
            "app-list",
            self.java(COMMANDS + "ApplicationCLI", "application", "-list", "-appStates", "ALL"),
            r"Total number of applications .*:\d+",
            r"Application-Id\s+Application-Name",
        )

    def app_unknown(self) -> Result:
        """`yarn application -status` of an application that never was."""
        return self.run(
            "app-unknown",
            self.java(COMMANDS + "ApplicationCLI", "application", "-status", ABSENT),
            f"Application with id '{ABSENT}' doesn't exist in RM",
            exit_code=255,
        )

    def app_status(self) -> Result:
        """`yarn application -status` of the last application that ended."""
        names = re.findall(r"application_\d+_\d+", self.app_list().output)
        if not names:
            return Result(0, "", ("there is no application yet",))
        return self.run(
            "app-status",
            self.java(COMMANDS + "ApplicationCLI", "application", "-status", max(names)),
            r"Application-Id : application_",
            r"Final-State : SUCCEEDED",
            r"Aggregate Resource Allocation : [1-9]\d* MB-seconds, \d+ vcore-seconds",
        )

    def queue_status(self) -> Result:
        """`yarn queue -status default`"""
        return self.run(
            "queue-status",
            self.java(COMMANDS + "QueueCLI", "-status", "default"),
            r"Queue Name : (root\.)?default",
            "State : RUNNING",
        )

    def refresh_queues(self) -> Result:
        """`yarn rmadmin -refreshQueues`"""
        return self.run("refresh-queues", self.java(COMMANDS + "RMAdminCLI", "-refreshQueues"))

    # Applications.

    def shell(self, queue: str = "default") -> Result:
        """The distributed shell: two containers that echo a word, found in their logs."""
        result, name, word = self._shell("shell", queue)
        printed = self._printed_by(name) if name else ""
        if printed.count(word) == 2:
            return result
        problem = f"{printed.count(word)} containers printed the word, not 2"
        return msgspec.structs.replace(result, problems=(*result.problems, problem))

    def _shell(self, run: str, queue: str = "default") -> tuple[Result, str, str]:
        """How it ended, the application, and the word."""
        (jar,) = self.cluster.installation.jars.glob("*applications-distributedshell-*.jar")
        word = f"word{time.time_ns()}"
        result = self.run(
            run,
            self.java(
                SHELL,
                *("-jar", str(jar), "-shell_command", "echo", "-shell_args", word),
                *("-num_containers", "2", "-container_memory", "128", "-master_memory", "256"),
                *("-queue", queue),
            ),
            "Application completed successfully",
            limit_s=180,
        )
        names = re.findall(r"application_\d+_\d+", result.output)
        return result, names[0] if names else "", word

    def pi(self, queue: str = "default", name: str = "pi") -> Result:
        """MapReduce's estimate of pi: 2 maps, 1 reduce."""
        return self.run(
            name,
            self.java(EXAMPLES, "pi", f"-Dmapreduce.job.queuename={queue}", "2", "10"),
            "completed successfully",
            r"Estimated value of Pi is 3\.80000000000000000000",
            limit_s=240,
        )

    def uber(self) -> Result:
        """The estimate of pi within the job's master."""
        return self.run(
            "uber",
            self.java(EXAMPLES, "pi", "-Dmapreduce.job.ubertask.enable=true", "2", "10"),
            "running in uber mode : true",
            r"Estimated value of Pi is 3\.80000000000000000000",
            limit_s=180,
        )

    def wordcount(self) -> Result:
        """MapReduce's word count over three files; its output must have the right counts."""
        folder = self.run_folder / "wordcount"
        source = folder / "in"
        source.mkdir(parents=True, exist_ok=True)
        texts = ["the queue and the node\n" * 50, "a node is a node\n" * 40, "and the share\n"]
        for number, text in enumerate(texts):
            (source / f"{number}.txt").write_text(text)
        target = folder / f"out-{time.time_ns()}"
        result = self.run(
            "wordcount",
            self.java(EXAMPLES, "wordcount", f"file://{source}", f"file://{target}"),
            "completed successfully",
            limit_s=240,
        )
        counted: dict[str, int] = {}
        for part in target.glob("part-*"):
            for line in part.read_text().splitlines():
                word, count = line.split("\t")
                counted[word] = int(count)
        if counted == Counter(" ".join(texts).split()):
            return result
        return msgspec.structs.replace(
            result, problems=(*result.problems, f"the counts are wrong: {counted}")
        )

    def sleep(self) -> Result:
        """Six maps and a reduce that sleep."""
        return self.run(
            "sleep",
            self.java(SLEEP, "-m", "6", "-r", "1", "-mt", "500", "-rt", "500"),
            "completed successfully",
            "Launched map tasks=6",
            limit_s=300,
        )

    def streaming(self) -> Result:
        """MapReduce over lines, with a map and a reduce in Python."""
        folder = self.run_folder / f"streaming-{time.time_ns()}"
        source, target = folder / "in", folder / "out"
        source.mkdir(parents=True)
        for number in range(3):
            (source / f"{number}.txt").write_text("node queue\nnode share\n" * (number + 1))
        programs = {"map": MAPPER, "reduce": REDUCER}
        for name, text in programs.items():
            (folder / f"{name}.py").write_text(text)
        result = self.run(
            "streaming",
            self.java(
                "org.apache.hadoop.streaming.HadoopStreaming",
                *("-D", "mapreduce.job.reduces=2"),
                *("-files", ",".join(f"file://{folder}/{name}.py" for name in programs)),
                *("-mapper", f"{sys.executable} map.py"),
                *("-reducer", f"{sys.executable} reduce.py"),
                *("-input", f"file://{source}", "-output", f"file://{target}"),
            ),
            "completed successfully",
            limit_s=240,
        )
        parts = [part.read_text() for part in target.glob("part-*")]
        counted = dict(line.split("\t") for part in parts for line in part.splitlines())
        if counted == {"node": "12", "queue": "6", "share": "6"}:
            return result
        problem = f"the counts are wrong: {counted}"
        return msgspec.structs.replace(result, problems=(*result.problems, problem))

    def terasort(self) -> Result:
        """Rows that are made, sorted by two reduces with encrypted files between, and checked."""
        folder = self.run_folder / f"terasort-{time.time_ns()}"
        made, ordered, checked = (f"file://{folder}/{name}" for name in ("in", "out", "report"))
        encrypted = "-Dmapreduce.job.encrypted-intermediate-data=true"
        steps = (
            ("teragen", "-Dmapreduce.job.maps=3", "20000", made),
            # The other partitioner looks for its file in the directory of the client, with file:///.
            (
                *("terasort", "-Dmapreduce.terasort.simplepartitioner=true"),
                *("-Dmapreduce.job.reduces=2", encrypted, made, ordered),
            ),
            ("teravalidate", ordered, checked),
        )
        for name, *arguments in steps:
            arguments = self.java(EXAMPLES, name, *arguments)
            result = self.run(f"terasort-{name}", arguments, "completed successfully", limit_s=240)
            if result.problems:
                return result
        report = "".join(part.read_text() for part in (folder / "report").glob("part-*"))
        rows = sum(part.stat().st_size for part in (folder / "out").glob("part-*")) // 100
        if "checksum" in report and "error" not in report and rows == 20_000:
            return result
        problem = f"{rows} rows; teravalidate says {report!r}"
        return msgspec.structs.replace(result, problems=(problem,))

    def kill(self) -> Result:
        """A MapReduce job that sleeps, ended by `yarn application -kill`."""
        job = self.start("kill-job", self.java(SLEEP, "-m", "2", "-r", "0", "-mt", "120000"))
        name = self.submitted("kill-job", job)
        if name is None:
            return Result(self.finish("kill-job", job, 1).exit_code, "", ("nothing was submitted",))
        self.running(name)
        result = self.run(
            "kill",
            self.java(COMMANDS + "ApplicationCLI", "application", "-kill", name),
            rf"Killed application {name}|Waiting for application {name} to be killed",
        )
        status = self.run(
            "kill-status",
            self.java(COMMANDS + "ApplicationCLI", "application", "-status", name),
            r"\sState : KILLED",
        )
        ended = self.finish("kill-job", job, 60)
        problems = [*result.problems, *status.problems]
        if ended.exit_code != 1:
            problems.append(f"the job's client ended with {ended.exit_code}, not 1")
        return msgspec.structs.replace(result, problems=tuple(problems))

    def ours(self) -> Result:
        """fairshare's own applications: a command, Python calls, a driver, a MapReduce job."""
        name, word = self._echo()
        if word not in self._printed_by(name):
            return Result(1, "", (f"the log of {name} has not its word",))
        return self.run(
            "ours",
            [sys.executable, str(Path(our_work.__file__)), str(self.run_folder / "ours")],
            "calls: ok",
            "driver: ok",
            "mapreduce: ok",
            limit_s=180,
        )

    def contract(self) -> Result:
        """What all engines keep to (tests/engine_contract.py)."""
        return self.run(
            "contract",
            [
                *(sys.executable, str(Path(engine_contract.__file__)), self.cluster.url),
                *("root.default", str(self.run_folder / "contract")),
            ],
            *(rf"{check.__name__}: ok" for check in engine_contract.CHECKS),
            limit_s=300,
        )

    def logs(self) -> Result:
        """`yarn logs` of an application that is over, and its status."""
        if self.cluster.nodes:
            name, word = self._echo()
        else:  # our own node aggregates the logs of Hadoop's clients
            result, name, word = self._shell("logs-shell")
            if result.problems:
                return result
        if not self.cluster.aggregates_logs:
            options = ("-applicationId", name)
            absent = f"Can not find the logs for the application: {name}"
            words = self.java(COMMANDS + "LogsCLI", *options)
            return self.run("logs", words, absent, exit_code=255)
        return self._aggregated("logs", name, "LogAggregationType: AGGREGATED", word)

    def aggregated(self, application: str) -> None:
        """Wait until the logs of an application are aggregated."""

        def done() -> bool:
            report = self.document(f"/ws/v1/cluster/apps/{application}")["app"]
            return bool(report["logAggregationStatus"] == "SUCCEEDED")

        self.cluster.wait(done, f"the logs of {application} are aggregated", 60)

    def _aggregated(self, run: str, application: str, *patterns: str) -> Result:
        """What `yarn logs` says of an application, once its logs are aggregated."""

        self.aggregated(application)
        options = ("-applicationId", application, "-log_files", "stdout")
        return self.run(run, self.java(COMMANDS + "LogsCLI", *options), *patterns)

    def _printed_by(self, application: str) -> str:
        """What the containers of an application that is over printed. Hadoop's nodes that aggregate
        logs delete their own at some instant after its end."""
        if self.cluster.nodes and self.cluster.aggregates_logs:
            return self._aggregated(f"logs-of-{application}", application).output
        return self.fairshare("logs", application)

    def submitted(self, name: str, process: "subprocess.Popen[bytes]") -> str | None:
        """The application that a program in the background submits; None if it ends without."""
        end = time.monotonic() + 90
        while time.monotonic() < end:
            words = (self.output / f"{name}.txt").read_text(errors="replace")
            found = re.search(r"Submitted application (application_\d+_\d+)", words)
            if found:
                return found[1]
            if process.poll() is not None:
                return None
            time.sleep(0.2)
        process.kill()
        return None

    def running(self, application: str) -> None:
        """Wait until an application runs."""

        def runs() -> bool:
            return '"RUNNING"' in self.fairshare("status", application, "--json")

        self.cluster.wait(runs, f"{application} runs", 60)

    def end_of(self, application: str, seconds: float) -> str:
        """Wait until an application is over and its master has ended; its final status."""

        def document() -> dict[str, Any]:
            found: dict[str, Any] = self.document(f"/ws/v1/cluster/apps/{application}")["app"]
            return found

        def over() -> bool:
            known = document()
            return known["finalStatus"] != "UNDEFINED" and known["runningContainers"] <= 0

        self.cluster.wait(over, f"{application} ends", seconds)
        return str(document()["finalStatus"])

    def _echo(self) -> tuple[str, str]:
        """An application of ours that printed a word and is over, and the word."""
        word = f"word{time.time_ns()}"
        size = ("--queue", "root.default", "--memory", "256m")
        printed = self.fairshare("submit", *size, "--wait", "--", "echo", word)
        names = re.findall(r"application_\d+_\d+", printed)
        if not names:
            raise RuntimeError(f"fairshare submit says: {printed!r}")
        return names[0], word

    def document(self, path: str) -> Any:
        """What the server's web port answers."""
        return httpx.get(f"{self.cluster.url}{path}", timeout=10, trust_env=False).json()

    def fairshare(self, *arguments: str) -> str:
        """What a command of ours prints."""
        command = [sys.executable, "-m", "fairshare", *arguments]
        environment = {**os.environ, "FAIRSHARE_URL": self.cluster.url}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment
        ).stdout


MAPPER = """\
import sys

for line in sys.stdin:
    for word in line.split():
        print(word, 1, sep="\\t")
"""
REDUCER = """\
import sys
from collections import Counter

counts = Counter()
for line in sys.stdin:
    word, count = line.split("\\t")
    counts[word] += int(count)
for word, count in counts.items():
    print(word, count, sep="\\t")
"""

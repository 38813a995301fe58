"""The frameworks that bring their own ApplicationMaster: Spark, Tez, and Flink with ZooKeeper."""

import contextlib
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
from tests.hadoop import configuration
from tests.hadoop.clients import Clients, Result
from tests.hadoop.configuration import JVM

OPENED = ("lang", "net", "nio", "text", "time", "util", "util.concurrent")
"""The packages of Java 17 that Flink opens for itself in containers, and not for its client."""

LOGGING = """rootLogger.level = INFO
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = Console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss,SSS} %p %c{1}: %m%n
"""


def tez(clients: Clients) -> Result:
    """Tez's ordered word count, in three vertices."""
    folder = clients.run_folder / f"tez-{time.time_ns()}"
    source, target = folder / "in", folder / "out"
    source.mkdir(parents=True)
    for number in range(3):
        (source / f"{number}.txt").write_text("node queue\nnode share\n" * (number + 1))
    jars = clients.cluster.installation.tez
    _write_tez(clients)
    result = clients.run(
        "tez",
        clients.java(
            "org.apache.tez.examples.ExampleDriver",
            *("orderedwordcount", f"file://{source}", f"file://{target}", "2"),
            more=(jars,),
        ),
        "FinalState=SUCCEEDED",
        limit_s=240,
    )
    lines = "".join(part.read_text() for part in sorted(target.glob("part-*"))).splitlines()
    words = [tuple(line.split()) for line in lines]
    if words[2:] == [("node", "12")] and set(words[:2]) == {("queue", "6"), ("share", "6")}:
        return result
    problem = f"the counts are wrong: {words}"
    return msgspec.structs.replace(result, problems=(*result.problems, problem))


def _write_tez(clients: Clients) -> None:
    """Tez's own file in the directory that server and clients share."""
    options = f"{JVM} --add-opens=java.base/java.lang=ALL-UNNAMED"
    properties: dict[str, object] = {
        "tez.ignore.lib.uris": "true",
        "tez.use.cluster.hadoop-libs": "true",
        "tez.cluster.additional.classpath.prefix": f"{clients.cluster.installation.tez}/*",
        "tez.staging-dir": clients.run_folder / "tez-staging",
        "tez.am.resource.memory.mb": 512,
        "tez.am.launch.cmd-opts": f"-Xmx350m {options}",
        "tez.task.resource.memory.mb": 384,
        "tez.task.launch.cmd-opts": f"-Xmx250m {options}",
        "tez.runtime.io.sort.mb": 32,
        "tez.runtime.unordered.output.buffer.size-mb": 16,
        "tez.runtime.optimize.local.fetch": "false",  # so that all comes by the shuffle
    }
    configuration.write(clients.cluster.conf / "tez-site.xml", properties)


def flink(clients: Clients) -> Result:
    """Flink's word count in a cluster of its own, highly available by ZooKeeper."""
    folder = clients.run_folder / f"flink-{time.time_ns()}"
    source, target = folder / "in.txt", folder / "out"
    folder.mkdir()
    source.write_text("node queue\nnode share\n" * 3)
    installation = clients.cluster.installation
    (program,) = installation.flink_examples.glob("*.jar")
    jars = [f"{installation.flink}/*", str(clients.cluster.conf)]
    # Hadoop's binding of slf4j would be a second one.
    jars += [str(jar) for jar in installation.jars.glob("*.jar") if "reload4j" not in jar.name]
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    with _zookeeper(clients, folder) as quorum:
        _write_flink(folder, quorum, opened)
        variables = {
            "FLINK_CONF_DIR": f"{folder}/conf",
            "FLINK_LIB_DIR": str(installation.flink),
        }
        logging = f"-Dlog4j.configurationFile={folder}/conf/log4j.properties"
        result = clients.run(
            "flink",
            [
                *("java", "-Xmx400m", *JVM.split(), *opened, logging, "-cp", ":".join(jars)),
                *("org.apache.flink.client.cli.CliFrontend", "run-application"),
                *("-t", "yarn-application", "-c"),
                "org.apache.flink.streaming.examples.wordcount.WordCount",
                *(str(program), "--execution-mode", "BATCH"),
                *("--input", f"file://{source}", "--output", f"file://{target}"),
            ],
            r"Submitted application application_",
            limit_s=120,
            variables=variables,
        )
        if result.problems:
            return result
        state = clients.end_of(re.findall(r"application_\d+_\d+", result.output)[0], 120)
    parts = (part for part in target.rglob("*") if part.is_file())
    counted = {line for part in parts for line in part.read_text().splitlines()}
    problems = [] if state == "SUCCEEDED" else [f"the application is {state}"]
    if counted != {"(node,6)", "(queue,3)", "(share,3)"}:
        problems.append(f"the counts are wrong: {sorted(counted)}")
    return msgspec.structs.replace(result, problems=tuple(problems))


def _write_flink(folder: Path, quorum: str, opened: list[str]) -> None:
    """Flink's own directory of configuration."""
    lines = {
        "jobmanager.memory.process.size": "900m",
        "taskmanager.memory.process.size": "900m",
        "taskmanager.memory.managed.size": "64m",
        "taskmanager.numberOfTaskSlots": 1,
        "parallelism.default": 1,
        "rest.bind-address": "127.0.0.1",
        "jobmanager.bind-host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "yarn.application.queue": "default",
        "high-availability.type": "zookeeper",
        "high-availability.zookeeper.quorum": quorum,
        "high-availability.storageDir": f"file://{folder}/high-availability",
        "env.java.opts.all": " ".join([*JVM.split(), *opened]),
    }
    (folder / "conf").mkdir()
    text = "".join(f"{name}: {value}\n" for name, value in lines.items())
    (folder / "conf/config.yaml").write_text(text)
    (folder / "conf/log4j.properties").write_text(LOGGING)


@contextlib.contextmanager
def _zookeeper(clients: Clients, folder: Path) -> Iterator[str]:
    """A ZooKeeper of its own, at the address that is yielded."""
    (port,) = configuration.free_ports(1)
    settings = folder / "zookeeper.properties"
    settings.write_text(
        f"dataDir={folder}/zookeeper\nclientPort={port}\nclientPortAddress=127.0.0.1\n"
        "admin.enableServer=false\n"
    )
    main = "org.apache.zookeeper.server.ZooKeeperServerMain"
    process = clients.start("zookeeper", clients.java(main, str(settings)))
    try:
        clients.cluster.wait(lambda: _answers(port), "ZooKeeper answers", 60)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def spark_client(clients: Clients) -> Result:
    """Pi by Spark, whose driver is the client."""
    command = spark_command(clients, "client", "spark.driver.host=127.0.0.1")
    return clients.run("spark-client", command, r"Pi is roughly 3\.1", limit_s=240)


def spark_cluster(clients: Clients) -> Result:
    """Pi by Spark, whose driver is the master."""
    command = spark_command(clients, "cluster", LOCAL_MASTER)
    return clients.run("spark-cluster", command, "final status: SUCCEEDED", limit_s=240)


LOCAL_MASTER = "spark.yarn.appMasterEnv.SPARK_LOCAL_IP=127.0.0.1"


def spark_command(clients: Clients, mode: str, setting: str) -> list[str]:
    """The command that computes pi by Spark."""
    script = clients.run_folder / "spark_pi.py"
    script.write_text(SPARK_PI)
    python = clients.cluster.installation.spark_python
    settings = (
        setting,
        f"spark.yarn.jars=local:{clients.cluster.installation.spark}/jars/*",
        f"spark.yarn.stagingDir=file://{clients.run_folder}/staging",
        "spark.ui.enabled=false",
        "spark.executorEnv.SPARK_LOCAL_IP=127.0.0.1",
        "spark.yarn.am.memory=512m",
        f"spark.pyspark.python={python}",
        f"spark.yarn.appMasterEnv.PYSPARK_PYTHON={python}",
        f"spark.executorEnv.PYSPARK_PYTHON={python}",
    )
    return [
        *("bash", str(clients.cluster.installation.spark / "bin/spark-submit")),
        *("--master", "yarn", "--deploy-mode", mode, "--num-executors", "1"),
        *("--executor-memory", "512m", "--executor-cores", "1", "--driver-memory", "512m"),
        *(part for one in settings for part in ("--conf", one)),
        str(script),
    ]


SPARK_PI = """\
from pyspark.sql import SparkSession

session = SparkSession.builder.appName("pi").getOrCreate()
count = 200_000


def inside(number):
    x, y = (number * 0.6180339887) % 1, (number + 0.5) / count
    return x * x + y * y <= 1


hits = session.sparkContext.parallelize(range(count), 4).filter(inside).count()
# In one write: else lines of Spark's log come between the parts.
print(f"Pi is roughly {4 * hits / count}\\n", end="", flush=True)
session.stop()
"""

"""The configuration directories of a run: one as an administrator of Hadoop would write it,
which our server and the clients read, and one more for each NodeManager.

Everything is small, listens on loopback, and lies in the run's folder.
"""

import secrets
import shutil
import socket
from pathlib import Path
from xml.sax.saxutils import escape

JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true"
MARK = "FAIRSHARE_HADOOP_RUN"
"""The variable that all processes of a run have, containers too."""

SERVER_PORTS = {
    "client": "yarn.resourcemanager.address",
    "scheduler": "yarn.resourcemanager.scheduler.address",
    "tracker": "yarn.resourcemanager.resource-tracker.address",
    "admin": "yarn.resourcemanager.admin.address",
    "web": "yarn.resourcemanager.webapp.address",
}
SCHEDULERS = {
    name: f"org.apache.hadoop.yarn.server.resourcemanager.scheduler.{name}.{name.title()}Scheduler"
    for name in ("fair", "capacity")
}

CAPACITY = {
    "yarn.scheduler.capacity.root.queues": "default,research",
    "yarn.scheduler.capacity.root.default.capacity": 70,
    "yarn.scheduler.capacity.root.default.maximum-capacity": 100,
    "yarn.scheduler.capacity.root.research.capacity": 30,
    "yarn.scheduler.capacity.root.research.maximum-capacity": 100,
    "yarn.scheduler.capacity.root.default.user-limit-factor": 2,
    "yarn.scheduler.capacity.root.research.user-limit-factor": 4,
    "yarn.scheduler.capacity.maximum-am-resource-percent": 0.6,
}
FAIR = """<?xml version="1.0"?>
<allocations>
  <queue name="default"><weight>1</weight></queue>
  <queue name="research"><weight>2</weight></queue>
  <queueMaxAMShareDefault>0.7</queueMaxAMShareDefault>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/>
    <rule name="default" queue="root.default"/>
  </queuePlacementPolicy>
</allocations>
"""
LOG4J = """log4j.rootLogger=INFO,err
log4j.appender.err=org.apache.log4j.ConsoleAppender
log4j.appender.err.target=System.err
log4j.appender.err.layout=org.apache.log4j.PatternLayout
log4j.appender.err.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %c{1}: %m%n
"""


def free_ports(count: int) -> list[int]:
    """Ports that are free, and that the system gives to no outgoing connection meanwhile."""
    found: list[int] = []
    while len(found) < count:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


def write_server(
    run: Path, jars: Path, scheduler: str, ports: dict[str, int], more: dict[str, object]
) -> Path:
    """The directory that server and clients share."""
    folder = run / "conf"
    folder.mkdir(parents=True)
    classpath = f"{folder},{jars}/*"
    core: dict[str, object] = {
        "fs.defaultFS": "file:///",
        "hadoop.tmp.dir": run / "tmp",
        "ipc.client.connect.max.retries": 3,
        "ipc.client.connect.retry.interval": 500,
    }
    site: dict[str, object] = {
        "yarn.resourcemanager.hostname": "127.0.0.1",
        **{name: f"127.0.0.1:{ports[port]}" for port, name in SERVER_PORTS.items()},
        "yarn.resourcemanager.scheduler.class": SCHEDULERS[scheduler],
        "yarn.resourcemanager.connect.max-wait.ms": 60_000,
        "yarn.resourcemanager.connect.retry-interval.ms": 1_000,
        "yarn.scheduler.minimum-allocation-mb": 128,
        "yarn.scheduler.maximum-allocation-mb": 4096,
        "yarn.scheduler.maximum-allocation-vcores": 4,
        "yarn.nodemanager.resource.memory-mb": 4096,
        "yarn.nodemanager.resource.cpu-vcores": 4,
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": 100,
        "yarn.nodemanager.delete.debug-delay-sec": 600,
        "yarn.nodemanager.container-manager.thread-count": 5,
        "yarn.nodemanager.env-whitelist": f"JAVA_HOME,HADOOP_CONF_DIR,{MARK},LC_ALL",
        "yarn.application.classpath": classpath,
    }
    mapred: dict[str, object] = {
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": classpath,
        "yarn.app.mapreduce.am.resource.mb": 640,
        "yarn.app.mapreduce.am.command-opts": f"-Xmx400m {JVM}",
        "yarn.app.mapreduce.am.staging-dir": run / "staging",
        "mapreduce.map.memory.mb": 384,
        "mapreduce.reduce.memory.mb": 384,
        "mapreduce.map.java.opts": f"-Xmx200m {JVM}",
        "mapreduce.reduce.java.opts": f"-Xmx200m {JVM}",
        "mapreduce.task.io.sort.mb": 32,
    }
    site |= more
    write(folder / "core-site.xml", core)
    write(folder / "yarn-site.xml", site)
    write(folder / "mapred-site.xml", mapred)
    if scheduler == "capacity":
        write(folder / "capacity-scheduler.xml", CAPACITY)
    else:
        (folder / "fair-scheduler.xml").write_text(FAIR)
    (folder / "log4j.properties").write_text(LOG4J)
    return folder


EXCLUDED_FILE = "excluded"
"""The file of a run with the hosts that must not have nodes."""


def departures(run: Path) -> dict[str, object]:
    """The properties by which nodes are sent away, and a silent one is soon lost."""
    (run / EXCLUDED_FILE).parent.mkdir(parents=True, exist_ok=True)
    (run / EXCLUDED_FILE).write_text("")
    return {
        "yarn.resourcemanager.nodes.exclude-path": run / EXCLUDED_FILE,
        "yarn.nm.liveness-monitor.expiry-interval-ms": 30_000,
        "yarn.node-labels.enabled": "true",  # under the Fair Scheduler without effect
        "yarn.node-labels.fs-store.root-dir": f"file://{run}/labels",
    }


STORE = "yarn.scheduler.configuration.store.class"
"""The property with which the Capacity Scheduler's configuration can be changed by calls."""


def write_pair(run: Path, ports: dict[str, dict[str, int]]) -> dict[str, Path]:
    """Give the shared directory the addresses of several servers, by their identifiers; and each
    server a directory that says in addition which one it is."""
    addresses: dict[str, object] = {
        "yarn.resourcemanager.ha.enabled": "true",
        "yarn.resourcemanager.ha.automatic-failover.enabled": "false",
        "yarn.resourcemanager.ha.rm-ids": ",".join(ports),
        "yarn.resourcemanager.cluster-id": "pair",
        "yarn.client.failover-sleep-base-ms": 200,
        "yarn.client.failover-sleep-max-ms": 1_000,
    }
    for number, own in ports.items():
        addresses[f"yarn.resourcemanager.hostname.{number}"] = "127.0.0.1"
        for port, name in SERVER_PORTS.items():
            addresses[f"{name}.{number}"] = f"127.0.0.1:{own[port]}"
    site = run / "conf/yarn-site.xml"
    add(site, site, addresses)
    folders = {number: run / f"conf-{number}" for number in ports}
    for number, folder in folders.items():
        shutil.copytree(run / "conf", folder)
        own_site = folder / "yarn-site.xml"
        add(own_site, own_site, {"yarn.resourcemanager.ha.id": number})
    return folders


def aggregation(run: Path) -> dict[str, object]:
    """The properties by which nodes aggregate logs, in a folder of the run."""
    return {
        "yarn.log-aggregation-enable": "true",
        "yarn.nodemanager.remote-app-log-dir": f"file://{run}/aggregated",
    }


def history(run: Path) -> dict[str, object]:
    """The properties of MapReduce's history server: without one a client whose job ends while it
    waits for an answer does not learn how."""
    names = ("address", "webapp.address", "admin.address")
    ports = zip(names, free_ports(len(names)), strict=True)
    return {
        **{f"mapreduce.jobhistory.{name}": f"127.0.0.1:{port}" for name, port in ports},
        "mapreduce.jobhistory.intermediate-done-dir": f"{run}/history/intermediate",
        "mapreduce.jobhistory.done-dir": f"{run}/history/done",
    }


def write_node(run: Path, name: str) -> tuple[Path, int]:
    """The directory of a NodeManager, which comes before the shared one, and its web port."""
    folder = run / f"conf-{name}"
    folder.mkdir()
    port, localizer, web, shuffle = free_ports(4)
    own = {
        "yarn.nodemanager.address": f"127.0.0.1:{port}",
        "yarn.nodemanager.localizer.address": f"127.0.0.1:{localizer}",
        "yarn.nodemanager.webapp.address": f"127.0.0.1:{web}",
        "yarn.nodemanager.local-dirs": run / name / "local",
        "yarn.nodemanager.log-dirs": run / name / "logs",
        "yarn.nodemanager.recovery.dir": run / name / "recovery",
    }
    add(run / "conf/yarn-site.xml", folder / "yarn-site.xml", own)
    add(
        run / "conf/mapred-site.xml",
        folder / "mapred-site.xml",
        {"mapreduce.shuffle.port": shuffle},
    )
    return folder, web


def write(path: Path, properties: dict[str, object]) -> None:
    """A file of Hadoop's properties."""
    path.write_text(
        f'<?xml version="1.0"?>\n<configuration>\n{_rows(properties)}</configuration>\n'
    )


def add(source: Path, target: Path, properties: dict[str, object]) -> None:
    """The file `source` with further properties, as `target`."""
    text = source.read_text()
    target.write_text(text.replace("</configuration>", _rows(properties) + "</configuration>"))


def _rows(properties: dict[str, object]) -> str:
    return "".join(
        f"  <property><name>{name}</name><value>{escape(str(value))}</value></property>\n"
        for name, value in properties.items()
    )

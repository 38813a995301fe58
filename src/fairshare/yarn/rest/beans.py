"""`/jmx`: the metrics of the cluster, of each queue, of this process and of the ports of Hadoop's
RPC as beans, under the names that monitors of a ResourceManager ask for (Hadoop: JMXJsonServlet,
QueueMetrics, ClusterMetrics, JvmMetrics, RpcMetrics).

What only a Java machine has is left out, or said of this process: its memory is the heap. Counters
of applications count those that the server knows.
"""

import gc
import json
import os
import platform
import re
import resource
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from heapq import nlargest
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from fairshare.core.model.applications import Application
from fairshare.core.model.queues import ROOT, parents_of
from fairshare.core.model.resources import Resource
from fairshare.core.schedulers.protocol import Steps
from fairshare.core.schedulers.views import QueueView
from fairshare.server.slices import made_in_slices, sliced
from fairshare.yarn.rest.answering import HEADERS, ServletRoute
from fairshare.yarn.rest.application_documents import public_state
from fairshare.yarn.rest.cluster import ClusterMetrics, metrics_of
from fairshare.yarn.rest.gateway import Gateway, gateway_of
from fairshare.yarn.rest.nodes import HADOOP_VERSION, state_of

Bean = dict[str, object]

_DOMAIN: Final = "Hadoop:service=ResourceManager,name="
MOST_USERS: Final = 500
"""The beans of users in queues."""

_NOT_IN_NAMES: Final = re.compile(r'[,=:*?"\n]')
_MEBIBYTE: Final = 1024 * 1024
_WRONG_QUERY: Final = {"result": "ERROR", "message": "query format is not as expected."}
_HEADERS: Final = {
    **HEADERS,
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Origin": "*",
    "Content-Type": "application/json; charset=utf8",
}
_MOST: Final = 2**31 - 1
"""Java's largest int, which Hadoop shows for no limit."""


async def show_beans(request: Request) -> Response:
    """GET /jmx: all beans; those whose names match the pattern `qry`, or one attribute of one bean,
    `get=NAME::ATTRIBUTE`."""
    wanted = request.query_params.get("get", "")
    name, separator, attribute = wanted.partition("::")
    if wanted and not (separator and attribute):
        return Response(json.dumps(_WRONG_QUERY, indent=2), 200, _HEADERS)
    pattern = Pattern.read(name or request.query_params.get("qry") or "*:*")
    content: dict[str, object] = {}
    if pattern is not None:
        beans = [bean for bean in await all_beans(gateway_of(request)) if pattern.matches(bean)]
        content["beans"] = [_only(bean, attribute) for bean in beans] if attribute else beans
    written = msgspec.json.format(msgspec.json.encode(content), indent=2)
    return Response(written, 200, _HEADERS)


def _only(bean: Bean, attribute: str) -> Bean:
    head = {key: bean[key] for key in ("name", "modelerType")}
    if attribute not in bean:
        words = f"No attribute with name {attribute} was found."
        return {**head, "result": "ERROR", "message": words}
    return {**head, attribute: bean[attribute]}


class Pattern:
    """A pattern of names of beans, `DOMAIN:KEY=VALUE,...`: the keys come in any order, `*` and `?`
    stand for any text and any character, and `,*` for further keys (Java: ObjectName)."""

    def __init__(self, domain: str, properties: Mapping[str, str], *, more: bool) -> None:
        self._domain = domain
        self._properties = properties
        self._more = more

    @classmethod
    def read(cls, text: str) -> "Pattern | None":
        """Read a pattern; None if it is none.

        >>> bean = {"name": "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root"}
        >>> patterns = map(Pattern.read, ("*:*", "Hadoop:q0=r?ot,*", "Hadoop:q0=root"))
        >>> [pattern.matches(bean) for pattern in patterns]
        [True, True, False]
        >>> Pattern.read("bad") is None
        True
        """
        domain, colon, rest = re.sub(r"\*+", "*", text).partition(":")
        parts = rest.split(",")
        properties = dict(part.split("=", 1) for part in parts if "=" in part)
        more = "*" in parts
        if not colon or len(properties) + more != len(parts):
            return None
        return cls(domain, properties, more=more)

    def matches(self, bean: Bean) -> bool:
        """Whether the name of a bean is one of these."""
        domain, _, rest = str(bean["name"]).partition(":")
        properties = dict(part.split("=", 1) for part in rest.split(","))
        if not _like(domain, self._domain) or not self._properties.keys() <= properties.keys():
            return False
        if not self._more and len(properties) != len(self._properties):
            return False
        return all(_like(properties[key], value) for key, value in self._properties.items())


def _like(text: str, pattern: str) -> bool:
    """Whether a text matches a pattern without `**`. Callers choose it: a regular expression made
    of it would take a megabyte, and `fnmatch` keeps 32,768 of them.

    >>> [_like("root.ads", one) for one in ("*", "r*.a?s", "*s*", "root", "*x", "*[a]*", "?")]
    [True, True, True, False, False, False, False]
    """
    at = place = begun = 0
    star = -1
    while at < len(text):
        wanted = pattern[place : place + 1]
        if wanted == "*":
            star, begun, place = place, at, place + 1
        elif wanted in ("?", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:  # the last star stands for one character more
            begun += 1
            at, place = begun, star + 1
        else:
            return False
    return pattern[place:] in ("", "*")


async def all_beans(gateway: Gateway) -> list[Bean]:
    """All beans as of now, made in slices."""
    beans = [_cluster(await metrics_of(gateway)), _manager(gateway), _nodes(gateway)]
    counts = await made_in_slices(_counts_in_steps(gateway))
    types = gateway.scheduler.state.types.names
    views = await made_in_slices(gateway.server.service.views.queues_in_steps())
    known = gateway.yarn.node_labels(gateway.scheduler.state)
    labels = {"", *(known.labels() if known is not None else ())}
    async for view in sliced(views):
        beans.append(_queue(view, counts.queues.get(view.name, Counter()), types))
        beans += _partitions(view, labels, types)
    if gateway.yarn.counts_users:
        names = {view.name for view in views}  # that of a refused application may be none
        users = {key: found for key, found in counts.users.items() if key[0] in names}
        async for (queue, user), found in sliced(_busiest(users)):
            beans.append(_user(queue, user, found))
    beans += [_rpc(*port) for port in gateway.server.rpc_activity()]
    return beans + list(_process(gateway))


def _bean(name: str, context: str, tags: Mapping[str, str], values: Mapping[str, object]) -> Bean:
    tagged = {f"tag.{key}": value for key, value in tags.items()}
    return {
        "name": _DOMAIN + name,
        "modelerType": name,
        **tagged,
        "tag.Context": context,
        "tag.Hostname": socket.gethostname(),
        **values,
    }


def _cluster(metrics: ClusterMetrics) -> Bean:
    values = {
        "CapabilityMB": metrics.totalMB,
        "CapabilityVirtualCores": metrics.totalVirtualCores,
        "ContainerAssignedPerSecond": metrics.containerAssignedPerSecond,
        "NumActiveNMs": metrics.activeNodes,
        "NumDecommissionedNMs": metrics.decommissionedNodes,
        "NumDecommissioningNMs": metrics.decommissioningNodes,
        "NumLostNMs": metrics.lostNodes,
        "NumRebootedNMs": metrics.rebootedNodes,
        "NumShutdownNMs": metrics.shutdownNodes,
        "NumUnhealthyNMs": metrics.unhealthyNodes,
        "RmDispatcherEventQueueSize": metrics.rmEventQueueSize,
        "SchedulerDispatcherEventQueueSize": metrics.schedulerEventQueueSize,
        "UtilizedMB": metrics.utilizedMB,
        "UtilizedVirtualCores": metrics.utilizedVirtualCores,
    }
    return _bean("ClusterMetrics", "yarn", {"ClusterMetrics": "ResourceManager"}, values)


def _manager(gateway: Gateway) -> Bean:
    return {
        "name": _DOMAIN + "RMInfo",
        "modelerType": "org.apache.hadoop.yarn.server.resourcemanager.RMInfo",
        "State": "active",
        "SecurityEnabled": False,
        "HostAndPort": gateway.address,
    }


def _nodes(gateway: Gateway) -> Bean:
    nodes = [
        {
            "HostName": node.host,
            "Rack": node.rack,
            "State": state_of(gateway, node),
            "NodeId": gateway.node_address(node.name),
            "NodeHTTPAddress": gateway.node_web_address(node.name),
            "LastHealthUpdate": gateway.last_beat_ms(node.name),
            "HealthReport": "",
            "NodeManagerVersion": HADOOP_VERSION,
            "NumContainers": len(node.containers),
            "UsedMemoryMB": node.total[0] - node.available[0],
            "AvailableMemoryMB": node.available[0],
        }
        for node in gateway.scheduler.state.nodes.values()
    ]
    return {
        "name": _DOMAIN + "RMNMInfo",
        "modelerType": "org.apache.hadoop.yarn.server.resourcemanager.RMNMInfo",
        "LiveNodeManagers": json.dumps(nodes, separators=(",", ":")),
    }


# Queues.


Counts = dict[str, Counter[str]]


class _Counted(NamedTuple):
    """What is counted in the applications of queues, by queue, and by queue and user."""

    queues: Counts
    users: dict[tuple[str, str], Counter[str]]


def _counts_in_steps(gateway: Gateway) -> Steps[_Counted]:
    """Count the applications of each queue and of those below it, also for each of its users."""
    own: dict[tuple[str, str], Counter[str]] = {}
    now_ms = gateway.now_ms()
    for application in tuple(gateway.scheduler.state.applications.values()):
        counts = own.setdefault((application.queue, application.user), Counter())
        for word, number in _counted(gateway, application, now_ms):
            counts[word] += number
        yield
    queues: Counts = {}
    users: dict[tuple[str, str], Counter[str]] = {}
    for (leaf, user), counts in own.items():
        for queue in (leaf, *parents_of(leaf)):
            queues.setdefault(queue, Counter()).update(counts)
            users.setdefault((queue, user), Counter()).update(counts)
        yield
    for (queue, _), counts in users.items():
        if counts.get("ActiveApplications"):
            counts["ActiveUsers"] = 1
            queues[queue]["ActiveUsers"] += 1
        yield
    return _Counted(queues, users)


def _counted(gateway: Gateway, application: Application, now_ms: int) -> Iterator[tuple[str, int]]:
    history = gateway.attempt_history.of(application.id)
    if not history.attempted:
        return
    ends = {"FINISHED": "Completed", "FAILED": "Failed", "KILLED": "Killed"}
    if application.over:
        word = ends.get(public_state(application, history), "")
    else:
        last = history.attempt
        waits = application.managed and last is not None and last.master is None
        word = "Pending" if waits else "Running"
        if not waits and last is not None:
            minutes = (now_ms - (last.launched_ms or last.started_ms)) // 60_000
            yield f"running_{max(one for one in _RUN_MINUTES if one <= max(0, minutes))}", 1
    for prefix in ("Apps", "UnmanagedApps") if application.unmanaged else ("Apps",):
        yield f"{prefix}Submitted", 1
        if word:
            yield f"{prefix}{word}", 1
    yield "AggregateContainersAllocated", application.containers_allocated
    if application.containers:
        yield "AllocatedContainers", len(application.containers)
    if application.preempted:
        yield "AggregateContainersPreempted", application.preempted
        yield "AggregateMemoryMBPreempted", history.preempted[0]
        yield "AggregateVcoresPreempted", history.preempted[1]
        yield "AggregateMemoryMBSecondsPreempted", history.preempted_ms[0] // 1_000
        yield "AggregateVcoreSecondsPreempted", history.preempted_ms[1] // 1_000
    if not application.active:
        return
    yield "AllocatedMB", application.used[0]
    yield "AllocatedVCores", application.used[1]
    wanting = application.attempt.asks.wanting
    if wanting:
        yield "ActiveApplications", 1
        wanted = sum(key.anywhere.count for key in wanting if key.anywhere)
        yield "PendingContainers", wanted
        yield "PendingMB", application.attempt.asks.pending[0]
        yield "PendingVCores", application.attempt.asks.pending[1]


_RUN_MINUTES: Final = (0, 60, 300, 1_440)
"""For how many minutes applications run at least of which `running_N` is the number (Hadoop:
yarn.resourcemanager.metrics.runtime.buckets)."""
_APPLICATIONS: Final = ("Submitted", "Running", "Pending", "Completed", "Killed", "Failed")
_OF_QUEUES: Final = (
    *("ActiveApplications", "ActiveUsers", "AggregateContainersAllocated", "PendingContainers"),
    *(f"running_{minutes}" for minutes in _RUN_MINUTES),
    *(f"Apps{word}" for word in _APPLICATIONS),
    *(f"UnmanagedApps{word}" for word in _APPLICATIONS),
    *("AggregateMemoryMBPreempted", "AggregateVcoresPreempted"),
    *("AggregateMemoryMBSecondsPreempted", "AggregateVcoreSecondsPreempted"),
)
_OF_USERS: Final = (
    *(*_OF_QUEUES, "AggregateContainersPreempted", "AllocatedContainers"),
    *("AllocatedMB", "AllocatedVCores", "PendingMB", "PendingVCores"),
)
"""What beans have as it is counted."""


def _busiest(
    users: Mapping[tuple[str, str], Counter[str]],
) -> Iterable[tuple[tuple[str, str], Counter[str]]]:
    """As many as are shown, those with applications that are not over first: anyone can call
    themselves by many names."""
    if len(users) <= MOST_USERS:
        return users.items()
    return nlargest(
        MOST_USERS, users.items(), key=lambda item: item[1]["AppsRunning"] + item[1]["AppsPending"]
    )


def _user(queue: str, user: str, counts: Counter[str]) -> Bean:
    """One user in a queue (Hadoop: under the Fair Scheduler always)."""
    values = {word: counts.get(word, 0) for word in _OF_USERS}
    values["AggregateContainersReleased"] = _released(counts)
    name = f"QueueMetrics,{_path(queue)},user={_NOT_IN_NAMES.sub('_', user)}"
    return _bean(name, "yarn", {"Queue": queue, "User": user}, values)


def _partitions(view: QueueView, labels: Set[str], types: Sequence[str]) -> Iterator[Bean]:
    """The amounts of a queue in each partition, of those with these labels, in which it has a part;
    those of the root are also the partition's."""
    for part in view.capacity.partitions if view.capacity is not None else ():
        if part.label not in labels or not (part.configured or view.name == ROOT):
            continue
        left = tuple(max(0, a - b) for a, b in zip(part.effective_max, part.used, strict=True))
        values = {
            **_amounts("Allocated", part.used, types),
            **_amounts("Available", left, types),
            **_amounts("Pending", part.pending, types),
            **_amounts("Reserved", part.reserved, types),
        }
        name = f"PartitionQueueMetrics,partition={part.label}"
        tags = {"Partition": part.label}
        if view.name == ROOT:
            yield _bean(name, "yarn", tags, values)
        tags["Queue"] = view.name
        yield _bean(f"{name},{_path(view.name)}", "yarn", tags, values)


def _path(queue: str) -> str:
    """
    >>> _path("root.ads")
    'q0=root,q1=ads'
    """
    return ",".join(f"q{at}={part}" for at, part in enumerate(queue.split(".")))


def _released(counts: Counter[str]) -> int:
    return counts["AggregateContainersAllocated"] - counts["AllocatedContainers"]


def _queue(view: QueueView, counts: Counter[str], types: Sequence[str]) -> Bean:
    values: dict[str, object] = {
        **(_of_capacity(view) if view.capacity is not None else _of_fair(view)),
        **{word: counts.get(word, 0) for word in _OF_QUEUES},
        "AggregateContainersPreempted": view.preempted,
        "AggregateContainersReleased": _released(counts),
        "AllocatedContainers": view.containers,
        **_amounts("Allocated", view.used, types),
        **_amounts("Pending", view.pending, types),
        **_amounts("Reserved", view.reserved, types),
        "ReservedContainers": view.reserved_containers,
    }
    most = view.capacity.effective_max if view.capacity is not None else view.fair_share
    if most:
        left = tuple(max(0, a - b) for a, b in zip(most, view.used, strict=True))
        values |= _amounts("Available", left, types)
    tags = {"Queue": view.name}
    if view.capacity is None and view.policy:
        tags["SchedulingPolicy"] = view.policy
    return _bean(f"QueueMetrics,{_path(view.name)}", "yarn", tags, values)


def _amounts(name: str, amounts: Resource | None, types: Sequence[str]) -> dict[str, object]:
    """Memory and vcores as Hadoop names them, other types as its custom resources."""
    if not amounts:
        return {}
    found: dict[str, object] = {f"{name}MB": amounts[0], f"{name}VCores": amounts[1]}
    further = zip(types[2:], amounts[2:], strict=True)
    return found | {f"{name}Resource.{kind}": amount for kind, amount in further}


def _two(name: str, amounts: Resource | None) -> dict[str, object]:
    return {} if not amounts else {f"{name}MB": amounts[0], f"{name}VCores": amounts[1]}


def _of_capacity(view: QueueView) -> dict[str, object]:
    capacity = view.capacity
    assert capacity is not None
    return {
        "UsedCapacity": capacity.used_capacity / 100,
        "AbsoluteUsedCapacity": capacity.absolute_used_capacity / 100,
        "GuaranteedCapacity": capacity.capacity / 100,
        "GuaranteedAbsoluteCapacity": capacity.absolute_capacity / 100,
        "MaxCapacity": capacity.max_capacity / 100,
        "MaxAbsoluteCapacity": capacity.absolute_max_capacity / 100,
        **_two("Guaranteed", capacity.effective_min),
        **_two("MaxCapacity", capacity.effective_max),
        **_two("AMResourceLimit", view.master_limit),
        **_two("UsedAMResource", view.master_used),
    }


def _of_fair(view: QueueView) -> dict[str, object]:
    most = view.max_running_applications
    return {
        **_two("FairShare", view.fair_share),
        **_two("SteadyFairShare", view.steady_fair_share),
        **_two("MinShare", view.min_share),
        **_two("MaxShare", view.max_share),
        **_two("MaxAMShare", view.master_limit),
        **_two("AmResourceUsage", view.master_used),
        "MaxApps": _MOST if most is None else most,
    }


# Ports and the process.


def _rpc(port: int, service: str, figures: Mapping[str, float]) -> Bean:
    """One port of Hadoop's RPC."""
    name = f"RpcActivityForPort{port}"
    return _bean(name, "rpc", {"port": str(port), "serverName": service}, figures)


def _process(gateway: Gateway) -> Iterator[Bean]:
    used, most = memory_bytes()
    threads = threading.active_count()
    yield _bean(
        "JvmMetrics",
        "jvm",
        {"ProcessName": "ResourceManager"},
        {
            "MemNonHeapUsedM": 0.0,
            "MemNonHeapCommittedM": 0.0,
            "MemNonHeapMaxM": -1.0,
            "MemHeapUsedM": used / _MEBIBYTE,
            "MemHeapCommittedM": used / _MEBIBYTE,
            "MemHeapMaxM": most / _MEBIBYTE,
            "MemMaxM": most / _MEBIBYTE,
            "GcCount": sum(one["collections"] for one in gc.get_stats()),
            "GcTimeMillis": 0,
            "ThreadsNew": 0,
            "ThreadsRunnable": threads,
            "ThreadsBlocked": 0,
            "ThreadsWaiting": 0,
            "ThreadsTimedWaiting": 0,
            "ThreadsTerminated": 0,
        },
    )
    heap = {"committed": used, "init": 0, "max": most, "used": used}
    yield _java("Memory", {"HeapMemoryUsage": heap, "NonHeapMemoryUsage": dict.fromkeys(heap, 0)})
    daemons = sum(thread.daemon for thread in threading.enumerate())
    yield _java("Threading", {"ThreadCount": threads, "DaemonThreadCount": daemons})
    now_ms = time.time_ns() // 1_000_000
    yield _java(
        "Runtime",
        {
            "Name": f"{os.getpid()}@{socket.gethostname()}",
            "Pid": os.getpid(),
            "StartTime": gateway.started_ms,
            "Uptime": max(0, now_ms - gateway.started_ms),
            "VmName": platform.python_implementation(),
            "VmVersion": platform.python_version(),
        },
    )
    times = os.times()
    yield _java(
        "OperatingSystem",
        {
            "Name": platform.system(),
            "Version": platform.release(),
            "Arch": platform.machine(),
            "AvailableProcessors": os.cpu_count() or 1,
            "SystemLoadAverage": os.getloadavg()[0],
            "ProcessCpuTime": round((times.user + times.system) * 1e9),
            "OpenFileDescriptorCount": _open_files(),
            "MaxFileDescriptorCount": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "TotalPhysicalMemorySize": most,
        },
    )


def _java(kind: str, values: Mapping[str, object]) -> Bean:
    name = f"java.lang:type={kind}"
    return {"name": name, "modelerType": "fairshare", **values, "ObjectName": name}


def memory_bytes() -> tuple[int, int]:
    """The memory that this process uses, and that of the machine."""
    most = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:  # not Linux: the most that it has used so far
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024, most
    return pages * os.sysconf("SC_PAGE_SIZE"), most


def _open_files() -> int:
    try:
        return sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return -1


ROUTES = [ServletRoute("/jmx", show_beans)]

"""Where `simulate --cluster-from` gets what describes a cluster, a file or a live YARN, and the
nodes that it describes.

    {"nodes": {"node": [...]}}                the answer of /ws/v1/cluster/nodes
    NodeName=n1 CPUTot=32 RealMemory=...      `scontrol show nodes`, also with -o
    NODELIST CPUS MEMORY GRES                 `sinfo -N -o "%N %c %m %G"`, with its header

Nodes that are not in service are left out.
"""

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from fairshare.cli.verbs import Failure
from fairshare.core.model.inputs import NodeJoined
from fairshare.core.model.resources import MEMORY, VCORES, ResourceTypes
from fairshare.documents.gpus import GPU
from fairshare.errors import FairshareError
from fairshare.wording import cause, counted

MOST_NODES: Final = 100_000
_FIELD: Final = re.compile(r"(\w+)=(\S*)")
_GPUS: Final = re.compile(r"gpu(?::[^:,(\s]+)?:(\d+)")
_OUT: Final = ("DOWN", "DRAIN", "FAIL", "MAINT", "NOT_RESPONDING", "POWER", "UNKNOWN")


class ClusterUnreadable(FairshareError):
    """A text does not describe a cluster."""


class _Node(msgspec.Struct):
    name: str
    amounts: dict[str, int]
    rack: str = "/default-rack"
    serves: bool = True


def nodes_of(text: str, types: ResourceTypes) -> tuple[NodeJoined, ...]:
    """The nodes that a text describes, with the resource types of a configuration. Raises
    ClusterUnreadable.

    >>> nodes_of("NodeName=n1 CPUTot=4 RealMemory=8192 State=IDLE", ResourceTypes())
    (NodeJoined(node='n1', total=(8192, 4), rack='/default-rack', attributes={}, host=''),)
    """
    found = list(_yarn(text) if text.lstrip().startswith("{") else _slurm(text))
    if len(found) > MOST_NODES:
        raise ClusterUnreadable(f"it has more than {counted(MOST_NODES, 'node')}")
    serving = {node.name: node for node in found if node.serves}
    if not serving:
        raise ClusterUnreadable(
            "there is no node in service: give the answer of YARN's /ws/v1/cluster/nodes, or what"
            " `scontrol show nodes` or `sinfo -N -o '%N %c %m %G'` prints"
        )
    return tuple(
        NodeJoined(
            node.name,
            types.vector({name: n for name, n in node.amounts.items() if name in types.names}),
            node.rack,
        )
        for node in serving.values()
    )


def _yarn(text: str) -> Iterator[_Node]:
    try:
        listed: Any = (msgspec.json.decode(text)["nodes"] or {}).get("node", [])
        for node in listed:
            total = node.get("totalResource", {})
            amounts = {
                MEMORY: total.get("memory", node["usedMemoryMB"] + node["availMemoryMB"]),
                VCORES: total.get(
                    "vCores", node["usedVirtualCores"] + node["availableVirtualCores"]
                ),
            }
            more = total.get("resourceInformations", {}).get("resourceInformation", [])
            amounts |= {kind["name"]: kind["value"] for kind in more}
            name, rack = node["nodeHostName"], node.get("rack", "/default-rack")
            yield _Node(name, _whole(amounts), rack, node["state"] == "RUNNING")
    except (msgspec.DecodeError, AttributeError, KeyError, TypeError) as error:
        raise ClusterUnreadable(f"this is not YARN's list of nodes: {error!r}") from error


def _whole(amounts: dict[str, Any]) -> dict[str, int]:
    wrong = [name for name, n in amounts.items() if type(n) is not int or not 0 <= n < 2**53]
    if wrong:
        raise ClusterUnreadable(f"this is not an amount of {wrong[0]}: {amounts[wrong[0]]!r}")
    return amounts


def _slurm(text: str) -> Iterator[_Node]:
    if "NodeName=" in text:
        for block in re.split(r"(?=\bNodeName=)", text)[1:]:
            fields = dict(_FIELD.findall(block))
            state = fields.get("State", "")
            sizes = (fields.get("CPUTot", ""), fields.get("RealMemory", ""))
            yield _slurm_node(fields["NodeName"], *sizes, fields.get("Gres", ""), state)
        return
    lines = [line.split() for line in text.splitlines() if line.strip()]
    titles = [title.upper() for title in lines[0]] if lines else []
    if titles[:3] != ["NODELIST", "CPUS", "MEMORY"]:
        return
    for row in lines[1:]:
        name, cpus, memory_mb, gres = (*row, "", "", "")[:4]
        yield _slurm_node(name, cpus, memory_mb, gres, "")


def _slurm_node(name: str, cpus: str, memory_mb: str, gres: str, state: str) -> _Node:
    if not (cpus.isdecimal() and memory_mb.rstrip("+").isdecimal()):
        raise ClusterUnreadable(f"node {name} has no whole numbers of processors and MB of memory")
    gpus = sum(int(count) for count in _GPUS.findall(gres))
    amounts = {MEMORY: int(memory_mb.rstrip("+")), VCORES: int(cpus), GPU: gpus}
    return _Node(name, _whole(amounts), serves=not any(word in state.upper() for word in _OUT))


MOST_BYTES: Final = 256 * 1024**2
TIMEOUT_S: Final = 30.0
NODES: Final = "/ws/v1/cluster/nodes"


def read_cluster_from(source: str, types: ResourceTypes) -> tuple[NodeJoined, ...]:
    """The nodes of a cluster: of the ResourceManager at an address, or as a file describes them.
    Raises Failure."""
    try:
        return nodes_of(_text(source), types)
    except ClusterUnreadable as error:
        raise Failure(f"--cluster-from {source}: {error}") from error


def _text(source: str) -> str:
    try:
        if source.startswith(("http://", "https://")):
            address = source.rstrip("/").removesuffix(NODES) + NODES
            request = urllib.request.Request(  # noqa: S310 - http or https
                address, headers={"Accept": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310
                data = answer.read(MOST_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise Failure(f"--cluster-from {source} has more than {MOST_BYTES:,} bytes")
        return bytes(data).decode()
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it is the answer, too
        raise Failure(f"--cluster-from: cannot read {source}: {cause(error)}") from error

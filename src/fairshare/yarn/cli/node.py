"""`yarn node`: lists and reports nodes."""

from collections.abc import Sequence

from fairshare.api.yarn import NODE_STATES
from fairshare.yarn.cli.calls import FAILED, MANY, Call, Command, Option, say, say_report
from fairshare.yarn.cli.documents import Fields, columns, health_date, items, resource_text, whole
from fairshare.yarn.cli.manager import ResourceManager

WIDTHS = (16, 15, 17, 28)
HEADERS = ("Node-Id", "Node-State", "Node-Http-Address", "Number-of-Running-Containers")
COMMAND = Command(
    "node",
    Option("list", "Lists the running nodes; -states and -all list others, -showDetails more."),
    Option("states", "With -list: only these states.", MANY, "States", commas=True),
    Option("all", "With -list: all nodes."),
    Option("showDetails", "With -list: resources, utilization and labels of each."),
    Option("status", "Prints the status report of the node.", 1, "NodeId"),
)


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    words = ["-all" if word.lower() == "-all" else word for word in words]
    arguments = COMMAND.arguments(words)
    if "status" in arguments:
        if not arguments.only("status"):
            return COMMAND.wrong_usage()
        return _report(call.manager, arguments.value("status"))
    if "list" not in arguments:
        return COMMAND.wrong_usage(code=0)
    states = tuple(state.upper() for state in arguments.values("states"))
    unknown = [state for state in states if state not in NODE_STATES]
    if unknown and "all" not in arguments:
        say(f"The node state {unknown[0]} is invalid.")
        say(f"The valid node state can be one of the following: {','.join(NODE_STATES)}.")
        return FAILED
    chosen = NODE_STATES if "all" in arguments or ("states" in arguments and not states) else states
    return _list(call.manager, chosen or ("RUNNING",), details="showDetails" in arguments)


def _list(manager: ResourceManager, states: Sequence[str], *, details: bool) -> int:
    found = items(manager.get("/nodes", states=",".join(states)), "nodes", "node")
    say(f"Total Nodes:{len(found)}")
    say(columns(WIDTHS, HEADERS))
    for node in sorted(found, key=lambda node: str(node["id"])):
        cells = (node["id"], node["state"], node.get("nodeHTTPAddress", ""), node["numContainers"])
        say(columns(WIDTHS, cells))
        if details:
            say("Detailed Node Information :")
            say(f"\tConfigured Resources : {resource_text(_total(node))}")
            say(f"\tAllocated Resources : {resource_text(_used(node))}")
            _say_utilization(node)
            say(f"\tNode-Labels : {_labels(node)}")
    return 0


def _total(node: Fields) -> Fields:
    if node.get("totalResource"):
        found: Fields = node["totalResource"]
        return found
    return {
        "memory": whole(node.get("usedMemoryMB")) + whole(node.get("availMemoryMB")),
        "vCores": whole(node.get("usedVirtualCores")) + whole(node.get("availableVirtualCores")),
    }


def _used(one: Fields) -> Fields:
    return one.get("usedResource") or {
        "memory": whole(one.get("usedMemoryMB")),
        "vCores": whole(one.get("usedVirtualCores")),
    }


def _labels(one: Fields) -> str:
    return ",".join(sorted(items(one, "nodeLabels")))


def _say_utilization(one: Fields) -> None:
    utilization = one.get("resourceUtilization") or {}
    for title, memory, virtual, cores in (
        ("Node", "nodePhysicalMemoryMB", "nodeVirtualMemoryMB", "nodeCPUUsage"),
        (
            "Containers",
            "aggregatedContainersPhysicalMemoryMB",
            "aggregatedContainersVirtualMemoryMB",
            "containersCPUUsage",
        ),
    ):
        text = ""
        if utilization:
            text = (
                f"PMem:{utilization.get(memory, 0)} MB, VMem:{utilization.get(virtual, 0)} MB,"
                f" VCores:{utilization.get(cores, 0.0)}"
            )
        say(f"\tResource Utilization by {title} : {text}")


def attributes_of(node: Fields) -> list[tuple[str, str]]:
    """A node's attributes: full names with types, and values."""
    return sorted(
        (f"{a.get('prefix', '')}/{a['name']}({a.get('type', 'STRING')})", str(a.get("value", "")))
        for a in items(node, "nodeAttributesInfo", "nodeAttributeInfo")
    )


def _report(manager: ResourceManager, identifier: str) -> int:
    """Print the report of a node; as in Hadoop, an unknown node is not a failure."""
    every = items(manager.get("/nodes"), "nodes", "node")
    for one in every:
        if one["id"] == identifier:
            _say_node(one)
            break
    else:
        say(f"Could not find the node report for node id : {identifier}")
    return 0


def _say_node(node: Fields) -> None:
    total, used = _total(node), _used(node)
    attributes = [f"{name}={value}" for name, value in attributes_of(node)]
    rows = (
        ("Node-Id", node["id"]),
        ("Rack", node.get("rack", "")),
        ("Node-State", node["state"]),
        ("Node-Http-Address", node.get("nodeHTTPAddress", "")),
        ("Last-Health-Update", health_date(whole(node.get("lastHealthUpdate")))),
        ("Health-Report", node.get("healthReport", "")),
        ("Containers", node["numContainers"]),
        ("Memory-Used", f"{used['memory']}MB"),
        ("Memory-Capacity", f"{total['memory']}MB"),
        ("CPU-Used", f"{used['vCores']} vcores"),
        ("CPU-Capacity", f"{total['vCores']} vcores"),
        ("Node-Labels", _labels(node)),
        ("Node Attributes", "\n\t                  ".join(attributes)),
    )
    say_report("Node", rows)
    _say_utilization(node)
    say()

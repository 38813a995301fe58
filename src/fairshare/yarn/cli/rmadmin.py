"""`yarn rmadmin`: the operations that REST supports, and the reasons why not the others.

YARN's REST interface has paths for node labels and node resources. It has none for
`-refreshQueues`, for which fairshare's own interface is used if the server has it.
"""

from collections.abc import Callable, Sequence

from fairshare.client.errors import ServerUnreachable
from fairshare.yarn.cli.calls import FAILED, Call, Option, print_error, say, usage
from fairshare.yarn.cli.documents import Fields, items
from fairshare.yarn.cli.manager import Impossible, RemoteRefusal, ResourceManager, segment

TITLE = "yarn rmadmin"
NO_LABELS = "No cluster node-labels are specified"
NO_NODES = "No node-to-labels mappings are specified"
LABEL_FORM = (
    "Input format for adding node-labels is not correct, it should be"
    " labelName1[(exclusive=true/false)],LabelName2[] .."
)

_BINARY = (
    "YARN's REST interface has no such call: run Hadoop's own `yarn rmadmin {0}` for a real one"
)
_RESTART = ", and a fairshare server reads it when it starts"
_REFUSED = {
    "-refreshNodes": "; nodes of a fairshare server are drained and decommissioned by their names,"
    " see `fairshare admin --help`",
    "-refreshNodesResources": _RESTART,
    "-refreshSuperUserGroupsConfiguration": _RESTART,
    "-refreshUserToGroupsMappings": _RESTART,
    "-refreshAdminAcls": _RESTART,
    "-refreshServiceAcl": _RESTART,
    "-refreshClusterMaxPriority": _RESTART,
    "-getGroups": "",
    "-transitionToActive": "",
    "-transitionToStandby": "",
    "-failover": "",
}
OPTIONS = (
    Option("refreshQueues", "Reloads the scheduler's configuration."),
    Option("addToClusterNodeLabels", "Adds labels: x(exclusive=true),y", 1, "Labels"),
    Option("removeFromClusterNodeLabels", "Removes labels: x,y", 1, "Labels"),
    Option("replaceLabelsOnNode", "Labels nodes: 'node1[:port]=x node2=y'", 1, "Nodes"),
    Option("failOnUnknownNodes", "With -replaceLabelsOnNode: every node must be known."),
    Option("updateNodeResource", "NodeID MemSize vCores [OvercommitTimeout]", 1, "NodeID"),
    Option("getServiceState", "Prints whether it is active or on standby.", 1, "serviceId"),
    Option("getAllServiceState", "Prints the state of all ResourceManagers."),
    Option("checkHealth", "Exits with 0 if it answers and is started.", 1, "serviceId"),
    Option("help", "Displays help for all commands."),
)


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    name, *arguments = words or ("",)
    if name in ("-help", "--help"):
        say(usage(TITLE, OPTIONS))
        say("Refused, since REST cannot do them: " + ", ".join(_REFUSED))
        return 0
    if name in _REFUSED:
        raise Impossible(f"{name[1:]}: {_BINARY.format(name)}{_REFUSED[name]}")
    action = _ACTIONS.get(name)
    if action is None:
        print_error(f"{name.lstrip('-')}: Unknown command" if name else "Invalid Command Usage : ")
        say(usage(TITLE, OPTIONS))
        return FAILED
    try:
        return action(call.manager, arguments)
    except ValueError as error:
        print_error(f"{name[1:]}: {error}")
        say(usage(TITLE, OPTIONS))
        return FAILED
    except RemoteRefusal as refusal:
        print_error(f"{name[1:]}: {str(refusal).splitlines()[0]}")
        return FAILED


def _refresh_queues(manager: ResourceManager, arguments: Sequence[str]) -> int:
    if arguments:
        raise ValueError(f"unexpected {arguments[0]!r}")
    body = {"user": manager.user} if manager.user else {}
    answer = manager.own("POST", "/admin/refresh-queues", body)
    if answer is None:
        raise Impossible(f"refreshQueues: {_BINARY.format('-refreshQueues')}")
    for problem in items(answer.json(), "problems"):
        print_error(f"{problem.get('file')}:{problem.get('line')}: {problem.get('message')}")
    for changed in items(answer.json(), "needs_restart"):
        print_error(f"{changed} has changed, and needs a restart of the server")
    return 0


def read_labels(text: str) -> list[Fields]:
    """Parse labels to add; raises ValueError.

    >>> read_labels("x(exclusive=false), y")
    [{'name': 'x', 'exclusivity': False}, {'name': 'y', 'exclusivity': True}]
    """
    labels = []
    for part in (word.strip() for word in text.split(",")):
        if not part:
            continue
        name, opened, rest = part.partition("(")
        exclusive = True
        if opened or ")" in part:
            inside = rest.removesuffix(")")
            key, divider, value = (word.strip() for word in inside.partition("="))
            if not (opened and rest.endswith(")") and "(" not in inside and ")" not in inside):
                raise ValueError(LABEL_FORM)
            if inside.strip():
                if not divider or key != "exclusive" or value not in ("true", "false"):
                    raise ValueError(LABEL_FORM)
                exclusive = value == "true"
        labels.append({"name": name.strip(), "exclusivity": exclusive})
    if not labels:
        raise ValueError(NO_LABELS)
    return labels


def _add_labels(manager: ResourceManager, arguments: Sequence[str]) -> int:
    labels = read_labels(_only(arguments, NO_LABELS))
    manager.post("/add-node-labels", {"nodeLabelInfo": labels})
    return 0


def _remove_labels(manager: ResourceManager, arguments: Sequence[str]) -> int:
    labels = [part.strip() for part in _only(arguments, NO_LABELS).split(",") if part.strip()]
    if not labels:
        raise ValueError(NO_LABELS)
    manager.post("/remove-node-labels", labels=",".join(labels))
    return 0


def _only(arguments: Sequence[str], missing: str) -> str:
    words = [word for word in arguments if not word.startswith("-")]
    if "-directlyAccessNodeLabelStore" in arguments:
        raise ValueError("the store of labels is the ResourceManager's: REST asks that one")
    if len(words) != 1 or len(words) != len(arguments):
        raise ValueError(missing if not words else f"unexpected {' '.join(arguments)!r}")
    return words[0]


def read_mappings(text: str) -> dict[str, list[str]]:
    """Parse the labels of nodes; a node without a port means all nodes of the host. Raises
    ValueError.

    >>> read_mappings("n1:1=x n2= n3,y")
    {'n1:1': ['x'], 'n2:0': [], 'n3:0': ['y']}
    """
    mappings: dict[str, list[str]] = {}
    for part in text.split():
        if part.startswith("#"):
            continue
        node, _, labels = part.partition("=") if "=" in part else part.partition(",")
        if not node:
            raise ValueError("node name cannot be empty")
        name = node if ":" in node else f"{node}:0"
        mappings[name] = [label for label in labels.split(",") if label]
        if len(mappings[name]) > 1:
            raise ValueError(
                f"{len(mappings[name])} labels specified on host={node}, please note that we do not"
                " support specifying multiple labels on a single host for now."
            )
    if not mappings:
        raise ValueError(NO_NODES)
    return mappings


def _label_nodes(manager: ResourceManager, arguments: Sequence[str]) -> int:
    known = "-failOnUnknownNodes" in arguments
    rest = [word for word in arguments if word != "-failOnUnknownNodes"]
    labels_of = read_mappings(_only(rest, NO_NODES))
    if known:
        # REST does not support this option, so that it is checked here.
        nodes = items(manager.get("/nodes"), "nodes", "node")
        names = {one["id"] for one in nodes} | {f"{one['nodeHostName']}:0" for one in nodes}
        unknown = [node for node in labels_of if node not in names]
        if unknown:
            raise ValueError(
                f"Can not replace labels on node(s) that are unknown: {', '.join(unknown)}"
            )
    mappings = [{"nodeId": node, "labels": labels} for node, labels in labels_of.items()]
    manager.post("/replace-node-to-labels", {"nodeToLabels": mappings})
    return 0


def _resize_node(manager: ResourceManager, arguments: Sequence[str]) -> int:
    if len(arguments) not in (3, 4):
        raise ValueError("Number of parameters specified for updateNodeResource is wrong.")
    node, *numbers = arguments
    memory_mb, vcores, timeout_ms = (*(int(n) for n in numbers), -1)[:3]
    if memory_mb < 0 or vcores < 0:
        raise ValueError(f"Invalid resource value: ({memory_mb},{vcores}) for updateNodeResource.")
    size = {"memory": memory_mb, "vCores": vcores}
    body = {"resource": size, "overCommitTimeout": timeout_ms}
    manager.post(f"/nodes/{segment(node)}/resource", body)
    return 0


def _service_state(manager: ResourceManager, arguments: Sequence[str]) -> int:
    say(str(manager.info(_service(manager, "-getServiceState", arguments))["haState"]).lower())
    return 0


def _all_service_states(manager: ResourceManager, arguments: Sequence[str]) -> int:
    if not manager.addresses.available:
        say("Cannot run -getAllServiceState when ResourceManager HA is not enabled")
        return FAILED
    for name, url in manager.addresses.urls.items():
        try:
            state = str(manager.info(name)["haState"]).lower()
        except ServerUnreachable as error:
            state = f"Failed to connect: {error}"
        say(f"{url.partition('://')[2]:50} {state:10}")
    return 0


def _check_health(manager: ResourceManager, arguments: Sequence[str]) -> int:
    info = manager.info(_service(manager, "-checkHealth", arguments))
    return 0 if info["state"] == "STARTED" else FAILED


def _service(manager: ResourceManager, command: str, arguments: Sequence[str]) -> str:
    if not manager.addresses.available:
        raise ValueError(f"Cannot run {command} when ResourceManager HA is not enabled")
    if len(arguments) != 1 or arguments[0] not in manager.addresses.urls:
        known = " ".join(manager.addresses.urls)
        raise ValueError(
            f"{' '.join(arguments)} is not a valid serviceId. It should be one of {known}"
        )
    return arguments[0]


_ACTIONS: dict[str, Callable[[ResourceManager, Sequence[str]], int]] = {
    "-refreshQueues": _refresh_queues,
    "-addToClusterNodeLabels": _add_labels,
    "-removeFromClusterNodeLabels": _remove_labels,
    "-replaceLabelsOnNode": _label_nodes,
    "-updateNodeResource": _resize_node,
    "-getServiceState": _service_state,
    "-getAllServiceState": _all_service_states,
    "-checkHealth": _check_health,
}

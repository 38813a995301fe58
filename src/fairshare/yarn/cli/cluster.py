"""`yarn cluster`: the node labels and node attributes of the cluster."""

from collections.abc import Sequence

from fairshare.yarn.cli.calls import Call, Command, Option, say
from fairshare.yarn.cli.documents import items
from fairshare.yarn.cli.manager import Impossible
from fairshare.yarn.cli.node import attributes_of

COMMAND = Command(
    "yarn cluster",
    Option("lnl", "Lists the node labels of the cluster.", other="list-node-labels"),
    Option("lna", "Lists the node attributes of the cluster.", other="list-node-attributes"),
    Option(
        "dnl",
        "Refused: the store of labels is the ResourceManager's.",
        other="directly-access-node-label-store",
    ),
)


def run(call: Call, words: Sequence[str]) -> int:
    """Run the command; returns the exit code."""
    arguments = COMMAND.arguments(words)
    if "dnl" in arguments:
        raise Impossible(
            "the store of node labels belongs to the ResourceManager, and REST asks that one:"
            " leave out -directly-access-node-label-store"
        )
    if "lnl" in arguments:
        found = items(call.manager.get("/get-node-labels"), "nodeLabelInfo")
        labels = [
            f"<{one['name']}:exclusivity={str(one.get('exclusivity', True)).lower()}>"
            for one in sorted(found, key=lambda one: str(one["name"]))
        ]
        say(f"Node Labels: {','.join(labels)}")
        return 0
    if "lna" in arguments:
        nodes = items(call.manager.get("/nodes"), "nodes", "node")
        for name in sorted({name for one in nodes for name, _ in attributes_of(one)}):
            say(name)
        return 0
    return COMMAND.wrong_usage(code=0)

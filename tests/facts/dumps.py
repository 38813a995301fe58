"""Facts about the textual dump of queues (Hadoop: FSQueue.dumpState)."""

import re

import msgspec
from tests.facts.fair_dump import dump_queues

from fairshare.core.manager.resource_manager import ResourceManager
from fairshare.core.model.inputs import LoadConfiguration, NodeJoined, UpdateShares
from fairshare.core.model.resources import ResourceTypes
from fairshare.core.schedulers.fair.scheduler import FairScheduler
from fairshare.settings.fair.reading import read_fair
from fairshare.settings.site import Site

from .fact import Fact, expect

FILE = "<allocations><queue name='parent'><queue name='leaf'/></queue></allocations>"


def state_dump(fact: Fact) -> None:
    """The names of the fields of a leaf and of a parent, and how their values are written."""
    settings, _ = read_fair(Site.of({}), FILE)
    scheduler = FairScheduler(ResourceTypes())
    manager = ResourceManager(scheduler)
    manager.handle(0, LoadConfiguration(msgspec.json.encode(settings), epoch_ms=1))
    manager.handle(0, NodeJoined("n1", (4096, 4)))
    manager.handle(0, UpdateShares())
    text = dump_queues(scheduler.state)
    root, parent, leaf = (fields_of(part) for part in re.findall(r"{(.*?)}", text))
    expect(list(leaf), fact["leaf_fields"], "the fields of a leaf")
    for found in (root, parent):
        expect(list(found), fact["parent_fields"], "the fields of a parent")
    expect([q["Name"] for q in (root, parent, leaf)], ["root", "root.parent", "root.parent.leaf"])
    samples = fact["samples"]
    expect(leaf["Weight"], samples["leaf_weight"])
    expect(leaf["Policy"], samples["leaf_policy"])
    expect(root["FairShare"], samples["resource_format"])
    expect(leaf["MaxAMShare"], samples["leaf_max_am_share"])


def fields_of(text: str) -> dict[str, str]:
    """The names and values inside a pair of braces, in their order."""
    return dict(re.findall(r"(\w+): (<[^>]*>|[^,]*)", text))

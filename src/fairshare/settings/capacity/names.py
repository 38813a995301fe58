"""What names of the Capacity Scheduler's properties are made of: prefixes, and their scope; and the
name of its file.

`yarn.scheduler.capacity.root.a.user-settings.j.doe.weight` is the setting `weight` of the user
`j.doe` in the queue `root.a`.
"""

from typing import Final

CAPACITY_FILE: Final = "capacity-scheduler.xml"
PREFIX: Final = "yarn.scheduler.capacity."
USERS: Final = "user-settings."
LABELS: Final = "accessible-node-labels."

_READ_HERE: Final = (
    PREFIX,
    "yarn.scheduler.queue-placement-rules",
    "yarn.scheduler.include-port-in-node-name",
    "yarn.resourcemanager.monitor.capacity.",
    "yarn.workflow-id.tag-prefix",
)


def misplaced(file: str, name: str) -> bool:
    """Whether a property of YARN is in capacity-scheduler.xml, and Hadoop reads it from
    yarn-site.xml alone (Hadoop: CapacityScheduler.serviceInit, AbstractYarnScheduler)."""
    return file == CAPACITY_FILE and name.startswith("yarn.") and not name.startswith(_READ_HERE)


class Scope:
    """What is written of one queue, or in one of its templates.

    `prefix` precedes each suffix: `yarn.scheduler.capacity.root.a.`. `first` is the name of
    the first property, `names` are all of them.
    """

    def __init__(self, path: str, template: str, first: str) -> None:
        self.path = path
        self.template = template  # as the name has it; empty: the queue itself
        self.prefix = f"{PREFIX}{path}.{template}." if template else f"{PREFIX}{path}."
        self.first = first
        self.names: list[str] = []
        self.users: dict[str, None] = {}  # in the order of the files
        self.labels: dict[str, None] = {}

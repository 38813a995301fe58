"""The reference pages of settings: Markdown made from the tables of the families.

`python -m fairshare.settings.reference docs/reference` writes them; a test compares them with the
tables.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from fairshare.settings.capacity import mappings, monitor, scheduler_settings, store
from fairshare.settings.capacity import queue_settings as capacity_queues
from fairshare.settings.fair import allocation_file, queue_settings, reading
from fairshare.settings.pools import pool_settings
from fairshare.settings.setting import Setting, reference

_NOTE: Final = "This page is generated from the tables in the code; do not edit it."

Sections = Mapping[str, Sequence[Setting]]

PAGES: Final[Mapping[str, tuple[str, Sections]]] = {
    "fair-scheduler.md": (
        "Settings of the Fair Scheduler",
        {
            "A queue, in fair-scheduler.xml": queue_settings.SETTINGS,
            "All queues, in fair-scheduler.xml": allocation_file.SETTINGS,
            "The scheduler, in yarn-site.xml": reading.SETTINGS,
        },
    ),
    "capacity-scheduler.md": (
        "Settings of the Capacity Scheduler",
        {
            "A queue: `yarn.scheduler.capacity.QUEUE.SETTING`": capacity_queues.SETTINGS,
            "A partition of a queue: `QUEUE.accessible-node-labels.LABEL.SETTING`": (
                capacity_queues.LABEL
            ),
            "A user of a queue: `QUEUE.user-settings.USER.SETTING`": (capacity_queues.USER_WEIGHT,),
            "Queues that submissions create: `QUEUE.TEMPLATE.SETTING`": capacity_queues.TEMPLATE,
            "The scheduler, in capacity-scheduler.xml": scheduler_settings.SCHEDULER,
            "Queue mappings": mappings.SETTINGS,
            "Preemption and other monitors": (
                monitor.POLICY_NAMES,
                *monitor.MONITOR,
                *monitor.INTRA_QUEUE,
                monitor.AUTO_REFRESH,
            ),
            "The scheduler, in yarn-site.xml": (*scheduler_settings.SITE, *store.SETTINGS),
        },
    ),
    "pools.md": (
        "Settings of the pool scheduler of MapReduce",
        {
            "A pool, in the pools file": pool_settings.POOL,
            "All pools, in the pools file": pool_settings.FILE,
        },
    ),
}


def page(name: str) -> str:
    """The text of a page."""
    title, sections = PAGES[name]
    parts = [f"# {title}", _NOTE]
    for heading, settings in sections.items():
        parts += [f"## {heading}", reference(settings)]
    return "\n\n".join(parts) + "\n"


def main(directory: Path) -> None:
    """Write all pages."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (directory / name).write_text(page(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

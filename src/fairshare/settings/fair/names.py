"""The names of the Fair Scheduler's properties that are not only read: their prefix, and those that
choose its file and its reservations.
"""

from typing import Final

PREFIX: Final = "yarn.scheduler.fair."
ALLOCATION_FILE: Final = PREFIX + "allocation.file"
RESERVABLE_NODES: Final = PREFIX + "reservable-nodes"

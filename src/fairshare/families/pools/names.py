"""Owns the names by which files say that they are for MapReduce's Fair Scheduler: the prefix of its
properties, the property of its file, its section of fairshare.toml. Knows no setting.
"""

from typing import Final

PREFIX: Final = "mapred.fairscheduler."
ALLOCATION_FILE: Final = PREFIX + "allocation.file"
SECTION: Final = "pools"

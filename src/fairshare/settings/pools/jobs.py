"""What scenarios of MapReduce jobs ask of pools: the words of jobs (slots, priorities, pools), the
files of a simulated cluster, and when a changed pools file is read again.

Represents the directory that a server reads. Opens no file, and knows nothing of what the settings
do. Example of a change (Hadoop: PoolManager.reloadAllocsIfNecessary): a file written at 9 s is seen
at 10 s and is too young; it is read at the next look, more than 10 s later.
"""

from collections.abc import Mapping
from typing import Any, Final, get_args

import msgspec

from fairshare.core.schedulers.pools import tree
from fairshare.core.schedulers.pools.naming import POOL, POOL_PROPERTIES
from fairshare.core.schedulers.pools.settings import PRIORITIES, SLOTS, Generation, PoolsSettings
from fairshare.documents.problems import Problems
from fairshare.errors import ConfigurationError, InputError
from fairshare.settings.jobs import Jobs
from fairshare.settings.pools.file import read_pools_file
from fairshare.settings.pools.names import PoolSwitches
from fairshare.settings.pools.reading import POOLS_FILE, read_pools
from fairshare.settings.site_files import read_site

LOOK_INTERVAL_MS: Final = 10_000
"""A look must be more than this after the one before."""

SETTLE_MS: Final = 5_000
"""A file must be older than this, lest it is still being written."""


class ReloadGate:
    """Two instants: the last look at the file, and the last load that went well."""

    def __init__(self, started_ms: int, loaded_ms: int | None = None) -> None:
        self.looked_ms = started_ms
        self.loaded_ms = started_ms if loaded_ms is None else loaded_ms

    def look(self, now_ms: int) -> bool:
        """Whether the file is to be looked at now; then this is the last look."""
        if now_ms <= self.looked_ms + LOOK_INTERVAL_MS:
            return False
        self.looked_ms = now_ms
        return True

    def due(self, now_ms: int, modified_ms: int) -> bool:
        """Whether a file that was looked at must be read."""
        return modified_ms > self.loaded_ms and now_ms > modified_ms + SETTLE_MS

    def loaded(self, now_ms: int) -> None:
        """A load went well. One that did not is tried again at the next look."""
        self.loaded_ms = now_ms


SITE_FILE: Final = "mapred-site.xml"


class PoolFiles:
    """The files of a simulated cluster with pools, and whether they have changed."""

    def __init__(
        self,
        texts: Mapping[str, str],
        properties: Mapping[str, str | None],
        switches: PoolSwitches,
        now_ms: int,
    ) -> None:
        documents = [(name, text) for name, text in texts.items() if name != POOLS_FILE]
        problems = Problems()
        site = read_site(documents, problems).with_values(properties, SITE_FILE)
        problems.raise_errors()
        self._text = texts.get(POOLS_FILE)
        self._written_ms = 0
        self._gate = ReloadGate(now_ms)
        self.settings, _ = read_pools(site, self._text, switches)

    def write(self, files: dict[str, str], now_ms: int) -> None:
        """Replace the pools file; nothing is read."""
        if name := next((name for name in files if name != POOLS_FILE), ""):
            raise InputError("not-reloadable", f"only {POOLS_FILE} is read again, not {name}")
        self._text, self._written_ms = files[POOLS_FILE], now_ms

    def read(self, now_ms: int) -> PoolsSettings:
        """Read the pools file now; raises ConfigurationError, and then nothing has changed."""
        allocations, _ = read_pools_file(self._text or "", POOLS_FILE, self.settings.generation)
        self._gate.loaded(now_ms)
        self.settings = msgspec.structs.replace(self.settings, allocations=allocations)
        return self.settings

    def look(self, now_ms: int) -> PoolsSettings | None:
        """What the scheduler notices by itself: new settings, or nothing."""
        if not self._gate.look(now_ms) or not self._gate.due(now_ms, self._written_ms):
            return None
        try:
            return self.read(now_ms)
        except ConfigurationError:
            return None  # what was loaded before stays in force


class PoolJobs(Jobs):
    """Jobs in pools."""

    priorities = PRIORITIES
    slots = SLOTS
    generations = get_args(Generation)

    def pool_of(self, queue: str) -> str:
        return tree.pool_of(queue)

    def property_of_pool(self, settings: PoolsSettings) -> str:
        if settings.deficits:
            return settings.pool_property or POOL_PROPERTIES[settings.generation]
        return POOL

    def files(
        self,
        texts: Mapping[str, str],
        properties: Mapping[str, str | None],
        switches: Mapping[str, Any],
        now_ms: int,
    ) -> PoolFiles:
        return PoolFiles(texts, properties, PoolSwitches(**switches), now_ms)

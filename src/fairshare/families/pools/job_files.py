"""Owns the files of a simulated MapReduce cluster, and when the pools file is read again.

Represents the directory that a server reads. Knows nothing of what the settings do.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from fairshare.config.problems import Problems
from fairshare.config.site_files import read_site
from fairshare.errors import ConfigurationError, InputError
from fairshare.families.pools.file import read_pools_file
from fairshare.families.pools.gate import ReloadGate
from fairshare.families.pools.reading import POOLS_FILE, read_pools
from fairshare.families.pools.switches import PoolSwitches
from fairshare.schedulers.pools.settings import PoolsSettings

SITE_FILE: Final = "mapred-site.xml"


class PoolFiles:
    """As `families.jobs.JobFiles`."""

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
        self.settings, _ = read_pools(site, self._text, POOLS_FILE, switches)

    def write(self, files: dict[str, str], now_ms: int) -> None:
        """Replace the pools file; nothing is read."""
        for name in files:
            if name != POOLS_FILE:
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

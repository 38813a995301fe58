"""Owns the history of the scheduler's settings: the last `KEPT` versions and their instants.

Derived from records, and part of snapshots, so that a restart and a shorter journal forget none. A
version's number is that of the record that loaded it. Decides nothing.
"""

import msgspec

from fairshare.core.model.events import ConfigurationLoaded
from fairshare.core.record import Record
from fairshare.core.schedulers.protocol import Scheduler
from fairshare.errors import InputError
from fairshare.runtime.projections.projection import Projection

KEPT = 50


class LoadedVersion(msgspec.Struct, frozen=True):
    """Settings as the scheduler took them over, as JSON, and since when they were in force."""

    version: int
    loaded_ms: int
    settings: bytes


class LoadedSettings(Projection):
    """The last settings of the journal, and the number of their record."""

    def __init__(self) -> None:
        self.settings: bytes | None = None
        self.version = 0

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record."""
        for event in record.events:
            if type(event) is ConfigurationLoaded:
                self.settings, self.version = event.settings, record.sequence


class LoadedVersions(Projection):
    """The versions, the oldest first."""

    def __init__(self) -> None:
        self._versions: dict[int, LoadedVersion] = {}

    def observe(self, record: Record, scheduler: Scheduler) -> None:
        """Apply one record."""
        for event in record.events:
            if type(event) is ConfigurationLoaded:
                self._versions[record.sequence] = LoadedVersion(
                    record.sequence, record.now_ms, event.settings
                )
                if len(self._versions) > KEPT:
                    del self._versions[next(iter(self._versions))]

    @property
    def all(self) -> tuple[LoadedVersion, ...]:
        """All that are kept, the oldest first."""
        return tuple(self._versions.values())

    def get(self, version: int) -> LoadedVersion:
        """One version; raises InputError (`unknown-version`)."""
        found = self._versions.get(version)
        if found is None:
            known = ", ".join(map(str, self._versions)) or "none"
            raise InputError(
                "unknown-version",
                f"no configuration was loaded by record {version}, or it is too long ago: the"
                f" versions that are kept are {known}",
            )
        return found
